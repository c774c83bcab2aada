"""The discrete Laplace kernel on the integers (two-sided geometric)."""

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
class DiscreteLaplace(Kernel):
    """Mass proportional to exp(-|k| / scale) on the integers."""

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _validate.length(scale=self.scale))

    @property
    def lattice(self) -> bool:
        return True

    @property
    def log_concave(self) -> bool:
        return True

    def log_pdf(self, x: ArrayLike) -> Floats:
        k = np.asarray(x, dtype=np.float64)
        # (1 - a) / (1 + a) with a = exp(-1/scale) is tanh(1 / (2 scale))
        mass = math.log(math.tanh(0.5 / self.scale)) - np.abs(k) / self.scale
        return np.where(k == np.floor(k), mass, -np.inf)

    def log_mass(self, low: ArrayLike, high: ArrayLike) -> Floats:
        low, high = np.broadcast_arrays(
            np.ceil(np.asarray(low, dtype=np.float64)), np.floor(np.asarray(high, dtype=np.float64))
        )
        flip = high <= 0
        near, far = np.where(flip, -high, low), np.where(flip, -low, high)
        # P(near <= N <= far) = (a^near - a^(far+1)) / (1 + a) for near >= 0
        log_one_plus_a = math.log1p(math.exp(-1 / self.scale))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            terms = np.log(-np.expm1(-(far - near + 1) / self.scale))
            one_sided = -near / self.scale + terms - log_one_plus_a
            # around 0: (1 - a^(|near|+1)) and (a - a^(far+1)), both at least 0
            left = -np.expm1((near - 1) / self.scale)
            right = -math.exp(-1 / self.scale) * np.expm1(-far / self.scale)
            around_zero = np.log(left + right) - log_one_plus_a
            mass = np.where(near < 0, around_zero, one_sided)
            return np.where((high >= low) & (near < np.inf), mass, -np.inf)

    def ppf(self, u: ArrayLike) -> Floats:
        u = _validate.shares(u=u)
        log_one_plus_a = math.log1p(math.exp(-1 / self.scale))
        with np.errstate(divide="ignore"):
            # P(N <= -k) = a^k / (1 + a) for k >= 0, and P(N > k) = a^(k+1) / (1 + a)
            left = -np.floor(-self.scale * (np.log(u) + log_one_plus_a))
            right = np.ceil(-self.scale * (np.log1p(-u) + log_one_plus_a)) - 1
        quantile: Floats = np.where(u <= math.exp(-log_one_plus_a), left, right) + 0.0
        return quantile

    def upper_moments(self, low: float) -> tuple[float, float]:
        a = math.exp(-1 / self.scale)
        rest = -math.expm1(-1 / self.scale)  # 1 - a, without cancellation for wide noise
        tail = math.exp(-low / self.scale) / (1 + a)
        first = low + a / rest
        second = low * low + 2 * low * a / rest + a * (1 + a) / rest**2
        return tail * first, tail * second
