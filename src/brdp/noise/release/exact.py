"""The paper's loop, literally, on exact integers: no floating point, no rounding, total variation 0.

Every decision is an exact Bernoulli trial with a rational probability, or with probability exp(-x) for a
rational x (Canonne, Kamath and Steinke 2020). A float parameter stands for the rational number it is.
Guarantee: given uniform bits, each value has exactly the probability the noise states.
"""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from brdp.errors import InvalidInput
from brdp.noise.base import Kernel, Noise
from brdp.noise.discrete_gaussian import DiscreteGaussian
from brdp.noise.discrete_laplace import DiscreteLaplace
from brdp.noise.release.bits import Integers
from brdp.noise.staircase import Staircase


def bernoulli(bits: Integers, numerator: int, denominator: int) -> bool:
    """True with probability numerator / denominator, which is at most 1."""
    return bits.below(denominator) < numerator


def bernoulli_exp(bits: Integers, numerator: int, denominator: int) -> bool:
    """True with probability exp(-numerator / denominator) for any ratio of at least 0."""
    while numerator > denominator:
        if not _bernoulli_exp_below_one(bits, 1, 1):
            return False
        numerator -= denominator
    return _bernoulli_exp_below_one(bits, numerator, denominator)


def _bernoulli_exp_below_one(bits: Integers, numerator: int, denominator: int) -> bool:
    # the first k at which a trial of x/k fails is odd with probability 1 - x + x^2/2! - ... = exp(-x)
    k = 1
    while bernoulli(bits, numerator, denominator * k):
        k += 1
    return k % 2 == 1


def geometric(bits: Integers, numerator: int, denominator: int) -> int:
    """Return k >= 0 with probability proportional to exp(-k numerator / denominator), both above 0.

    With x = u + denominator v for u uniform below the denominator and kept with exp(-u / denominator), and v
    geometric by exp(-1), x falls by exp(-1 / denominator) a step; x // numerator is what is wanted.
    """
    while True:
        u = bits.below(denominator)
        if _bernoulli_exp_below_one(bits, u, denominator):
            break
    v = 0
    while _bernoulli_exp_below_one(bits, 1, 1):
        v += 1
    return (u + denominator * v) // numerator


class Draw(abc.ABC):
    """One exact draw of a kernel."""

    __slots__ = ()

    @abc.abstractmethod
    def __call__(self, bits: Integers) -> int: ...

    @property
    @abc.abstractmethod
    def offers(self) -> float:
        """About how many values are offered on average before one is taken; beyond 2 it has to be right."""


@final
@dataclass(frozen=True, slots=True)
class LaplaceDraw(Draw):
    """Mass proportional to exp(-|k| / scale)."""

    scale: Fraction

    def __call__(self, bits: Integers) -> int:
        while True:
            magnitude = geometric(bits, self.scale.denominator, self.scale.numerator)
            negative = bool(bits.bits(1))
            if magnitude or not negative:  # 0 would otherwise come up twice as often
                return -magnitude if negative else magnitude

    @property
    def offers(self) -> float:
        return 2.0  # at most half of them are -0


@final
@dataclass(frozen=True, slots=True)
class GaussianDraw(Draw):
    """Mass proportional to exp(-k^2 / (2 sigma^2)), by rejection from a discrete Laplace of integer scale."""

    square: Fraction
    scale: int

    def __call__(self, bits: Integers) -> int:
        proposal = LaplaceDraw(Fraction(self.scale))
        while True:
            k = proposal(bits)
            excess = (abs(k) - self.square / self.scale) ** 2 / (2 * self.square)
            if bernoulli_exp(bits, excess.numerator, excess.denominator):
                return k

    @property
    def offers(self) -> float:
        return 2.0  # the Laplace offered is about as wide


@final
@dataclass(frozen=True, slots=True)
class StaircaseDraw(Draw):
    """Flat up to `core`, then stairs of `step` integers, each lower by exp(-drop)."""

    core: int
    step: int
    drop: Fraction

    def __call__(self, bits: Integers) -> int:
        # the core holds 2 core + 1 integers, each further stair `step` on either side; a place is offered
        # on the widest of them and refused where the stair is narrower
        widest = self._widest
        while True:
            stair = geometric(bits, self.drop.numerator, self.drop.denominator)
            place = bits.below(widest)
            if stair == 0:
                if place < 2 * self.core + 1:
                    return place - self.core
            elif place < 2 * self.step:
                magnitude = self.core + 1 + (stair - 1) * self.step + place // 2
                return -magnitude if place % 2 else magnitude

    @property
    def _widest(self) -> int:
        return max(2 * self.core + 1, 2 * self.step)

    @property
    def offers(self) -> float:
        beyond = math.exp(-self.drop)
        taken = -math.expm1(-self.drop) * (2 * self.core + 1) + beyond * 2 * self.step
        return self._widest / taken


@functools.singledispatch
def exact_draw_of(kernel: Kernel) -> Draw:
    """Return the exact way to draw a kernel; register your own."""
    raise InvalidInput(
        "noise",
        expected="integer noise whose kernel has an exact draw",
        got=kernel,
        remedy="Use DiscreteLaplace, DiscreteGaussian or Staircase(integer=True).",
    )


@exact_draw_of.register
def _(kernel: DiscreteLaplace) -> Draw:
    return LaplaceDraw(Fraction(kernel.scale))


@exact_draw_of.register
def _(kernel: DiscreteGaussian) -> Draw:
    sigma = Fraction(kernel.sigma)
    return GaussianDraw(sigma**2, int(sigma) + 1)


@exact_draw_of.register
def _(kernel: Staircase) -> Draw:
    if not kernel.integer:
        refuse: Callable[[Kernel], Draw] = exact_draw_of.dispatch(Kernel)
        return refuse(kernel)
    return StaircaseDraw(int(kernel.core), int(kernel.step), Fraction(kernel.drop))


@final
class Loop:
    """Draw from the kernel; keep with the recycler's weight, else draw again."""

    __slots__ = ("_beyond", "_cells", "_draw", "rounds")

    def __init__(self, noise: Noise) -> None:
        self._draw = exact_draw_of(noise.kernel)
        # how many offers one draw takes on average: it decides whether to begin, nothing that is drawn
        self.rounds = noise.expected_rounds * self._draw.offers
        # edges are half-integers, so that each cell but the last has a last integer
        lasts = [math.floor(edge) for edge in noise.recycler.edges]
        keeps = [Fraction(keep) for keep in noise.recycler.keeps]
        self._cells = list(zip(lasts, keeps[:-1], strict=True))
        self._beyond = keeps[-1]

    def __call__(self, bits: Integers) -> int:
        while True:
            k = self._draw(bits)
            keep = next((keep for last, keep in self._cells if k <= last), self._beyond)
            if bernoulli(bits, keep.numerator, keep.denominator):
                return k
