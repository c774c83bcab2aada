"""Numbers as people write them, held exactly.

A sensitivity computed in floats may come out a hair too small, so everything that decides one is a
Fraction. A float is read as the decimal it prints as: 0.1 in Python, in brdp.toml and in SQL is one
tenth, and the three mean the same query.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Integral

from brdp.errors import InvalidInput

# Far beyond any use, small enough that no arithmetic on them can be made to take long.
LARGEST_EXPONENT = 300

Number = int | float | Decimal | Fraction


def exact(value: object, *, argument: str, expected: str = "a finite number") -> Fraction:
    """The number as a Fraction; a float counts as its shortest decimal form."""
    refusal = InvalidInput(argument, expected=expected, got=value)
    if isinstance(value, bool):
        raise refusal
    if isinstance(value, Fraction):
        number = value
    elif isinstance(value, Integral):  # numpy's too
        number = Fraction(int(value))
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise refusal
        number = Fraction(repr(float(value)))
    elif isinstance(value, Decimal):
        if not value.is_finite() or abs(value.adjusted()) > LARGEST_EXPONENT:
            raise refusal
        number = Fraction(value)
    else:
        raise refusal
    if number != 0 and not (
        Fraction(1, 10**LARGEST_EXPONENT) <= abs(number) <= 10**LARGEST_EXPONENT
    ):
        raise refusal
    return number


def text_of(number: Fraction) -> str:
    """The number as people write it: 20, 0.5, -1.25; a ratio only where no short decimal exists."""
    if number.denominator == 1:
        return str(number.numerator)
    decimal = repr(float(number))
    return decimal if Fraction(decimal) == number else f"{number.numerator}/{number.denominator}"
