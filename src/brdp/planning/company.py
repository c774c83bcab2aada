"""Plans for noise that does not stay alone: whatever a `Cost` says a release costs is what is minimised.

A cost is a black box, from a curve to a number that falls as noise grows. It may be the epsilon of a
thousand releases together, or what a filter charges. What is best alone is often poor in company, so the
closed forms of a single release do not apply: scales and weights are searched for with the cost itself.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import final

from brdp.errors import InvalidInput
from brdp.noise.base import Noise
from brdp.planning.families import Family
from brdp.planning.request import Candidate
from brdp.privacy.cost import Cost

# Relative precision of scales and weights: costs are stationary in the scale at the best one.
PRECISE = 1e-9
# The same for the weight outside, and how far it is looked for at least from that of the next scale.
WEIGHTS, FEW_WEIGHTS = 1e-6, 1e-3
WIDEST, LEAST_WEIGHT = 8.0, 1e-7
GOLDEN = (math.sqrt(5) - 1) / 2
GOLDEN_STEPS = 14
MOST_TRIALS = 60
# logs of scales beyond which no kernel is
FURTHEST = 170.0


@final
@dataclass(frozen=True)
class Company:
    """What is asked of one release among others."""

    sensitivity: float
    within: float
    cost: Cost

    def price(self, noise: Noise) -> float:
        """Return the cost of that noise at this sensitivity; infinite where a cost finds no epsilon."""
        curve = noise.privacy(sensitivity=self.sensitivity)
        try:
            price: object = self.cost(curve)
        except InvalidInput as error:
            if error.argument != "delta" or math.isfinite(curve.epsilon_or_infinity(delta=0.0)):
                raise
            return math.inf
        if not isinstance(price, Real) or not float(price) >= 0:
            raise InvalidInput(
                "cost", expected="a Cost that returns numbers, 0 or above", got=price
            )
        return float(price)


def most_acceptance(
    family: Family, company: Company, *, limit: float, recycled: bool
) -> Candidate | None:
    """The noise that is within the bound most often, of those that cost at most `limit`.

    Guarantee: `company.price` of the noise is at most `limit`.
    """

    def fits(noise: Noise) -> float:
        return company.price(noise) - limit

    def plain(scale: float) -> Noise:
        return family.member(scale, 1.0, company.sensitivity, company.within)

    narrowest = _root(
        lambda log_scale: fits(plain(math.exp(log_scale))), math.log(company.sensitivity / limit)
    )
    if narrowest is None:
        return None
    if not recycled:
        return Candidate.of(plain(math.exp(narrowest)), company.within)
    if not family.recyclable:
        return None

    solved = {narrowest: 0.0}  # the log of the least weight, by the log of the scale

    @functools.cache
    def best_at(log_scale: float) -> Candidate | None:
        """The least weight outside that a wider kernel can pay for; looked for near that of the next scale."""
        scale = math.exp(log_scale)

        def noise(log_weight: float) -> Noise:
            weight = math.exp(min(log_weight, 0.0))
            return family.member(scale, weight, company.sensitivity, company.within)

        def excess(log_weight: float) -> float:
            return math.inf if log_weight < math.log(LEAST_WEIGHT) else fits(noise(log_weight))

        if excess(0.0) > 0:
            return None
        next_to = min(solved, key=lambda other: abs(other - log_scale))
        stride = max(abs(next_to - log_scale), FEW_WEIGHTS)
        found = _root(excess, solved[next_to] - stride, step=stride, precise=WEIGHTS)
        if found is None:
            return None
        solved[log_scale] = min(found, 0.0)
        return Candidate.of(noise(found), company.within)

    def worth(log_scale: float) -> float:
        found = best_at(log_scale)
        return -math.inf if found is None else found.acceptance

    return best_at(_golden(worth, narrowest, narrowest + math.log(WIDEST)))


def least_cost(
    family: Family, company: Company, *, confidence: float, recycled: bool
) -> tuple[float, Candidate] | None:
    """(cost, noise): the cheapest noise that is within the bound at least as often as `confidence`."""

    def plain(scale: float) -> Noise:
        return family.member(scale, 1.0, company.sensitivity, company.within)

    def excess(log_scale: float) -> float:
        return plain(math.exp(log_scale)).acceptance(within=company.within) - confidence

    # acceptance falls as the scale grows: the widest plain kernel that is good enough
    widest = _root(lambda minus_log: -excess(-minus_log), -math.log(company.within))
    if widest is None:
        return None
    widest = -widest
    if not recycled:
        noise = plain(math.exp(widest))
        return company.price(noise), Candidate.of(noise, company.within)
    if not family.recyclable:
        return None

    @functools.cache
    def cheapest_at(log_scale: float) -> tuple[float, Candidate]:
        """The weight outside that makes a wider kernel just good enough: acceptance = p / Z."""
        scale = math.exp(log_scale)
        p = plain(scale).acceptance(within=company.within)
        weight = p * (1 - confidence) / (confidence * (1 - p)) * (1 - 1e-12)
        noise = family.member(scale, min(weight, 1.0), company.sensitivity, company.within)
        return company.price(noise), Candidate.of(noise, company.within)

    best = _golden(lambda s: -cheapest_at(s)[0], widest, widest + math.log(WIDEST))
    cost, candidate = cheapest_at(best)
    return None if candidate.acceptance < confidence else (cost, candidate)


def _root(
    function: Callable[[float], float], start: float, *, step: float = 0.7, precise: float = PRECISE
) -> float | None:
    """Where a falling function of a log reaches 0, on the side where it is at most 0."""
    at = start
    value = function(at)
    for _ in range(MOST_TRIALS):
        other = at + (step if value > 0 else -step)
        if abs(other) > FURTHEST:
            return None
        other_value = function(other)
        if (other_value > 0) != (value > 0):
            (low, low_value), (high, high_value) = sorted(((at, value), (other, other_value)))
            return _bracketed_root(function, low, high, low_value, high_value, precise=precise)
        at, value, step = other, other_value, 1.6 * step
    return None


def _bracketed_root(
    function: Callable[[float], float],
    low: float,
    high: float,
    low_value: float,
    high_value: float,
    *,
    precise: float,
) -> float:
    """The end of the bracket that holds: the function falls, is above 0 at `low` and at most 0 at `high`."""
    same_end = 0  # the end that moved last: 1 the high one, -1 the low one
    for _ in range(MOST_TRIALS):
        if high - low <= precise:
            break
        share = 0.5
        if math.isfinite(low_value) and high_value < 0:
            share = min(max(low_value / (low_value - high_value), 0.02), 0.98)
        middle = low + share * (high - low)
        value = function(middle)
        if value > 0:
            low, low_value = middle, value
            # Illinois: an end that stays twice counts for half, so that it does not stick
            high_value *= 0.5 if same_end == -1 else 1.0
            same_end = -1
        else:
            high, high_value = middle, value
            low_value *= 0.5 if same_end == 1 else 1.0
            same_end = 1
            if value > -precise:
                break
    return high


def _golden(worth: Callable[[float], float], low: float, high: float) -> float:
    """The best point found of a function with one peak; never worse than the ends."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    tried = {point: worth(point) for point in (low, left, right)}
    for _ in range(GOLDEN_STEPS):
        if tried[left] >= tried[right]:
            high, right = right, left
            left = high - GOLDEN * (high - low)
        else:
            low, left = left, right
            right = low + GOLDEN * (high - low)
        for point in (left, right):
            if point not in tried:
                tried[point] = worth(point)
    return max(tried, key=lambda point: tried[point])
