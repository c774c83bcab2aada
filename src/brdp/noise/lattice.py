"""The lattice of a release: its resolution, and every rounding around it, in exact arithmetic.

A number given as a float stands for the rational number it is. Nothing here adds or divides floats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from brdp import _validate
from brdp.errors import InvalidInput, NotPossible

# The lattice is at least this much finer than the sensitivity and the bound.
FINENESS = 1024
# Noise wider than this many steps would not fit the sampler's tables (docs/theory/release.md).
WIDEST_SCALE = 1 << 22
# Floats hold every integer below this.
LARGEST_STEPS = 1 << 53
# Within these exponents every multiple of the resolution below LARGEST_STEPS is a float.
EXPONENTS = range(-1074, 971)

Real = int | float | Fraction


@final
@dataclass(frozen=True, slots=True, order=True)
class Resolution:
    """The lattice of all integer multiples of 2^exponent."""

    exponent: int

    def __post_init__(self) -> None:
        if isinstance(self.exponent, bool) or not isinstance(self.exponent, int):
            raise InvalidInput("exponent", expected="an integer", got=self.exponent)
        if self.exponent not in EXPONENTS:
            raise InvalidInput(
                "exponent", expected=f"{EXPONENTS.start} to {EXPONENTS.stop - 1}", got=self.exponent
            )

    @property
    def step(self) -> Fraction:
        """The distance between neighbouring points."""
        return power_of_two(self.exponent)

    def steps(self, sensitivity: Real) -> int:
        """Return how many steps a query of that sensitivity may move after rounding.

        Guarantee: if |y - y'| <= sensitivity then |round_total(y) - round_total(y')| is at most this.
        """
        return math.ceil(_exact("sensitivity", sensitivity) / self.step)

    def bound(self, within: Real, *, data: Resolution, data_rounding: Real = 0) -> int:
        """Return the largest integer noise that keeps the answer within `within` after every rounding.

        `data` is the lattice of the exact total, and `data_rounding` bounds how far rounding the rows to it
        has moved the total in sum (0 for counts).
        Guarantee: noise of at most this many steps, added to the rounded total, gives an answer at most
        `within` from the total of the clipped rows.
        """
        # a total that lies on this lattice already is not rounded: counts on the lattice of step 1
        half = Fraction(0) if data.exponent >= self.exponent else self.step / 2
        rows = _exact("data_rounding", data_rounding) if data_rounding else Fraction(0)
        room = _exact("within", within) - half - rows
        if room < 0:
            raise InvalidInput(
                "within",
                expected=f"at least half the resolution {float(self.step)!r} and the rounding of the rows",
                got=within,
                remedy="Choose a finer resolution (resolution_for) or a wider bound.",
            )
        return math.floor(room / self.step)

    def round_total(self, total: int, *, data: Resolution) -> int:
        """Round an exact total, counted in steps of the data's resolution, to steps of this lattice.

        It is floor((2y + r) / (2r)) in integers: halves go up, so that shifting the total by whole
        steps shifts the result by exactly as many.
        """
        if isinstance(total, bool) or not isinstance(total, int | np.integer):
            # the value itself is private
            raise InvalidInput("total", expected="an integer", got=type(total))
        coarser = self.exponent - data.exponent
        if coarser <= 0:
            return int(total) << -coarser
        ratio = 1 << coarser
        return (2 * int(total) + ratio) // (2 * ratio)

    def to_float(self, steps: int) -> float:
        """Return the float that is exactly `steps` times the resolution.

        The answer is public by now, but the error still does not repeat it.
        """
        if abs(int(steps)) >= LARGEST_STEPS:
            raise NotPossible(
                "expected an answer of less than 2^53 steps of its lattice, so that a float holds it exactly; "
                "got one beyond. Ask for a coarser resolution, with a wider bound."
            )
        return math.ldexp(int(steps), self.exponent)


COUNT = Resolution(0)


def resolution_for(*, sensitivity: Real, within: Real, scale: Real | None = None) -> Resolution:
    """Choose the lattice of a sum: the largest power of two at most min(sensitivity, within) / 1024.

    Counts use COUNT, the lattice of step 1. `scale`, the noise's where it is known, counts like the
    others, and keeps the lattice from being finer than the sampler's tables allow, which has the last word.
    """
    finest = min(_exact("sensitivity", sensitivity), _exact("within", within))
    if scale is None:
        exponent = floor_log2(finest / FINENESS)
    else:
        width = _exact("scale", scale)
        allowed = -floor_log2(WIDEST_SCALE / width)  # the least e with 2^e >= width / WIDEST_SCALE
        exponent = max(floor_log2(min(finest, width) / FINENESS), allowed)
    if exponent not in EXPONENTS:
        raise InvalidInput(
            "sensitivity, within",
            expected=f"numbers of at least 2^{EXPONENTS.start + 10}",
            got=(sensitivity, within),
        )
    return Resolution(exponent)


def floor_log2(x: Fraction) -> int:
    """Return the largest e with 2^e <= x, for x > 0."""
    guess = x.numerator.bit_length() - x.denominator.bit_length()
    return guess if power_of_two(guess) <= x else guess - 1


def power_of_two(exponent: int) -> Fraction:
    """Return 2^exponent."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def _exact(name: str, value: Real) -> Fraction:
    """Return a number above 0 as the exact rational it is."""
    if isinstance(value, Fraction) or (isinstance(value, int) and not isinstance(value, bool)):
        if value > 0:
            return Fraction(value)
        raise InvalidInput(name, expected="a number above 0", got=value)
    named: dict[str, object] = {name: value}
    return Fraction(_validate.positive(remedy="", **named))
