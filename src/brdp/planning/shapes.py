"""Kernels as the search sees them: whole arrays of scales at once, without error control.

A search needs speed and may be a little wrong: what it finds is certified afterwards by the exact curve.
On the lattice an integer k is the cell [k - 1/2, k + 1/2], so that edges are half-integers and every
formula reads as on the reals.
"""

from __future__ import annotations

import abc
import functools
import math
from typing import final

import numpy as np
import scipy

from brdp.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Kernel, Laplace
from brdp.noise.base import Floats

# Discrete Gaussians narrower than this are summed, as far out as REACH sigma; from here on the cell
# integral is close enough.
NARROW = 40.0
REACH = 12.0


class Shape(abc.ABC):
    """A one-parameter family of log-concave kernels."""

    lattice: bool
    can_be_pure: bool
    plain_scale_is_exact: bool = False

    @abc.abstractmethod
    def kernel(self, scale: float) -> Kernel:
        """The kernel of that scale."""

    @abc.abstractmethod
    def cdf(self, x: Floats, scale: Floats) -> Floats:
        """P(N <= x); on the lattice x is a half-integer."""

    @abc.abstractmethod
    def crossing(self, threshold: Floats, scale: Floats, shift: float) -> Floats:
        """Where the kernel's loss falls to the threshold: {loss > threshold} lies left of it."""

    @abc.abstractmethod
    def plain_scale(self, shift: float, epsilon: float, delta: float) -> float:
        """A scale that about meets the budget without a recycler; a starting point."""


@final
class GaussianShape(Shape):
    """Gaussian on the reals."""

    lattice = False
    can_be_pure = False

    def kernel(self, scale: float) -> Kernel:
        return Gaussian(scale)

    def cdf(self, x: Floats, scale: Floats) -> Floats:
        below: Floats = scipy.special.ndtr(x / scale)
        return below

    def crossing(self, threshold: Floats, scale: Floats, shift: float) -> Floats:
        return 0.5 * shift - threshold * scale * scale / shift

    def plain_scale(self, shift: float, epsilon: float, delta: float) -> float:
        # the classic bound is within a factor of 2 for epsilon below 1 and of the right order above
        spread = math.sqrt(2 * math.log(1.25 / delta))
        return shift * (spread + math.sqrt(spread**2 + 2 * epsilon)) / (2 * epsilon)


@final
class LaplaceShape(Shape):
    """Laplace on the reals."""

    lattice = False
    can_be_pure = True
    plain_scale_is_exact = True

    def kernel(self, scale: float) -> Kernel:
        return Laplace(scale)

    def cdf(self, x: Floats, scale: Floats) -> Floats:
        tail = 0.5 * np.exp(-np.abs(x) / scale)
        return np.where(x < 0, tail, 1 - tail)

    def crossing(self, threshold: Floats, scale: Floats, shift: float) -> Floats:
        return _laplace_crossing(threshold, scale, shift)

    def plain_scale(self, shift: float, epsilon: float, delta: float) -> float:
        return shift / (epsilon - 2 * math.log1p(-delta))


@final
class DiscreteLaplaceShape(Shape):
    """Discrete Laplace on the integers."""

    lattice = True
    can_be_pure = True

    def kernel(self, scale: float) -> Kernel:
        return DiscreteLaplace(scale)

    def cdf(self, x: Floats, scale: Floats) -> Floats:
        # P(N <= k) = a^-k / (1 + a) for k < 0, and the mirror image above
        tail: Floats = np.exp(-(np.abs(x) + 0.5) / scale) / (1 + np.exp(-1 / scale))
        return np.where(x < 0, tail, 1 - tail)

    def crossing(self, threshold: Floats, scale: Floats, shift: float) -> Floats:
        return np.ceil(_laplace_crossing(threshold, scale, shift)) - 0.5

    def plain_scale(self, shift: float, epsilon: float, delta: float) -> float:
        return shift / (epsilon - 2 * math.log1p(-delta))


@final
class DiscreteGaussianShape(Shape):
    """Discrete Gaussian on the integers."""

    lattice = True
    can_be_pure = False

    def kernel(self, scale: float) -> Kernel:
        return DiscreteGaussian(scale)

    def cdf(self, x: Floats, scale: Floats) -> Floats:
        x, scale = np.broadcast_arrays(x, scale)
        wide: Floats = scipy.special.ndtr(x / scale)
        narrow = (scale < NARROW) & np.isfinite(x)
        if not narrow.any():
            return wide
        cdf = np.array(wide)
        sigmas, row = np.unique(scale[narrow], return_inverse=True)
        tails = _upper_tails(sigmas.tobytes())
        # P(N <= x) for x < 0 is P(N >= -x), and -x is half an integer below the first one counted
        first = np.minimum(np.abs(x[narrow]) + 0.5, tails.shape[1] - 1).astype(np.int64)
        lighter = tails[row, first]
        cdf[narrow] = np.where(x[narrow] < 0, lighter, 1 - lighter)
        return cdf

    def crossing(self, threshold: Floats, scale: Floats, shift: float) -> Floats:
        return np.ceil(0.5 * shift - threshold * scale * scale / shift) - 0.5

    def plain_scale(self, shift: float, epsilon: float, delta: float) -> float:
        return GaussianShape().plain_scale(shift, epsilon, delta)


def _laplace_crossing(threshold: Floats, scale: Floats, shift: float) -> Floats:
    most = shift / scale
    inside = 0.5 * (shift - np.clip(threshold, -most, most) * scale)
    return np.where(threshold >= most, -np.inf, np.where(threshold < -most, np.inf, inside))


@functools.lru_cache(maxsize=8)
def _upper_tails(sigmas: bytes) -> Floats:
    """P(N >= k) for k = 0, 1, ... in the columns, a row for each sigma (given as the array's bytes)."""
    sigma = np.frombuffer(sigmas)[:, None]
    k = np.arange(math.ceil(REACH * sigma.max()) + 2)
    mass = np.exp(-0.5 * (k / sigma) ** 2)
    sums = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1]
    tails: Floats = sums / (2 * sums[:, :1] - 1)
    tails.setflags(write=False)
    return tails
