"""Exponentials in fixed point, with a stated error.

A number x in [0, 1] is held as an integer near x * 2^BITS; one unit of it is called an ulp here.
"""

from __future__ import annotations

import decimal
from fractions import Fraction

BITS = 256
ONE = 1 << BITS
# What exp_minus may be off by, in ulps.
EXP_ERROR = 2

# 2^-256 is 8.6e-78. At 100 digits, dividing costs a relative 1e-100 of the exponent, which changes the result
# by at most max(x exp(-x)) 1e-100; exp itself is correctly rounded (the decimal specification asks for it and
# libmpdec does it). Both are far below an ulp, so truncation to an integer stays within EXP_ERROR.
_CONTEXT = decimal.Context(
    prec=100,
    Emin=decimal.MIN_EMIN,
    Emax=decimal.MAX_EMAX,
    rounding=decimal.ROUND_HALF_EVEN,
    traps=[],
)
_SCALE = decimal.Decimal(ONE)


def exp_minus(x: Fraction) -> int:
    """Return exp(-x) for x >= 0 in ulps, off by at most EXP_ERROR and never above ONE."""
    exponent = _CONTEXT.divide(decimal.Decimal(-x.numerator), decimal.Decimal(x.denominator))
    if exponent < -BITS:  # exp(-256) is 2^-369
        return 0
    value = _CONTEXT.multiply(_CONTEXT.exp(exponent), _SCALE)
    return min(ONE, int(value))


def weight(share: Fraction) -> int:
    """Return a share in [0, 1] in ulps, rounded down (off by less than 1)."""
    return (share.numerator << BITS) // share.denominator
