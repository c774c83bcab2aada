"""The least epsilon that gives an acceptance."""

from __future__ import annotations

import math
from collections.abc import Callable

from brdp.planning.families import Family
from brdp.planning.request import Budget, Candidate

LEAST, MOST = 1e-12, 500.0
PRECISE = 1e-7


def least_epsilon(
    family: Family,
    *,
    sensitivity: float,
    within: float,
    confidence: float,
    delta: float,
    recycled: bool,
) -> tuple[float, Candidate] | None:
    """(epsilon, noise): about the least budget at which the family's noise reaches the confidence.

    Guarantee: the noise's acceptance is at least `confidence`, and it is (epsilon, delta)-private.
    """
    if delta == 0 and not family.can_be_pure:
        return None

    def budget(epsilon: float) -> Budget:
        return Budget(sensitivity, within, epsilon, delta)

    def short(log_epsilon: float) -> float:
        found = family.found(budget(math.exp(log_epsilon)), recycled=recycled)
        return _logit(confidence) - _logit(found)

    epsilon = math.exp(_falling_root(short, math.log(LEAST), math.log(MOST)))
    # the search is not certified: pay a little more until the certified noise reaches the confidence
    more = PRECISE
    while more < 1:
        candidate = family.plan(budget(epsilon * (1 + more)), recycled=recycled)
        if candidate is not None and candidate.acceptance >= confidence:
            exact = candidate.noise.privacy(sensitivity=sensitivity).epsilon(delta=delta)
            return exact, candidate
        more *= 4
    return None


def _logit(p: float) -> float:
    p = min(max(p, 1e-300), 1 - 1e-16)
    return math.log(p / (1 - p))


def _falling_root(function: Callable[[float], float], low: float, high: float) -> float:
    """The end where the function is at most 0 of a bracket around its root; it must fall."""
    at = 0.0
    value = function(at)
    # walk from epsilon = 1 to a bracket: far cheaper than the whole range
    step = 0.7
    other, other_value = at, value
    while low < other < high and (other_value > 0) == (value > 0):
        at, value = other, other_value
        other += step if value > 0 else -step
        step *= 1.5
        other = min(max(other, low), high)
        other_value = function(other)
    (left, left_value), (right, right_value) = sorted([(at, value), (other, other_value)])
    for _ in range(60):
        if right - left < PRECISE:
            break
        share = 0.5
        if left_value > 0 >= right_value and math.isfinite(left_value - right_value):
            share = left_value / (left_value - right_value)
            share = min(max(share, 0.01), 0.99)
        middle = left + share * (right - left)
        value = function(middle)
        if value > 0:
            left, left_value = middle, value
            right_value /= 2  # Illinois: keep the far end from sticking
        else:
            right, right_value = middle, value
            left_value /= 2
    return right
