"""Which groups found in the data may be named: the optimal law, in exact integer arithmetic.

A group nobody listed beforehand is private: that it appears at all tells of somebody in it. It is named
with a probability that depends on its number of units alone. Of all laws that keep (epsilon, delta), one is
largest for every number at once (Desfontaines, Voss and Gipson 2020; theory.md, section 8):

    pi_0 = 0,   pi_n = min(e^epsilon pi_(n-1) + delta, 1 - e^-epsilon (1 - pi_(n-1) - delta), 1)

Each of its conditions bounds pi_n by pi_(n-1) from above, so the law may be rounded down at every step and
still meets all of them exactly. That is done here, on a grid so fine that no one could see the difference;
and with e^epsilon rounded down, drawing is a comparison of integers and there is nothing left to account.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import final

from brdp import _validate
from brdp.errors import InvalidInput, NotPossible

# the law is rounded down by at most 2^-128 of its first step
GRID = 128
DIGITS = 80
MOST_STEPS = 4_000_000


@final
@dataclass(frozen=True)
class PartitionSelection:
    """Which private groups to name, where a unit counts in at most `groups` of them.

    `groups` is how many counts one neighbour can change, each by one: the limit on groups of a unit,
    and twice that where neighbours replace a unit by another.

    *Guarantee:* naming every group for which `keeps` says so, each asked once with its number of
    units, is (epsilon, delta)-private, exactly: the law drawn is the law stated (tau = 0). Shown for
    every pair of neighbouring counts, in rational arithmetic, by tests/privacy/test_partition.py.
    """

    epsilon: float
    delta: float
    groups: int = 1
    # how many random bits decide about a group
    bits: int = field(init=False, repr=False, compare=False)
    # one tuple: 2^bits times the probability of naming a group of 0, 1, 2, ... units, as far as asked so
    # far. Exchanged as a whole, because threads may share it
    _law: list[tuple[int, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _validate.positive(epsilon=self.epsilon)
        _validate.below_one(delta=self.delta)
        _validate.whole(groups=self.groups)
        if not self.delta > 0:
            raise NotPossible(
                "Groups found in the data need a delta above 0: the first unit of a group is seen with "
                "probability delta. List the groups in the query or the catalog, or grant a delta."
            )
        if self._steps_at_most() > MOST_STEPS:
            raise InvalidInput(
                "epsilon",
                expected="enough for a group of some millions of units to be named",
                got=self.epsilon,
                remedy="Ask with a larger epsilon or delta, or let a unit count in fewer groups.",
            )

        share = Fraction(self.delta) / self.groups
        object.__setattr__(self, "bits", GRID + (1 / share).__ceil__().bit_length())
        object.__setattr__(self, "_law", [(0,)])

    def _steps_at_most(self) -> float:
        # from delta to 1/2 by a factor of e^epsilon or by steps of delta, and the mirror image to 1
        share = max(self.delta / self.groups, 1e-300)
        epsilon = self.epsilon / self.groups
        # log(1 + expm1(epsilon) / (2 share)), without overflow
        grown = (min(epsilon, 700.0) + math.log(1 / share)) / epsilon
        return 2 * min(grown, 1 / share) + 4

    def probability(self, *, units: int) -> Fraction:
        """The exact probability of naming a group of so many units."""
        return Fraction(self._threshold(units), 1 << self.bits)

    def units_for(self, *, probability: float) -> int:
        """The smallest number of units with which a group is named at least this often."""
        _validate.between_zero_and_one(probability=probability)
        wanted = (Fraction(probability) * (1 << self.bits)).__ceil__()
        law = self._law[0]
        while law[-1] < wanted:
            law = self._grown(2 * len(law))
        return next(units for units, chance in enumerate(law) if chance >= wanted)

    def keeps(self, *, units: int, random_bits: Callable[[int], int] = secrets.randbits) -> bool:
        """Decide about a group of so many units, by fresh bits from the operating system."""
        threshold = self._threshold(units)
        # drawn always, so that the time does not tell whether there was anything to decide
        return random_bits(self.bits) < threshold

    def _threshold(self, units: int) -> int:
        if isinstance(units, bool) or not isinstance(units, int) or units < 0:
            raise InvalidInput("units", expected="a whole number, 0 or above", got="something else")
        law = self._grown(units)
        return law[min(units, len(law) - 1)]

    def _grown(self, units: int) -> tuple[int, ...]:
        """The law up to so many units, or up to where it stays at 1."""
        one = 1 << self.bits
        known = self._law[0]
        if len(known) > units or known[-1] == one:
            return known
        factor = _exponential_below(Fraction(self.epsilon) / self.groups)
        up, down = factor.numerator, factor.denominator
        share = (Fraction(self.delta) / self.groups * one).__floor__()
        law = list(known)
        while len(law) <= units and law[-1] < one:
            last = law[-1]
            rising = last * up // down + share
            # rounded up before it is taken away
            falling = one + (one - last - share) * down // -up
            law.append(min(rising, falling, one))
        self._law[0] = tuple(law)
        return tuple(law)


def _exponential_below(exponent: Fraction) -> Fraction:
    """A rational a little below e^exponent, and at least 1."""
    floors = Context(prec=DIGITS, rounding=ROUND_FLOOR, Emax=10**8, Emin=-(10**8))
    below = floors.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    # beyond this the law is 0, delta and 1 - tiny anyway
    below = min(below, Decimal(1000))
    # Decimal.exp is the nearest decimal whatever the rounding asked for: one step down is below
    return max(Fraction(floors.next_minus(below.exp(floors))), Fraction(1))
