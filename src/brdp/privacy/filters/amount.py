"""Amounts of privacy as whole numbers of a tiny unit, so that sums are exact and no charge is lost in rounding.

A charge rounds up to the unit, a limit rounds down: whatever is granted fits with room to spare. Amounts
have a fixed number of bits, so a sum over a million charges costs no more than one over ten.
"""

from __future__ import annotations

import math
from fractions import Fraction

UNIT_LOG2 = -200
# Beyond every budget there is: amounts stop here, and what stops here never fits.
INFINITE = 1 << 600


def rounded_up(amount: float | Fraction) -> int:
    """The least number of units that is at least `amount`; infinity and NaN never fit any limit."""
    if isinstance(amount, float) and not math.isfinite(amount):
        return INFINITE
    return min(math.ceil(Fraction(amount) * (1 << -UNIT_LOG2)), INFINITE)


def rounded_down(limit: float | Fraction) -> int:
    """The largest number of units that is at most `limit`."""
    return min(math.floor(Fraction(limit) * (1 << -UNIT_LOG2)), INFINITE - 1)


def to_float(amount: int) -> float:
    """The amount as a float, rounded up."""
    if amount >= INFINITE:
        return math.inf
    exact = Fraction(amount, 1 << -UNIT_LOG2)
    value = float(exact)
    return value if Fraction(value) >= exact else math.nextafter(value, math.inf)


def added(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """The sum, component by component."""
    return tuple(min(a + b, INFINITE) for a, b in zip(left, right, strict=True))
