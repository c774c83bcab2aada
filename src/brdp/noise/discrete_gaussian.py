"""The discrete Gaussian kernel on the integers."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy
from numpy.typing import ArrayLike

from brdp import _validate
from brdp.noise.base import Floats, Kernel
from brdp.noise.gaussian import LOG_ROOT_TWO_PI, log_normal_mass

# From here on sums over integers are integrals with two Euler-Maclaurin corrections: the next term is
# below 1e-13 of the mass as far out as 38 sigma.
WIDE = 1e3
# Masses are kept scaled by 2^860, so that linear sums reach far below the least float.
DOUBLINGS = 860
SCALING = DOUBLINGS * math.log(2)


@final
@dataclass(frozen=True, slots=True)
class DiscreteGaussian(Kernel):
    """Mass proportional to exp(-k^2 / (2 sigma^2)) on the integers."""

    sigma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", _validate.length(sigma=self.sigma))

    @property
    def lattice(self) -> bool:
        return True

    @property
    def log_concave(self) -> bool:
        return True

    def log_pdf(self, x: ArrayLike) -> Floats:
        k = np.asarray(x, dtype=np.float64)
        z = k / self.sigma
        return np.where(k == np.floor(k), -0.5 * z * z - log_normaliser(self.sigma), -np.inf)

    def log_mass(self, low: ArrayLike, high: ArrayLike) -> Floats:
        low, high = np.broadcast_arrays(
            np.ceil(np.asarray(low, dtype=np.float64)), np.floor(np.asarray(high, dtype=np.float64))
        )
        flip = high <= 0
        near, far = np.where(flip, -high, low), np.where(flip, -low, high)
        if self.sigma > WIDE:
            mass = self._wide(near, far)
        else:
            mass = self._summed(near, far)
        return np.where(high >= low, mass, -np.inf)

    def _wide(self, near: Floats, far: Floats) -> Floats:
        left, right = near - 0.5, far + 0.5
        sigma = self.sigma
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            integral = log_normal_mass(left / sigma, right / sigma, width=(right - left) / sigma)
            # the sum is the integral less f'/24 - 7f'''/5760 at its ends, here relative to the integral
            ends = []
            for x in (left, right):
                at = np.where(np.isfinite(x), x, 0.0)
                one, _, three = bell_derivatives(at, sigma)
                height = np.exp(-0.5 * (x / sigma) ** 2 - LOG_ROOT_TWO_PI - integral) / sigma
                height = np.where(np.isfinite(height), height, 0.0)
                ends.append(height * (one / 24 - 7 * three / 5760))
            return integral + np.log1p(ends[0] - ends[1])

    def _summed(self, near: Floats, far: Floats) -> Floats:
        tails = _scaled_tails(self.sigma)
        end = len(tails) - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            first = tails[np.clip(np.abs(near), 0, end).astype(np.int64)]
            after = tails[np.clip(np.abs(far) + 1, 0, end).astype(np.int64)]
            one_sided = first - np.where(np.isfinite(far), after, 0.0)
            # around 0: 2 T(1) - T(|near|+1) - T(far+1) + mass(0), each side a difference of tails
            left = tails[1] - tails[np.clip(np.abs(near) + 1, 0, end).astype(np.int64)]
            right = tails[1] - np.where(np.isfinite(far), after, 0.0)
            left = np.where(np.isfinite(near), left, tails[1])
            around_zero = left + right + (tails[0] - tails[1])
            mass = np.log(np.where(near < 0, around_zero, one_sided)) - SCALING
            # past the table: the tail is at most a geometric series of its first term
            beyond = self.log_pdf(np.where(np.isfinite(near), near, 0.0)) - np.log(
                -np.expm1(-(2 * np.abs(near) + 1) / (2 * self.sigma**2))
            )
            mass = np.where((near > 0) & np.isfinite(near) & (np.abs(near) > end - 1), beyond, mass)
            # a point or a short run is summed as it stands: two tails would cancel
            return self._short_runs(near, far, mass)

    def _short_runs(self, near: Floats, far: Floats, mass: Floats) -> Floats:
        short = (far - near < 8) & (far >= near) & np.isfinite(near)
        if not short.any():
            return mass
        run = near[short][..., None] + np.arange(8)
        logs = np.where(run <= far[short][..., None], self.log_pdf(run), -np.inf)
        mass = np.array(mass)
        mass[short] = np.logaddexp.reduce(logs, axis=-1)
        return mass

    def ppf(self, u: ArrayLike) -> Floats:
        u = _validate.shares(u=u)
        if self.sigma > WIDE:
            # cdf(k) = ndtr((k + 1/2) / sigma) to 1e-10 of the tail
            return np.ceil(self.sigma * scipy.special.ndtri(u) - 0.5) + 0.0
        tails = np.ldexp(_scaled_tails(self.sigma)[:-1], -DOUBLINGS)
        reach = len(tails) - 1
        # cdf(-k) is the tail from k on; cdf(k) is 1 minus the tail from k + 1 on
        cdf = np.concatenate([tails[:0:-1], 1.0 - np.append(tails[1:], 0.0)])
        k = np.searchsorted(cdf, u, side="left") - reach
        return np.where(u <= 0, -np.inf, np.where(u >= 1, np.inf, k))

    def upper_moments(self, low: float) -> tuple[float, float]:
        if self.sigma > WIDE:
            # the half-integer below is where the integral over these integers begins; one
            # Euler-Maclaurin correction for x and x^2 at the edge
            edge = low - 0.5
            z = edge / self.sigma
            density = math.exp(-0.5 * z * z - LOG_ROOT_TWO_PI) / self.sigma
            tail = float(scipy.special.ndtr(-z))
            first = self.sigma**2 * density + density * (1 - z * z) / 24
            second = self.sigma**2 * (tail + edge * density) + density * edge * (2 - z * z) / 24
            return first, second
        k = np.arange(low, max(low, 39 * self.sigma) + 40)
        mass = self.pdf(k)
        return float(np.sum(k * mass)), float(np.sum(k * k * mass))


def bell_derivatives(x: Floats, sigma: float) -> tuple[Floats, Floats, Floats]:
    """The first three derivatives of exp(-x^2 / (2 sigma^2)), each over the function itself."""
    z = x / sigma
    return -z / sigma, (z * z - 1) / sigma**2, (3 - z * z) * z / sigma**3


@functools.lru_cache(maxsize=256)
def log_normaliser(sigma: float) -> float:
    """log of the sum of exp(-k^2 / (2 sigma^2)) over all integers."""
    if sigma < 1:
        k = np.arange(1, 40)
        return math.log1p(2 * float(np.sum(np.exp(-0.5 * (k / sigma) ** 2))))
    # Poisson summation: the transform is a Gaussian again, so narrow that three terms are plenty
    k = np.arange(1, 4)
    dual = float(np.sum(np.exp(-2 * (math.pi * sigma * k) ** 2)))
    return math.log(sigma) + LOG_ROOT_TWO_PI + math.log1p(2 * dual)


@functools.lru_cache(maxsize=16)
def _scaled_tails(sigma: float) -> Floats:
    """P(N >= k) for k = 0, 1, ..., scaled by 2^860, ending in a 0; summed from the far end."""
    k = np.arange(0, math.ceil(47 * sigma) + 2)
    mass = np.exp(-0.5 * (k / sigma) ** 2 - log_normaliser(sigma) + SCALING)
    tails = np.append(np.cumsum(mass[::-1])[::-1], 0.0)
    tails.setflags(write=False)
    return tails
