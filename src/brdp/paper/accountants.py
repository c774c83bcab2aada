"""The accountants the paper used for its kernels.

Calibration of the Gaussian kernel (analytic Gaussian mechanism), the profile of T composed
Gaussian releases in closed form and by analytic Fourier accounting, and Renyi accounting for
the Laplace kernel with the classic and with the improved conversion. Vectorised over settings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brdp.paper.formulas.kernel import (
    Floats,
    GaussianKernel,
    LaplaceKernel,
    PaperKernel,
    gaussian_profile,
)

Complexes = NDArray[np.complex128]
Profile = Callable[[Floats], Floats]

_HALVINGS = 120


def bisect_down(
    too_large: Callable[[Floats], NDArray[np.bool_]], low: Floats, high: Floats
) -> Floats:
    """The largest x found in [low, high] for which `too_large(x)` is false; elementwise."""
    low, high = np.broadcast_arrays(np.asarray(low, float), np.asarray(high, float))
    low, high = low.copy(), high.copy()
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if np.all((middle <= low) | (middle >= high)):
            break
        reject = too_large(middle)
        high = np.where(reject, middle, high)
        low = np.where(reject, low, middle)
    return low


def calibrated_gaussian(
    *, epsilon: ArrayLike, delta: ArrayLike, sensitivity: ArrayLike
) -> GaussianKernel:
    """The narrowest Gaussian kernel that is (epsilon, delta)-DP by itself (Balle and Wang 2018).

    Newton's method on log delta against log(sensitivity/sigma), kept inside a bracket: the profile's
    slope in the ratio r is the normal density at r/2 - epsilon/r.
    """
    e, d, s = np.broadcast_arrays(
        np.asarray(epsilon, float), np.asarray(delta, float), np.asarray(sensitivity, float)
    )
    low, high = np.full(e.shape, -60.0), np.full(e.shape, 60.0)
    x = np.log(np.where(e > 1.0, np.sqrt(e), e + d) / 3.0 + d)
    for _ in range(_HALVINGS):
        r = np.exp(x)
        reached = gaussian_profile(e, r)
        low, high = np.where(reached > d, low, x), np.where(reached > d, x, high)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slope = r * np.exp(-0.5 * (0.5 * r - e / r) ** 2) / np.sqrt(2.0 * np.pi) / reached
            newton = x - np.log(reached / d) / slope
        inside = (newton > low) & (newton < high)
        step = np.where(inside, newton, 0.5 * (low + high))
        if np.all(np.abs(step - x) <= 1e-15 * np.maximum(np.abs(x), 1.0)):
            break
        x = step
    return GaussianKernel((s / np.exp(x))[()], s[()])


def calibrated_laplace(*, epsilon: ArrayLike, sensitivity: ArrayLike) -> LaplaceKernel:
    """The Laplace kernel that is (epsilon, 0)-DP by itself."""
    e, s = np.broadcast_arrays(np.asarray(epsilon, float), np.asarray(sensitivity, float))
    return LaplaceKernel((s / e)[()], s[()])


def calibrated_laplace_with_delta(
    *, epsilon: ArrayLike, delta: ArrayLike, sensitivity: ArrayLike
) -> LaplaceKernel:
    """The narrowest Laplace kernel that is (epsilon, delta)-DP: epsilon' = epsilon - 2 log(1-delta)."""
    larger = np.asarray(epsilon, float) - 2.0 * np.log1p(-np.asarray(delta, float))
    return calibrated_laplace(epsilon=larger, sensitivity=sensitivity)


def epsilon_of(profile: Profile, *, delta: ArrayLike, largest: float = 1e4) -> Floats:
    """The least epsilon >= 0 at which a falling profile meets delta, found from above."""
    d = np.asarray(delta, float)
    negative = bisect_down(lambda x: profile(-x) > d, np.full(d.shape, -largest), np.zeros(d.shape))
    return np.asarray(-negative)[()]


# --- composition of the kernels alone -------------------------------------------------------


def composed_gaussian(kernel: GaussianKernel, *, count: int) -> Profile:
    """The exact profile of `count` Gaussian releases: one release at sensitivity * sqrt(count)."""
    ratio = np.asarray(kernel.sensitivity / kernel.sigma, float) * np.sqrt(count)
    return lambda epsilon: gaussian_profile(epsilon, ratio)


def gaussian_characteristic(kernel: GaussianKernel) -> Callable[[Complexes], Complexes]:
    """E[exp(i t Z)] of the Gaussian's privacy loss Z ~ N(eta, 2 eta), eta = Delta^2/(2 sigma^2)."""
    eta = 0.5 * float(kernel.sensitivity / kernel.sigma) ** 2
    return lambda t: np.exp(eta * (1j * t - t * t))


def laplace_characteristic(kernel: LaplaceKernel) -> Callable[[Complexes], Complexes]:
    """E[exp(i t Z)] of the Laplace's privacy loss: two atoms at +-Delta/b and a density between."""
    size = float(kernel.sensitivity / kernel.scale)

    def characteristic(t: Complexes) -> Complexes:
        turn = np.exp(1j * t * size)
        middle = turn * -np.expm1(-size * (1 + 2j * t)) / (1 + 2j * t)
        return np.asarray(0.5 * (turn + np.exp(-size) / turn + middle))

    return characteristic


def fourier_profile(
    characteristic: Callable[[Complexes], Complexes], *, count: int, nodes: int = 4096
) -> Profile:
    """Analytic Fourier accounting (Zhu, Dong and Wang 2022): invert the characteristic function.

    delta(e) = P(Z > e) - exp(e) Q(Z > e), each tail by Gil-Pelaez, with Q's characteristic
    function at t being P's at t + i. Its error is *absolute* (about 1e-14, and the second term
    scales it by exp(e)): good for a figure, not for a promise. Clipped to [0, P(Z > e)].
    """

    def tails(shift: complex, epsilon: Floats) -> Floats:
        spread = _loss_spread(characteristic, shift) * np.sqrt(count)
        centre = _loss_mean(characteristic, shift) * count
        # The midpoint rule of step h repeats the law with period 2 pi/h: keep epsilon and ten
        # standard deviations inside one period.
        reach = float(np.max(np.abs(epsilon - centre), initial=0.0)) + 12.0 * spread
        step = np.pi / reach
        t = (np.arange(nodes) + 0.5) * step
        values = characteristic(t + shift) ** count
        waves = np.exp(-1j * np.multiply.outer(epsilon, t)) * values / t
        return np.asarray(0.5 + step / np.pi * np.sum(waves.imag, axis=-1))

    def profile(epsilon: Floats) -> Floats:
        e = np.asarray(epsilon, float)
        above = np.clip(tails(0.0, e), 0.0, 1.0)
        beyond = np.clip(tails(1j, e), 0.0, 1.0)
        return np.asarray(np.clip(above - np.exp(np.minimum(e, 700.0)) * beyond, 0.0, above))

    return profile


def _loss_mean(characteristic: Callable[[Complexes], Complexes], shift: complex) -> float:
    step = 1e-4
    points = np.array([-step, step], complex) + shift
    low, high = np.log(characteristic(points))
    return float(((high - low) / (2j * step)).real)


def _loss_spread(characteristic: Callable[[Complexes], Complexes], shift: complex) -> float:
    step = 1e-3
    points = np.array([-step, 0.0, step], complex) + shift
    low, middle, high = np.log(characteristic(points))
    return float(np.sqrt(max(-((high - 2 * middle + low) / step**2).real, 1e-300)))


# --- Renyi accounting for the Laplace kernel ------------------------------------------------


class Conversion(ABC):
    """How a Renyi curve becomes a profile."""

    @abstractmethod
    def log_delta(self, order: Floats, total: Floats, epsilon: Floats) -> Floats:
        """The log of delta at epsilon, given the Renyi total at an order."""


@final
@dataclass(frozen=True)
class ClassicConversion(Conversion):
    """Mironov 2017: delta = exp((a - 1)(R - e))."""

    def log_delta(self, order: Floats, total: Floats, epsilon: Floats) -> Floats:
        return np.asarray((order - 1) * (total - epsilon))


@final
@dataclass(frozen=True)
class ImprovedConversion(Conversion):
    """Canonne, Kamath and Steinke 2020: the classic one times (1 - 1/a)^(a - 1) / a."""

    def log_delta(self, order: Floats, total: Floats, epsilon: Floats) -> Floats:
        gain = (order - 1) * np.log1p(-1 / order) - np.log(order)
        return np.asarray((order - 1) * (total - epsilon) + gain)


RENYI_ORDERS: Floats = 1.0 + np.geomspace(1e-3, 1e4, 3000)


def renyi_laplace(kernel: LaplaceKernel, order: ArrayLike) -> Floats:
    """Mironov's Renyi divergence of the Laplace mechanism at the given order."""
    a = np.asarray(order, float)
    size = np.asarray(kernel.sensitivity / kernel.scale, float)
    first = np.log(a / (2 * a - 1)) + (a - 1) * size
    second = np.log((a - 1) / (2 * a - 1)) - a * size
    return np.asarray(np.logaddexp(first, second) / (a - 1))


def renyi_profile(
    kernel: LaplaceKernel,
    *,
    count: int,
    conversion: Conversion,
    orders: Floats = RENYI_ORDERS,
) -> Profile:
    """The profile Renyi accounting gives `count` Laplace releases: the best order for each epsilon.

    log delta is a line in epsilon for each order, steeper for larger orders, and its height at 0 is
    convex in the order: every line is the lowest somewhere, from one crossing with its neighbour to
    the next. So the best order is found by search, and its neighbours are tried for rounding.
    """
    total = count * renyi_laplace(kernel, orders)
    crossings = np.diff(conversion.log_delta(orders, total, np.zeros(1))) / np.diff(orders)
    crossings = np.maximum.accumulate(crossings)

    def profile(epsilon: Floats) -> Floats:
        e = np.asarray(epsilon, float)[..., None]
        near = np.searchsorted(crossings, e) + np.array([-1, 0, 1])
        near = np.clip(near, 0, orders.size - 1)
        logs = np.min(conversion.log_delta(orders[near], total[near], e), axis=-1)
        return np.asarray(np.exp(np.minimum(logs, 0.0)))

    return profile


def composed_profile(kernel: PaperKernel, *, count: int, conversion: Conversion) -> Profile:
    """The accountant the paper names for each kernel: exact for Gaussian, Renyi for Laplace."""
    if isinstance(kernel, GaussianKernel):
        return composed_gaussian(kernel, count=count)
    if isinstance(kernel, LaplaceKernel):
        return renyi_profile(kernel, count=count, conversion=conversion)
    raise TypeError(f"expected a Gaussian or Laplace kernel, got {type(kernel).__name__}")
