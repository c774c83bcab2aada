"""The Gaussian kernel on the reals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy
from numpy.typing import ArrayLike

from brdp import _validate
from brdp.noise.base import Floats, Kernel
from brdp.noise.quadrature import NODES, log_integral

LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)
# An interval at z is narrow where its width times 1 + z is below this: the density hardly falls on it.
NARROW = 0.5


@final
@dataclass(frozen=True, slots=True)
class Gaussian(Kernel):
    """Density proportional to exp(-x^2 / (2 sigma^2))."""

    sigma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", _validate.length(sigma=self.sigma))

    @property
    def lattice(self) -> bool:
        return False

    @property
    def log_concave(self) -> bool:
        return True

    def log_pdf(self, x: ArrayLike) -> Floats:
        z = np.asarray(x, dtype=np.float64) / self.sigma
        return -0.5 * z * z - LOG_ROOT_TWO_PI - math.log(self.sigma)

    def log_mass(self, low: ArrayLike, high: ArrayLike) -> Floats:
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        with np.errstate(invalid="ignore"):  # inf - inf: an empty interval
            width = (high - low) / self.sigma
        return log_normal_mass(low / self.sigma, high / self.sigma, width=width)

    def ppf(self, u: ArrayLike) -> Floats:
        return self.sigma * scipy.special.ndtri(_validate.shares(u=u))

    def upper_moments(self, low: float) -> tuple[float, float]:
        z = low / self.sigma
        density = math.exp(-0.5 * z * z - LOG_ROOT_TWO_PI)
        above = float(scipy.special.ndtr(-z))
        return self.sigma * density, self.sigma**2 * (above + z * density)


def log_normal_mass(low: ArrayLike, high: ArrayLike, *, width: ArrayLike) -> Floats:
    """log P(low <= N <= high) for the standard normal N; -inf where low >= high.

    `width` is high - low, given apart because the caller may know it with more digits than the
    difference of two large numbers would have.
    """
    low, high, width = np.broadcast_arrays(
        np.asarray(low, dtype=np.float64),
        np.asarray(high, dtype=np.float64),
        np.asarray(width, dtype=np.float64),
    )
    # the mirror image of an interval on the left, so that tails are always upper ones
    flip = high <= 0
    near = np.where(flip, -high, low)
    far = np.where(flip, -low, high)
    straddles = (near < 0) & (width > 0)
    some = np.where(width > 0, width, 0.0)
    # two nearly equal tails cancel: a narrow interval is integrated instead
    near_enough = np.where(np.isfinite(near), np.maximum(near, 0.0), 0.0)
    narrow = (near >= 0) & (some * (1 + near_enough) < NARROW) & (some > 0)
    tails = (near >= 0) & (width > 0) & ~narrow
    mass = np.full(near.shape, -np.inf)
    with np.errstate(divide="ignore"):
        if straddles.any():
            a, b = near[straddles] / math.sqrt(2), far[straddles] / math.sqrt(2)
            mass[straddles] = np.log(0.5 * (scipy.special.erf(b) - scipy.special.erf(a)))
        if tails.any():
            tail = scipy.special.log_ndtr(-near[tails])
            rest = scipy.special.log_ndtr(-far[tails]) - tail
            mass[tails] = tail + np.log(-np.expm1(rest))
        if narrow.any():
            a, w = near[narrow][..., None], width[narrow][..., None]
            y = w * NODES
            density = -0.5 * a * a - y * (a + 0.5 * y) - LOG_ROOT_TWO_PI
            mass[narrow] = log_integral(density) + np.log(w[..., 0])
    return mass
