"""The two kernels of the paper: a noise law and its privacy profile.

The paper names a kernel by its budget (epsilon_y, delta_y) and uses three things of it: the law
Phi, the profile delta_Z, and, under composition, the profile of T releases. A kernel here is
its scale and the sensitivity; every field may be a numpy array, so that a whole grid of settings
is one kernel. Nothing here is used to release anything: see :mod:`brdp.paper`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfcx, log_ndtr, ndtr

from brdp.noise import Gaussian, Kernel, Laplace

Floats = NDArray[np.float64]

_SQRT_HALF = np.sqrt(0.5)
_LOG_SQRT_TWO_PI = 0.5 * np.log(2.0 * np.pi)


class PaperKernel(ABC):
    """A symmetric, log-concave noise law with its privacy profile."""

    sensitivity: float | Floats

    @abstractmethod
    def noise(self) -> Kernel:
        """The same law as brdp's own kernel, for the exact account (one setting only)."""

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Floats:
        """Phi(x), the paper's law of the kernel."""

    @abstractmethod
    def pdf(self, x: ArrayLike) -> Floats:
        """f_N(x), the density of the kernel."""

    @abstractmethod
    def loss_cdf(self, loss: ArrayLike) -> Floats:
        """P(Z <= z): Definition 2's privacy loss against a neighbour at +Delta, as a cumulative law."""

    @abstractmethod
    def profile(self, epsilon: ArrayLike) -> Floats:
        """delta_Z(epsilon): the least delta of eq. (DP:def), one release, any real epsilon; exact."""

    @abstractmethod
    def at(self, index: int) -> PaperKernel:
        """One setting of a grid of kernels."""

    def mass(self, lower: ArrayLike, upper: ArrayLike) -> Floats:
        """Phi(upper) - Phi(lower), taken from the lighter tail."""
        low, high = np.asarray(lower, float), np.asarray(upper, float)
        right = low > 0
        return np.where(right, self.cdf(-low) - self.cdf(-high), self.cdf(high) - self.cdf(low))

    def acceptance(self, lower: ArrayLike, upper: ArrayLike) -> Floats:
        """p_theta of eq. (eq:pytheta): the kernel's own chance to fall within the bounds.

        Its complement is eq. (eq:barpytheta).
        """
        return self.mass(lower, upper)


@final
@dataclass(frozen=True, eq=False)
class GaussianKernel(PaperKernel):
    """N(0, sigma^2) on a query of the given sensitivity."""

    sigma: float | Floats
    sensitivity: float | Floats = 1.0

    def noise(self) -> Kernel:
        return Gaussian(float(self.sigma))

    def cdf(self, x: ArrayLike) -> Floats:
        return np.asarray(ndtr(np.asarray(x, float) / self.sigma))

    def pdf(self, x: ArrayLike) -> Floats:
        z = np.asarray(x, float) / self.sigma
        return np.asarray(np.exp(-0.5 * z * z - _LOG_SQRT_TWO_PI) / self.sigma)

    def loss_cdf(self, loss: ArrayLike) -> Floats:
        """Z is normal with mean eta = Delta^2/(2 sigma^2) and variance 2 eta."""
        ratio = np.asarray(self.sensitivity / self.sigma, float)
        return np.asarray(ndtr(np.asarray(loss, float) / ratio - 0.5 * ratio))

    def profile(self, epsilon: ArrayLike) -> Floats:
        return gaussian_profile(epsilon, np.asarray(self.sensitivity / self.sigma, float))

    def at(self, index: int) -> GaussianKernel:
        sigma, shift = np.broadcast_arrays(self.sigma, self.sensitivity)
        return GaussianKernel(float(sigma.flat[index]), float(shift.flat[index]))


@final
@dataclass(frozen=True, eq=False)
class LaplaceKernel(PaperKernel):
    """The Laplace law of the given scale on a query of the given sensitivity."""

    scale: float | Floats
    sensitivity: float | Floats = 1.0

    def noise(self) -> Kernel:
        return Laplace(float(self.scale))

    def cdf(self, x: ArrayLike) -> Floats:
        z = np.asarray(x, float) / self.scale
        tail = 0.5 * np.exp(-np.abs(z))
        return np.where(z < 0, tail, 1.0 - tail)

    def pdf(self, x: ArrayLike) -> Floats:
        z = np.abs(np.asarray(x, float)) / self.scale
        return np.asarray(0.5 * np.exp(-z) / self.scale)

    def loss_cdf(self, loss: ArrayLike) -> Floats:
        """Z is Delta/b with probability 1/2, -Delta/b with exp(-Delta/b)/2, and between them else."""
        z = np.asarray(loss, float)
        largest = np.asarray(self.sensitivity / self.scale, float)
        between = 0.5 * np.exp(0.5 * (np.minimum(z, largest) - largest))
        return np.asarray(np.where(z >= largest, 1.0, np.where(z < -largest, 0.0, between)))

    def profile(self, epsilon: ArrayLike) -> Floats:
        """delta(e) = 1 - exp((e - Delta/b)/2) for |e| < Delta/b, 0 above, 1 - exp(e) below."""
        e = np.asarray(epsilon, float)
        largest = np.asarray(self.sensitivity / self.scale, float)
        inside = -np.expm1(0.5 * (np.clip(e, -largest, largest) - largest))
        return np.asarray(np.where(e <= -largest, -np.expm1(np.minimum(e, 0.0)), inside))

    def at(self, index: int) -> LaplaceKernel:
        scale, shift = np.broadcast_arrays(self.scale, self.sensitivity)
        return LaplaceKernel(float(scale.flat[index]), float(shift.flat[index]))


def gaussian_profile(epsilon: ArrayLike, ratio: ArrayLike) -> Floats:
    """The analytic Gaussian profile (Balle and Wang 2018) at ratio = sensitivity/sigma.

    Phi(r/2 - e/r) - exp(e) Phi(-r/2 - e/r). Both terms share the factor phi(r/2 - e/r), so in the
    tail the difference is taken between Mills ratios and stays accurate at a delta of 1e-300.
    """
    e, r = np.broadcast_arrays(np.asarray(epsilon, float), np.asarray(ratio, float))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        near, far = 0.5 * r - e / r, -0.5 * r - e / r
        body = ndtr(near) - np.exp(e + log_ndtr(far))
        mills = np.sqrt(np.pi / 2) * (erfcx(-near * _SQRT_HALF) - erfcx(-far * _SQRT_HALF))
        tail = np.exp(-0.5 * near * near - _LOG_SQRT_TWO_PI) * mills
    return np.asarray(np.maximum(np.where(near < 0, tail, body), 0.0))
