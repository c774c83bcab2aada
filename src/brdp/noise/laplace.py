"""The Laplace kernel on the reals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from brdp import _validate
from brdp.noise.base import Floats, Kernel


@final
@dataclass(frozen=True, slots=True)
class Laplace(Kernel):
    """Density proportional to exp(-|x| / scale)."""

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _validate.length(scale=self.scale))

    @property
    def lattice(self) -> bool:
        return False

    @property
    def log_concave(self) -> bool:
        return True

    def log_pdf(self, x: ArrayLike) -> Floats:
        z = np.abs(np.asarray(x, dtype=np.float64)) / self.scale
        return -z - math.log(2 * self.scale)

    def log_mass(self, low: ArrayLike, high: ArrayLike) -> Floats:
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        return log_laplace_mass(low, high, scale=self.scale)

    def ppf(self, u: ArrayLike) -> Floats:
        u = _validate.shares(u=u)
        with np.errstate(divide="ignore"):
            magnitude: Floats = -self.scale * np.log(2 * np.minimum(u, 1 - u))
        return np.where(u < 0.5, -magnitude, magnitude)

    def upper_moments(self, low: float) -> tuple[float, float]:
        b, tail = self.scale, 0.5 * math.exp(-low / self.scale)
        return tail * (low + b), tail * (low * low + 2 * low * b + 2 * b * b)


def log_laplace_mass(
    low: ArrayLike, high: ArrayLike, *, scale: ArrayLike, width: ArrayLike | None = None
) -> Floats:
    """log P(low <= N <= high) for Laplace noise of that scale; -inf where low >= high.

    `width` is high - low, for a caller who knows it with more digits.
    """
    with np.errstate(invalid="ignore"):
        width = np.subtract(high, low) if width is None else width
    low, high, scale, length = np.broadcast_arrays(
        np.asarray(low, dtype=np.float64),
        np.asarray(high, dtype=np.float64),
        np.asarray(scale, dtype=np.float64),
        np.asarray(width, dtype=np.float64),
    )
    flip = high <= 0
    near = np.where(flip, -high, low) / scale
    far = np.where(flip, -low, high) / scale
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        one_sided = -near - math.log(2) + np.log(-np.expm1(-length / scale))
        around_zero = np.log(-0.5 * (np.expm1(near) + np.expm1(-far)))
        return np.where(length > 0, np.where(near < 0, around_zero, one_sided), -np.inf)
