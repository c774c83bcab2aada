"""The shape of a kernel on the integers, f(|x|) with f(0) = 1, in fixed point with certified errors.

A shape knows its values exactly enough for tables of 128-bit masses, how far it reaches, and how well a
polynomial follows it over a block. A kernel of your own on the integers is drawn once it has one:
`shape_of.register(MyKernel)`.
"""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from brdp.errors import InvalidInput
from brdp.noise.base import Kernel
from brdp.noise.discrete_gaussian import DiscreteGaussian
from brdp.noise.discrete_laplace import DiscreteLaplace
from brdp.noise.release.fixed import BITS, EXP_ERROR, exp_minus
from brdp.noise.staircase import Staircase

# Mass beyond the support of a table, before normalising: about 2^-TAIL_BITS of the whole.
TAIL_BITS = 114
# Polynomials follow a kernel this closely where MOST_NODES allow it; what is left is charged in any case.
MISFIT_BITS = 122
MOST_NODES = 16


class Shape(abc.ABC):
    """Non-negative values f(x) for x >= 0, non-increasing, at most 1; everything in ulps."""

    __slots__ = ()

    @abc.abstractmethod
    def walk(self, start: Fraction, step: Fraction, count: int) -> list[int]:
        """Return f at start, start + step, ...: `count` values, each off by at most `error(count)`."""

    @abc.abstractmethod
    def error(self, count: int) -> int:
        """Return the most ulps by which a value from `walk` is off."""

    @abc.abstractmethod
    def reach(self, nats: float) -> int:
        """Return a k (an estimate) beyond which lies about exp(-nats) of the kernel's mass."""

    @abc.abstractmethod
    def tail(self, last: int) -> Fraction:
        """Return an upper bound, in ulps, on the sum of f(k) over all integers k > last."""

    @abc.abstractmethod
    def pieces(self, last: int) -> Iterator[int]:
        """Return the integers in [0, last] at which f begins anew, 0 first; between them it is smooth."""

    @property
    @abc.abstractmethod
    def widest_block(self) -> float:
        """The widest block over which `misfit` stays negligible."""

    @property
    @abc.abstractmethod
    def memoryless(self) -> bool:
        """Whether f(x + y) = f(x) f(y), so that every block of one width has the same law within."""

    @abc.abstractmethod
    def misfit(self, width: int, nodes: int) -> Fraction:
        """Return an upper bound, relative to f(0), on how far interpolation is from f on any integer.

        The polynomial meets f at the middles of `nodes` equal parts of the block (see `node_product`). A shape
        that is memoryless needs none.
        """


@functools.lru_cache(maxsize=256)
def nodes_for(shape: Shape, width: int) -> int:
    """Return how many values per block fix a polynomial that stands for f (its degree plus 1)."""
    for nodes in range(1, MOST_NODES):
        if shape.misfit(width, nodes) * (1 << MISFIT_BITS) <= 1:
            return nodes
    return MOST_NODES


def node_product(nodes: int) -> Fraction:
    """Bound |(t - t_0) ... (t - t_(n-1))| over t in [0, 1] for t_i = (2i+1)/(2n).

    Outside the outermost nodes the product grows towards 0 and 1, where it is (2n-1)!! / (2n)^n; between
    two neighbours, k+1 nodes lie to the left and n-k-1 to the right, so it is at most (k+1)! (n-k-1)! / n^n,
    of which k = 0 and k = n-2 are the largest.
    """
    odd = math.prod(range(1, 2 * nodes, 2))
    return max(
        Fraction(odd, (2 * nodes) ** nodes), Fraction(math.factorial(nodes - 1), nodes**nodes)
    )


@final
@dataclass(frozen=True, slots=True)
class Exponential(Shape):
    """exp(-x / scale)."""

    scale: Fraction

    def walk(self, start: Fraction, step: Fraction, count: int) -> list[int]:
        value, ratio = exp_minus(start / self.scale), exp_minus(step / self.scale)
        values = []
        for _ in range(count):
            values.append(value)
            value = value * ratio >> BITS
        return values

    def error(self, count: int) -> int:
        # one step adds at most the ratio's error, the truncation, and their product
        return EXP_ERROR + (EXP_ERROR + 2) * count

    def reach(self, nats: float) -> int:
        return math.ceil(float(self.scale) * nats)

    def tail(self, last: int) -> Fraction:
        # 1 / (1 - exp(-1/b)) <= 1 + b
        return (exp_minus((last + 1) / self.scale) + EXP_ERROR) * (1 + self.scale)

    def pieces(self, last: int) -> Iterator[int]:
        yield 0

    @property
    def widest_block(self) -> float:
        return math.inf

    @property
    def memoryless(self) -> bool:
        return True

    def misfit(self, width: int, nodes: int) -> Fraction:
        return Fraction(0)


@final
@dataclass(frozen=True, slots=True)
class Bell(Shape):
    """exp(-x^2 / (2 sigma^2))."""

    sigma: Fraction

    def walk(self, start: Fraction, step: Fraction, count: int) -> list[int]:
        square = self.sigma**2
        value = exp_minus(start * start / (2 * square))
        ratio = exp_minus((2 * start * step + step * step) / (2 * square))
        bend = exp_minus(step * step / square)
        values = []
        for _ in range(count):
            values.append(value)
            value = value * ratio >> BITS
            ratio = ratio * bend >> BITS
        return values

    def error(self, count: int) -> int:
        # the ratio is off by at most 2 + 4 i after i steps, and each step adds that and 2 to the value
        return 4 * (count + 1) ** 2

    def reach(self, nats: float) -> int:
        return math.ceil(float(self.sigma) * math.sqrt(2 * nats))

    def tail(self, last: int) -> Fraction:
        square = self.sigma**2
        first = exp_minus((last + 1) ** 2 / (2 * square)) + EXP_ERROR
        # later ratios are smaller still: a geometric series with 1 / (1 - exp(-x)) <= 1 + 1/x
        return first * (1 + 2 * square / (2 * last + 3))

    def pieces(self, last: int) -> Iterator[int]:
        yield 0

    @property
    def widest_block(self) -> float:
        return float(self.sigma) / 32

    @property
    def memoryless(self) -> bool:
        return False

    def misfit(self, width: int, nodes: int) -> Fraction:
        # Cramer's bound on Hermite functions: |f^(n)| <= 1.09 sqrt(n!) / sigma^n
        root = math.isqrt(math.factorial(nodes)) + 1
        derivative = Fraction(109, 100) * root / math.factorial(nodes)
        return (width / self.sigma) ** nodes * node_product(nodes) * derivative


@final
@dataclass(frozen=True, slots=True)
class Stairs(Shape):
    """1 up to `core`, then steps of `step` integers, each lower by exp(-drop)."""

    core: int
    step: int
    drop: Fraction

    def _stair(self, twice: int) -> int:
        """Return the stair of x, given 2x (blocks have their middle between two integers)."""
        return max(0, -((2 * self.core + 1 - twice) // (2 * self.step)))

    def walk(self, start: Fraction, step: Fraction, count: int) -> list[int]:
        first, stride = int(2 * start), int(2 * step)
        at = [self._stair(first + i * stride) for i in range(count)]
        heights = _powers(self.drop, 1 << max(at).bit_length())
        return [heights[stair] for stair in at]

    def error(self, count: int) -> int:
        # a factor of exp(-drop) adds at most EXP_ERROR + 2 and shrinks what was there before, so errors stay
        # below a geometric series, of which 1 / (1 - exp(-x)) <= 1 + 1/x
        return EXP_ERROR + (EXP_ERROR + 2) * math.ceil(1 + 1 / self.drop)

    def reach(self, nats: float) -> int:
        # the end of a stair, so that the tail begins with a whole one
        stairs = math.ceil(nats / float(self.drop))
        return self.core + self.step * stairs

    def tail(self, last: int) -> Fraction:
        height = exp_minus(self._stair(2 * (last + 1)) * self.drop) + EXP_ERROR
        return height * self.step * (1 + 1 / self.drop)

    def pieces(self, last: int) -> Iterator[int]:
        yield 0
        yield from range(self.core + 1, last + 1, self.step)

    @property
    def widest_block(self) -> float:
        return math.inf

    @property
    def memoryless(self) -> bool:
        return False  # it is constant on its blocks: a polynomial of degree 0

    def misfit(self, width: int, nodes: int) -> Fraction:
        return Fraction(0)


@functools.lru_cache(maxsize=16)
def _powers(drop: Fraction, count: int) -> list[int]:
    """Return exp(-j drop) for j below `count`."""
    heights, ratio = [1 << BITS], exp_minus(drop)
    for _ in range(count - 1):
        heights.append(heights[-1] * ratio >> BITS)
    return heights


@functools.singledispatch
def shape_of(kernel: Kernel) -> Shape:
    """Return the shape of a kernel on the integers."""
    raise InvalidInput(
        "noise",
        expected="integer noise whose kernel has a release shape",
        got=kernel,
        remedy="Use DiscreteLaplace, DiscreteGaussian or Staircase(integer=True); noise on the reals is "
        "never released.",
    )


@shape_of.register
def _(kernel: DiscreteLaplace) -> Shape:
    return Exponential(Fraction(kernel.scale))


@shape_of.register
def _(kernel: DiscreteGaussian) -> Shape:
    return Bell(Fraction(kernel.sigma))


@shape_of.register
def _(kernel: Staircase) -> Shape:
    if not kernel.integer:
        return shape_of.dispatch(Kernel)(kernel)
    return Stairs(int(kernel.core), int(kernel.step), Fraction(kernel.drop))
