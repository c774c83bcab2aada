"""The staircase kernel, on the reals or the integers: optimal for one pure release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from brdp import _validate
from brdp.errors import InvalidInput
from brdp.noise.base import Floats, Kernel

# exp(drop) must stay a number.
LARGEST_DROP = 700.0


@final
@dataclass(frozen=True, slots=True)
class Staircase(Kernel):
    """A density that is flat up to `core` on either side of 0 and then falls in steps.

    Each further step is `step` wide and lower than the one before by the factor exp(-drop). On the
    integers the core holds |k| <= core and each step holds `step` integers.
    """

    core: float
    step: float
    drop: float
    integer: bool = False

    def __init__(self, *, core: float, step: float, drop: float, integer: bool = False) -> None:
        if integer:
            core = float(_validate.whole(core=core, least=0))
            step = float(_validate.whole(step=step, least=1))
        object.__setattr__(self, "core", _validate.non_negative(core=core))
        if self.core > 0:
            _validate.length(core=core)
        object.__setattr__(self, "step", _validate.length(step=step))
        object.__setattr__(self, "drop", _validate.length(drop=drop))
        if self.drop > LARGEST_DROP:
            raise InvalidInput("drop", expected=f"at most {LARGEST_DROP:g}", got=drop)
        object.__setattr__(self, "integer", bool(integer))

    @property
    def lattice(self) -> bool:
        return self.integer

    @property
    def log_concave(self) -> bool:
        return False

    @property
    def half_core(self) -> float:
        """Half the width of the core, where on the lattice each integer is a cell of width 1."""
        return self.core + 0.5 if self.integer else self.core

    @property
    def log_top(self) -> float:
        """Log density of the core."""
        rest = self.step / math.expm1(self.drop)  # step * a / (1 - a)
        return -math.log(2 * (self.half_core + rest))

    def _stair(self, x: Floats) -> Floats:
        """Which stair |x| lies on: 0 in the core, j on the j-th step; edges belong to the inner one."""
        return np.maximum(np.ceil((np.abs(x) - self.half_core) / self.step), 0.0)

    def _edge(self, stair: Floats) -> Floats:
        """Outer edge of that stair."""
        return self.half_core + stair * self.step

    def log_pdf(self, x: ArrayLike) -> Floats:
        x = np.asarray(x, dtype=np.float64)
        density = self.log_top - self.drop * self._stair(x)
        return np.where(x == np.floor(x), density, -np.inf) if self.integer else density

    def log_mass(self, low: ArrayLike, high: ArrayLike) -> Floats:
        start, end = np.broadcast_arrays(
            np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        )
        if self.integer:
            start, end = np.ceil(start) - 0.5, np.floor(end) + 0.5
        flip = end <= 0
        near, far = np.where(flip, -end, start), np.where(flip, -start, end)
        straddles = near < 0
        right = self._one_sided(np.where(straddles, 0.0, near), far)
        left = self._one_sided(np.zeros_like(near), np.where(straddles, -near, 0.0))
        mass = np.where(straddles, np.logaddexp(left, right), right)
        return np.where(end > start, np.minimum(mass, 0.0), -np.inf)

    def _one_sided(self, near: Floats, far: Floats) -> Floats:
        """log P(near <= N <= far) for 0 <= near <= far: the two ends' stairs and those between."""
        with np.errstate(divide="ignore", invalid="ignore"):
            first, last = self._stair(near), self._stair(far)
            same = first == last
            # far out a stair is narrower than the spacing of doubles, and a width may round below 0
            inner = np.maximum(self._edge(first) - near, 0.0)
            between = -np.expm1(-self.drop * np.maximum(last - first - 1, 0)) / math.expm1(
                self.drop
            )
            outer = np.where(
                np.isfinite(last),
                np.exp(-self.drop * (last - first)) * np.maximum(far - self._edge(last - 1), 0.0),
                0.0,
            )
            several = inner + self.step * between + outer
            width = np.where(same, far - near, several)
            # far = near = inf is an empty interval
            return np.where(
                np.isfinite(near), self.log_top - self.drop * first + np.log(width), -np.inf
            )

    def ppf(self, u: ArrayLike) -> Floats:
        u = _validate.shares(u=u)
        tail = np.minimum(u, 1 - u)
        with np.errstate(divide="ignore", invalid="ignore"):
            # past the edge of stair j lies top * step * a^(j+1) / (1-a)
            beyond_core = self.log_top + math.log(self.step) - math.log(math.expm1(self.drop))
            stair = np.maximum(np.floor((beyond_core - np.log(tail)) / self.drop) + 1, 0.0)
            past = np.exp(beyond_core - self.drop * stair)
            x = self._edge(stair) - (tail - past) * np.exp(self.drop * stair - self.log_top)
        x = np.where(tail <= 0, np.inf, np.maximum(x, 0.0))
        x = np.where(u < 0.5, -x, x)
        if not self.integer:
            return x
        # on the edge of a stair rounding may end one integer off: the masses decide
        k = np.ceil(x - 0.5) + 0.0
        finite = np.where(np.isfinite(k), k, 0.0)
        k = np.where(np.isfinite(k) & (self.cdf(finite - 1) >= u), k - 1, k)
        return np.where(np.isfinite(k) & (self.cdf(finite) < u), k + 1, k)

    def upper_moments(self, low: float) -> tuple[float, float]:
        start = low - 0.5 if self.integer else low
        stair = float(self._stair(np.asarray(start)))
        if self.integer and start == self._edge(np.asarray(stair)):
            stair += 1
        edge = float(self._edge(np.asarray(stair)))
        a, rest = math.exp(-self.drop), -math.expm1(-self.drop)
        # each stair as a block about its middle: integral of x^2 is width * middle^2 + its own spread
        width, middle = edge - start, 0.5 * (edge + start)
        first = width * middle
        second = width * middle**2 + self._spread(width)
        step, middle = self.step, edge + 0.5 * self.step
        sums = 1 / rest, a / rest**2, a * (1 + a) / rest**3
        first += a * step * (middle * sums[0] + step * sums[1])
        second += (
            a * step * (middle**2 * sums[0] + 2 * middle * step * sums[1] + step**2 * sums[2])
            + a * self._spread(step) * sums[0]
        )
        scale = math.exp(self.log_top - self.drop * stair)
        return scale * first, scale * second

    def _spread(self, width: float) -> float:
        return width * (width**2 - (1.0 if self.integer else 0.0)) / 12
