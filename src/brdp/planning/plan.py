"""`plan`: the noise that is within a bound as often as a budget allows, or as cheaply as it can be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from brdp import _validate
from brdp.errors import InvalidInput, NotPossible
from brdp.planning.company import Company, least_cost, most_acceptance
from brdp.planning.families import ON_THE_INTEGERS, ON_THE_REALS, Family
from brdp.planning.inverse import least_epsilon
from brdp.planning.request import Budget, Candidate
from brdp.planning.result import Alternative, Plan
from brdp.privacy.cost import Cost, EpsilonOfMany

# What recycling must add, in log odds of acceptance or in log epsilon, to be worth its while.
NEXT_TO_NOTHING = 1e-4
# Certified noise ends a few roundings on the private side: less than this is no difference.
ROUNDING = 1e-9
# Where a miss is rarer than this, rounding has the last word.
RAREST_MISS = 1e-16
LARGEST_RATIO, LARGEST_EPSILON, LEAST_DELTA = 1e9, 500.0, 1e-290
COST_REMEDY = "A cost of your own may count releases itself: see brdp.privacy.cost.EpsilonOfMany."


def plan(
    *,
    sensitivity: float,
    within: float,
    epsilon: float | None = None,
    confidence: float | None = None,
    delta: float = 0.0,
    kernel: str = "auto",
    integer: bool = False,
    count: int = 1,
    cost: Cost | None = None,
) -> Plan:
    """Find the best noise for a stated error bound.

    With `epsilon`, the plan's noise is within the bound as often as (epsilon, delta) allows. With
    `confidence`, it is within the bound at least that often, for the least epsilon at delta.

    Args:
        sensitivity: by how much the query may differ between neighbouring inputs.
        within: the error bound theta: an answer is good if its noise is at most that, either way.
        epsilon: the budget; or else
        confidence: the probability of being within the bound, in (0, 1).
        delta: 0 is allowed and means pure; kernels that cannot be pure are then left out.
        kernel: "auto", "laplace", "gaussian" or "staircase".
        integer: plan noise on the integers, for counts and for releases on a lattice.
        count: how many releases, each with this noise and on the same data, share the budget.
        cost: what a release costs, from its curve; default: the epsilon at delta of `count` of them.
            With a cost of your own, `epsilon` is its limit, and `plan.epsilon` what it comes to.

    Guarantee: `plan.noise` is (plan.epsilon, plan.delta)-private for every pair of neighbouring inputs on
    which the query differs by at most `sensitivity` (in whole steps, on the integers), by its exact curve;
    with `count`, that many of them together are, by certified composition. With a cost of your own the
    guarantee is that the cost of the noise's curve is at most `plan.epsilon`.
    `plan.acceptance` is the probability that the noise is within the bound; it speaks of noise alone.
    """
    sensitivity = _validate.positive(sensitivity=sensitivity)
    within = _validate.positive(within=within)
    delta = _validate.below_one(delta=delta)
    if not isinstance(integer, bool | np.bool_):
        raise InvalidInput("integer", expected="True or False", got=integer)
    if integer:
        sensitivity = float(
            _validate.whole(
                sensitivity=sensitivity, remedy="With integer=True it counts whole steps."
            )
        )
        if within < 1:
            raise InvalidInput(
                "within",
                expected="a bound of at least one step, which is 1 with integer=True",
                got=within,
                remedy="Widen the bound, or plan on a finer lattice.",
            )
    _require_range(sensitivity, within, epsilon, delta)
    families = _families(kernel, integer=integer, delta=delta)
    count = _validate.whole(count=count)
    if cost is not None and not callable(cost):
        raise InvalidInput(
            "cost",
            expected="a Cost: a function from a curve to a number",
            got=cost,
            remedy=COST_REMEDY,
        )
    if cost is not None and count > 1:
        raise InvalidInput(
            "cost", expected="a cost or a count above 1", got=(cost, count), remedy=COST_REMEDY
        )
    if (epsilon is None) == (confidence is None):
        raise InvalidInput(
            "epsilon, confidence", expected="exactly one of them", got=(epsilon, confidence)
        )
    if epsilon is not None:
        epsilon = _validate.positive(epsilon=epsilon)
    else:
        confidence = _validate.between_zero_and_one(confidence=confidence)
    integer = bool(integer)
    alone = count == 1 and cost is None
    company = Company(sensitivity, within, cost or EpsilonOfMany(count, delta))
    alternatives = []
    for name, family in families.items():
        for recycled in (False, True):
            found: tuple[float, Candidate] | None
            try:
                if epsilon is None:
                    found = _cheapest(
                        family, company, confidence or 0.0, delta, recycled, alone=alone
                    )
                else:
                    found = _most(family, company, epsilon, delta, recycled, alone=alone)
            except NotPossible:
                # one kernel that cannot be accounted for leaves the others to choose from
                if len(families) == 1:
                    raise
                continue
            if found is not None:
                price, candidate = found
                alternatives.append(
                    Alternative(name, recycled, candidate.noise, candidate.acceptance, price)
                )
    best = _best(alternatives, worth=_thrift if epsilon is None else _log_odds)
    return Plan(
        noise=best.noise,
        sensitivity=sensitivity,
        within=within,
        acceptance=best.acceptance,
        epsilon=best.epsilon,
        delta=delta,
        integer=integer,
        alternatives=tuple(alternatives),
        count=count,
    )


def _most(
    family: Family, company: Company, epsilon: float, delta: float, recycled: bool, *, alone: bool
) -> tuple[float, Candidate] | None:
    """The promised epsilon, and the noise that is within the bound most often for it."""
    if alone:
        budget = Budget(company.sensitivity, company.within, epsilon, delta)
        candidate = family.plan(budget, recycled=recycled)
    else:
        candidate = most_acceptance(family, company, limit=epsilon, recycled=recycled)
    return None if candidate is None else (epsilon, candidate)


def _cheapest(
    family: Family,
    company: Company,
    confidence: float,
    delta: float,
    recycled: bool,
    *,
    alone: bool,
) -> tuple[float, Candidate] | None:
    """The least cost, and the noise that reaches the confidence for it."""
    if not alone:
        return least_cost(family, company, confidence=confidence, recycled=recycled)
    return least_epsilon(
        family,
        sensitivity=company.sensitivity,
        within=company.within,
        confidence=confidence,
        delta=delta,
        recycled=recycled,
    )


def _require_range(sensitivity: float, within: float, epsilon: object, delta: float) -> None:
    """Refuse what double precision cannot plan for."""
    if not 1 / LARGEST_RATIO <= within / sensitivity <= LARGEST_RATIO:
        raise InvalidInput(
            "within",
            expected=f"a bound within a factor of {LARGEST_RATIO:.0e} of the sensitivity",
            got=within,
        )
    if 0 < delta < LEAST_DELTA:
        raise InvalidInput("delta", expected=f"0, or at least {LEAST_DELTA:g}", got=delta)
    if isinstance(epsilon, int | float) and epsilon > LARGEST_EPSILON:
        raise InvalidInput(
            "epsilon",
            expected=f"at most {LARGEST_EPSILON:g}",
            got=epsilon,
            remedy="That much protects nobody.",
        )


def _families(kernel: str, *, integer: bool, delta: float) -> Mapping[str, Family]:
    known = ON_THE_INTEGERS if integer else ON_THE_REALS
    if not isinstance(kernel, str):
        raise InvalidInput("kernel", expected=f"one of auto, {', '.join(known)}", got=kernel)
    if kernel == "auto":
        return {name: family for name, family in known.items() if delta > 0 or family.can_be_pure}
    if kernel not in known:
        raise InvalidInput("kernel", expected=f"one of auto, {', '.join(known)}", got=kernel)
    if delta == 0 and not known[kernel].can_be_pure:
        raise InvalidInput(
            "delta",
            expected="a number above 0 for a Gaussian kernel, whose loss has no bound",
            got=delta,
            remedy="Give a delta such as 1e-6, or let kernel='auto' choose one that can be pure.",
        )
    return {kernel: known[kernel]}


def _best(alternatives: list[Alternative], *, worth: Callable[[Alternative], float]) -> Alternative:
    """The alternative of most worth; where recycling adds next to nothing, the best plain one."""
    if not alternatives:
        raise NotPossible(
            "No noise of the asked kind meets this request. Try kernel='auto', a wider bound or a "
            "larger epsilon."
        )
    best = _first_best(alternatives, worth=worth)
    plain = [a for a in alternatives if not a.recycled]
    if plain and best.recycled:
        simpler = _first_best(plain, worth=worth)
        if worth(best) - worth(simpler) <= NEXT_TO_NOTHING:
            return simpler
    return best


def _first_best(
    alternatives: list[Alternative], *, worth: Callable[[Alternative], float]
) -> Alternative:
    """The first of those that differ from the best by rounding alone."""
    most = max(worth(a) for a in alternatives)
    return next(a for a in alternatives if worth(a) >= most - ROUNDING)


def _log_odds(alternative: Alternative) -> float:
    """Acceptance on a scale where the last nines count as much as the first."""
    missed = max(1 - alternative.acceptance, RAREST_MISS)
    return math.log(max(alternative.acceptance, 1e-300) / missed)


def _thrift(alternative: Alternative) -> float:
    return -math.log(max(alternative.epsilon, 1e-300))
