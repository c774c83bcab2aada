"""What counts prove: exact confidence bounds on a probability, on epsilon and on delta."""

from __future__ import annotations

import math

from scipy import special

# The inverse beta function is off by less than this; bounds are moved outward by it.
ROUNDING = 1e-12


def least_probability(count: int, size: int, *, alarm: float) -> float:
    """Clopper-Pearson: a number that is above the true probability with probability at most `alarm`."""
    if count == 0:
        return 0.0
    return float(special.betaincinv(count, size - count + 1, alarm)) * (1 - ROUNDING)


def largest_probability(count: int, size: int, *, alarm: float) -> float:
    """Clopper-Pearson: a number that is below the true probability with probability at most `alarm`."""
    if count == size:
        return 1.0
    return min(1.0, float(special.betainccinv(count + 1, size - count, alarm)) * (1 + ROUNDING))


def least_epsilon(often: float, seldom: float, *, delta: float) -> float:
    """Return the least epsilon for which `often` <= e^epsilon `seldom` + delta, at least 0."""
    if often <= delta:
        return 0.0
    return math.inf if seldom == 0 else max(0.0, math.log((often - delta) / seldom))


def least_delta(often: float, seldom: float, *, epsilon: float) -> float:
    """Return the least delta for which `often` <= e^epsilon `seldom` + delta, at least 0."""
    # e^epsilon seldom, in logs so that a large epsilon does not overflow
    grown = math.exp(min(0.0, epsilon + math.log(seldom))) if seldom > 0 else 0.0
    return max(0.0, often - grown)
