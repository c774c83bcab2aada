"""`plan`: the noise that is within a bound as often as a budget allows, or as cheaply as it can be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from brdp import _validate
from brdp.errors import InvalidInput, NotPossible
from brdp.planning.families import ON_THE_INTEGERS, ON_THE_REALS, Family
from brdp.planning.inverse import least_epsilon
from brdp.planning.request import Budget, Candidate
from brdp.planning.result import Alternative, Plan
from brdp.privacy.cost import Cost

# What recycling must add, in log odds of acceptance or in log epsilon, to be worth its while.
NEXT_TO_NOTHING = 1e-4
# Certified noise ends a few roundings on the private side: less than this is no difference.
ROUNDING = 1e-9


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
        count: how many releases share the budget; more than 1 is not possible yet.
        cost: what a release costs, from its curve; not possible yet for anything but the default, the
            epsilon of the single release at delta.

    Guarantee: `plan.noise` is (plan.epsilon, plan.delta)-private for every pair of neighbouring inputs on
    which the query differs by at most `sensitivity` (in whole steps, on the integers), by its exact curve.
    `plan.acceptance` is the probability that the noise is within the bound; it speaks of noise alone.
    """
    sensitivity = _validate.positive(sensitivity=sensitivity)
    within = _validate.positive(within=within)
    delta = _validate.below_one(delta=delta)
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
    families = _families(kernel, integer=integer, delta=delta)
    count = _validate.whole(count=count)
    if count > 1 or cost is not None:
        raise NotPossible(
            "count above 1 and a cost of your own need composition, which is to come."
        )
    if (epsilon is None) == (confidence is None):
        raise InvalidInput(
            "epsilon, confidence", expected="exactly one of them", got=(epsilon, confidence)
        )
    if epsilon is not None:
        budget = Budget(sensitivity, within, _validate.positive(epsilon=epsilon), delta)
        return _most_acceptance(families, budget, integer=integer)
    confidence = _validate.between_zero_and_one(confidence=confidence)
    return _least_epsilon(
        families,
        sensitivity=sensitivity,
        within=within,
        confidence=confidence,
        delta=delta,
        integer=integer,
    )


def _families(kernel: str, *, integer: bool, delta: float) -> Mapping[str, Family]:
    known = ON_THE_INTEGERS if integer else ON_THE_REALS
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


def _most_acceptance(families: Mapping[str, Family], budget: Budget, *, integer: bool) -> Plan:
    alternatives = []
    for name, family in families.items():
        for recycled in (False, True):
            candidate = family.plan(budget, recycled=recycled)
            if candidate is not None:
                alternatives.append(
                    Alternative(
                        name, recycled, candidate.noise, candidate.acceptance, budget.epsilon
                    )
                )
    best = _best(alternatives, worth=_log_odds)
    return Plan(
        noise=best.noise,
        sensitivity=budget.sensitivity,
        within=budget.within,
        acceptance=best.acceptance,
        epsilon=budget.epsilon,
        delta=budget.delta,
        integer=integer,
        alternatives=tuple(alternatives),
    )


def _least_epsilon(
    families: Mapping[str, Family],
    *,
    sensitivity: float,
    within: float,
    confidence: float,
    delta: float,
    integer: bool,
) -> Plan:
    alternatives = []
    for name, family in families.items():
        for recycled in (False, True):
            found: tuple[float, Candidate] | None = least_epsilon(
                family,
                sensitivity=sensitivity,
                within=within,
                confidence=confidence,
                delta=delta,
                recycled=recycled,
            )
            if found is not None:
                epsilon, candidate = found
                alternatives.append(
                    Alternative(name, recycled, candidate.noise, candidate.acceptance, epsilon)
                )
    best = _best(alternatives, worth=_thrift)
    return Plan(
        noise=best.noise,
        sensitivity=sensitivity,
        within=within,
        acceptance=best.acceptance,
        epsilon=best.epsilon,
        delta=delta,
        integer=integer,
        alternatives=tuple(alternatives),
    )


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
    missed = 1 - alternative.acceptance
    return math.inf if missed <= 0 else math.log(alternative.acceptance / missed)


def _thrift(alternative: Alternative) -> float:
    return -math.log(max(alternative.epsilon, 1e-300))
