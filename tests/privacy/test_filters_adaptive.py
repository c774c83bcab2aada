"""Filters against an analyst who adapts as well as anybody can: exhaustive, in exact arithmetic."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import pytest

from brdp.errors import BudgetExceeded
from brdp.privacy.filters import Filter, FilterState, PureFilter, RenyiFilter, SumFilter
from tests.privacy.adaptive import Mechanism, Rule, advantage, composed_delta, leaking, response

DEPTH = 5
MENUS = {
    "responses": (response(2), response(4)),
    "weak and strong": (response(Fraction(5, 4)), response(5)),
    "leaks": (
        response(Fraction(3, 2)),
        response(6),
        leaking(1, Fraction(1, 20)),
        leaking(2, Fraction(1, 50)),
    ),
    "lopsided": (
        Mechanism((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 5), Fraction(4, 5))),
        response(2),
    ),
}
GROWTHS = (2, 4, 6)


def just(growth: int) -> float:
    """The largest epsilon whose e^epsilon is certainly no more than growth."""
    return math.log(growth) * (1 - 1e-15)


def rule_of(filter: Filter) -> Rule:
    @functools.cache
    def price(mechanism: Mechanism):
        return filter.price(mechanism.curve)

    def rule(state, mechanism):
        try:
            return FilterState(filter, state).pay(price(mechanism)).spent
        except BudgetExceeded:
            return None

    return rule


def filters(growth: int) -> dict[str, Filter]:
    epsilon = just(growth)
    return {
        "sum": SumFilter(epsilon, 0.1, 0.02),
        "sum, one delta": SumFilter(epsilon, 0.1, 0.09),
        "renyi": RenyiFilter(epsilon, 0.1, (1.5, 3.0, 8.0)),
        "renyi, one order": RenyiFilter(epsilon, 0.2, (4.0,)),
    }


@pytest.mark.parametrize("menu", MENUS)
@pytest.mark.parametrize("growth", GROWTHS)
def test_a_pure_filter_gives_nothing_beyond_epsilon(menu: str, growth: int) -> None:
    filter = PureFilter(just(growth))
    found = advantage(
        rule_of(filter), filter.empty, MENUS[menu], growth=Fraction(growth), depth=DEPTH
    )
    assert found == 0


@pytest.mark.parametrize("menu", MENUS)
@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("name", filters(2))
def test_filters_with_delta_give_no_more_than_delta(menu: str, growth: int, name: str) -> None:
    filter = filters(growth)[name]
    found = advantage(
        rule_of(filter), filter.empty, MENUS[menu], growth=Fraction(growth), depth=DEPTH
    )
    assert found <= Fraction(filter.delta)


def test_some_filter_is_used_up() -> None:
    """The bounds above would hold for a filter that refuses everything: these do not."""
    for growth in GROWTHS:
        for filter in filters(growth).values():
            state = FilterState.start(filter)
            assert state.remaining(filter.price(response(Fraction(5, 4)).curve)) >= 1


def forgetful(filter: Filter) -> Rule:
    """The control: forgets its first charge."""
    inner = rule_of(filter)

    def rule(state, mechanism):
        first, spent = state
        after = inner(spent, mechanism)
        if after is None:
            return None
        return (False, spent if first else after)

    return rule


@pytest.mark.parametrize("growth", GROWTHS)
def test_control_a_filter_that_forgets_a_charge_is_caught(growth: int) -> None:
    # a hair more than log(growth), so that one response of these odds fits
    enough = math.log(growth) * (1 + 1e-9)
    filter = PureFilter(enough)
    menu = (response(2), response(growth))
    found = advantage(
        forgetful(filter), (True, filter.empty), menu, growth=Fraction(growth), depth=DEPTH
    )
    assert found > 0
    lossy = RenyiFilter(enough, 0.01, (30.0,))
    menu = (response(growth),)
    found = advantage(
        forgetful(lossy), (True, lossy.empty), menu, growth=Fraction(growth), depth=DEPTH
    )
    assert found > Fraction(lossy.delta)


def drifting(odds: Fraction | int, tau: Fraction) -> Mechanism:
    """A response whose sampler is `tau` away from its law: with that chance it draws what shows the truth."""
    inner = response(odds)
    return Mechanism(
        (tau, Fraction(0), *((1 - tau) * p for p in inner.under_p)),
        (Fraction(0), tau, *((1 - tau) * q for q in inner.under_q)),
    )


# delta, and a distance of which a 1024th of it pays for a few
TIGHT_DELTA, TAU = 1e-3, Fraction(1, 2**24)
TAU_ODDS = (Fraction(11, 10), Fraction(3, 2), Fraction(5))


def paying(filter: Filter, *, tau: Fraction) -> Rule:
    """A rule that prices the law stated, and pays so much for the distance of the sampler from it."""
    prices = {drifting(odds, TAU): filter.price(response(odds).curve, tau=tau) for odds in TAU_ODDS}

    def rule(state, mechanism):
        try:
            return FilterState(filter, state).pay(prices[mechanism]).spent
        except BudgetExceeded:
            return None

    return rule


TAU_MENU = tuple(drifting(odds, TAU) for odds in TAU_ODDS)
TAU_FILTERS = {
    # epsilon is used up by the laws stated: what the distances add is paid from the reserve
    "sum": lambda growth: SumFilter(just(growth), TIGHT_DELTA, 1e-9),
    "renyi": lambda growth: RenyiFilter(just(growth), TIGHT_DELTA, (4.0, 30.0)),
}


@pytest.mark.parametrize("growth", (2, 4, 8))
@pytest.mark.parametrize("name", TAU_FILTERS)
def test_what_samplers_are_off_is_paid_from_the_reserve(growth: int, name: str) -> None:
    """The law drawn is not the law stated: the whole is private all the same, and distances use the reserve alone."""
    filter = TAU_FILTERS[name](growth)
    found = advantage(
        paying(filter, tau=TAU), filter.empty, TAU_MENU, growth=Fraction(growth), depth=DEPTH
    )
    assert 0 < found <= Fraction(filter.delta)
    if name == "sum":  # no delta went to the laws themselves
        assert found <= Fraction(filter.delta) / 1024
    price = filter.price(response(TAU_ODDS[0]).curve, tau=TAU)
    assert 1 <= filter.remaining(filter.empty, price) <= 5  # the reserve is what binds
    assert filter.remaining(filter.empty, (*price[:-1], 0)) > filter.remaining(filter.empty, price)


def test_control_distances_that_nobody_pays_are_caught() -> None:
    filter = SumFilter(math.log(1 << 10), 1e-9, 1e-12)
    found = advantage(
        paying(filter, tau=Fraction(0)),
        filter.empty,
        TAU_MENU,
        growth=Fraction(1 << 10),
        depth=DEPTH,
    )
    assert found > Fraction(filter.delta)


def test_a_naive_stopping_rule_by_composed_curves_overspends() -> None:
    """Going on while the curves chosen so far compose to at most delta is not a filter.

    Here, for epsilon = log 3, an adaptive analyst gets 1.6 times the delta that was promised: exact figures.
    """
    menu = (response(Fraction(3, 2)), response(6), leaking(1, Fraction(1, 20)))
    growth, delta = Fraction(3), Fraction(33, 625)
    composed = functools.cache(lambda chosen: composed_delta(chosen, growth))

    def naive(state, mechanism):
        chosen = tuple(sorted((*state, mechanism), key=repr))
        return chosen if composed(chosen) <= delta else None

    found = advantage(naive, (), menu, growth=growth, depth=DEPTH)
    assert found / delta > Fraction(3, 2)
