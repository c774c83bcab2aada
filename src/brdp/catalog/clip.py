"""The range a column's values are held to, and the lattice they are rounded to before anything is
summed.

A float sum changes when rows are reordered, by more than one row's worth, so no float is ever
added: each value becomes an integer number of steps (theory.md, section 6). One step is 1 for a
column declared integer, else 2^-41 to 2^-40 of the larger clip bound: fine enough that rounding
10^9 rows moves a sum by less than a thousandth of one bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from brdp.errors import InvalidInput

STEPS_LOG2 = 40
LARGEST_INTEGER = 2**53  # integers up to here pass through a double unchanged, in every engine
SMALLEST_BOUND, LARGEST_BOUND = Fraction(1, 2**100), Fraction(2**100)


def floor_log2(number: Fraction) -> int:
    """The largest e with 2^e <= number, exactly."""
    guess = number.numerator.bit_length() - number.denominator.bit_length()
    return guess if Fraction(2) ** guess <= number else guess - 1


def nearest_step(value: Fraction, *, resolution: Fraction) -> int:
    """floor(value / resolution + 1/2): the one rounding that commutes with whole steps (theory.md,
    section 6).
    """
    return (value / resolution + Fraction(1, 2)).__floor__()


@final
@dataclass(frozen=True)
class Clip:
    """Values below `low` count as `low`, above `high` as `high`; `integer` says that all of them
    are whole numbers.

    *Guarantee:* after clipping, every row's value is an integer of steps between `low_steps` and
    `high_steps`, whatever the table holds. The two are computed exactly from the owner's numbers
    alone.
    """

    low: Fraction
    high: Fraction
    integer: bool = False
    argument: str = "clip"  # how errors name it; two clips are the same whatever they are called

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InvalidInput(
                self.argument,
                expected="[low, high] with low below high",
                got=[float(self.low), float(self.high)],
                remedy="Write the smaller bound first.",
            )
        bound = max(abs(self.low), abs(self.high))
        if not SMALLEST_BOUND <= bound <= LARGEST_BOUND:
            raise InvalidInput(
                self.argument,
                expected="bounds between 2^-100 and 2^100 in size",
                got=[float(self.low), float(self.high)],
                remedy="Change the column's unit of measure.",
            )
        if self.integer and (self.low.denominator, self.high.denominator) != (1, 1):
            raise InvalidInput(
                self.argument,
                expected="whole bounds for a column declared integer",
                got=[float(self.low), float(self.high)],
                remedy="Use whole bounds, or leave `integer` out.",
            )
        if self.integer and bound > LARGEST_INTEGER:
            raise InvalidInput(
                self.argument,
                expected="bounds of at most 2^53 for a column declared integer",
                got=[int(self.low), int(self.high)],
                remedy="Leave `integer` out.",
            )
        # The name is for errors only: it must not make two equal clips differ.
        object.__setattr__(self, "argument", "clip")

    @property
    def resolution(self) -> Fraction:
        """One step: 1 for integers, else a power of two."""
        if self.integer:
            return Fraction(1)
        return Fraction(2) ** (floor_log2(max(abs(self.low), abs(self.high))) - STEPS_LOG2)

    @property
    def low_steps(self) -> int:
        return nearest_step(self.low, resolution=self.resolution)

    @property
    def high_steps(self) -> int:
        return nearest_step(self.high, resolution=self.resolution)

    @property
    def rounding(self) -> Fraction:
        """How far rounding may move one value: half a step, or nothing for integers."""
        return Fraction(0) if self.integer else self.resolution / 2
