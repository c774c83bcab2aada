"""Filters as values: sums, limits, refusals, round trips, and prices as costs."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brdp
from brdp.errors import BudgetExceeded, InvalidInput
from brdp.privacy.filters import (
    FilterState,
    PureFilter,
    RenyiFilter,
    SumFilter,
    read_filter,
    recommended,
)
from brdp.privacy.filters.amount import UNIT_LOG2, rounded_down, rounded_up, to_float

LAPLACE = brdp.DiscreteLaplace(20.0).privacy(1)
GAUSSIAN = brdp.DiscreteGaussian(60.0).privacy(1)
FILTERS = (
    PureFilter(1.0),
    SumFilter.for_queries(epsilon=1.0, delta=1e-6, queries=100),
    RenyiFilter.for_budget(epsilon=1.0, delta=1e-6),
)
TINY = Fraction(1, 1 << -UNIT_LOG2)


@given(st.floats(min_value=0, max_value=1e9))
def test_amounts_round_towards_safety_by_less_than_a_unit(x: float) -> None:
    assert Fraction(x) <= rounded_up(x) * TINY < Fraction(x) + TINY
    assert Fraction(x) - TINY < rounded_down(x) * TINY <= Fraction(x)
    assert Fraction(to_float(rounded_up(x))) >= Fraction(x)


@pytest.mark.parametrize("filter", FILTERS)
def test_filters_survive_being_written_down(filter) -> None:
    assert read_filter(filter.to_dict()) == filter


def test_unknown_filters_are_refused() -> None:
    for data in ({"filter": "free"}, {}, None, {"filter": "pure"}):
        with pytest.raises(InvalidInput):
            read_filter(data)


@pytest.mark.parametrize("filter", FILTERS)
def test_charges_add_up_until_they_do_not_fit(filter) -> None:
    state = FilterState.start(filter)
    expected = state.remaining(filter.price(LAPLACE))
    assert expected >= 19
    for _ in range(expected):
        state = state.charge(LAPLACE)
    with pytest.raises(BudgetExceeded):
        state.charge(LAPLACE)
    assert state.epsilon <= filter.epsilon
    assert state.delta <= filter.delta
    assert state.remaining(filter.price(LAPLACE)) == 0


def test_gaussian_noise_lasts_longer_under_renyi() -> None:
    renyi = RenyiFilter.for_budget(epsilon=1.0, delta=1e-6)
    total = SumFilter.for_queries(epsilon=1.0, delta=1e-6, queries=200)
    wide = brdp.DiscreteGaussian(300.0).privacy(1)
    many = FilterState.start(renyi).remaining(renyi.price(wide))
    few = FilterState.start(total).remaining(total.price(wide))
    assert many > 10 * few


@pytest.mark.parametrize("order", (1.5, 4.0, 40.0))
def test_renyi_limits_are_the_conversion_of_the_theory(order: float) -> None:
    """Against 40 digits: a divergence at the limit converts to (epsilon, share of delta), and hardly less."""
    filter = RenyiFilter(2.0, 1e-6, (order,))
    limit = filter.alternatives[0]
    with mpmath.workdps(40):
        rho = mpmath.mpf(limit) * mpmath.mpf(2) ** UNIT_LOG2
        a = mpmath.mpf(order)
        delta = mpmath.exp((a - 1) * (rho - 2)) / (a - 1) * (1 - 1 / a) ** a
        share = mpmath.mpf(filter._share_of_delta)
        assert 1 - 1e-9 < delta / share <= 1
        assert share < mpmath.mpf(1e-6) * (1 - mpmath.mpf(1) / 16)


@pytest.mark.parametrize("epsilon", (1e-9, 1e-3, 0.5, 5.0))
@pytest.mark.parametrize("order", (1.5, 4.0, 40.0))
def test_the_price_of_an_unknown_pure_spend_is_its_worst_divergence(epsilon, order) -> None:
    filter = RenyiFilter(9.0, 1e-6, (order,))
    price = to_float(filter.price_of_spend(epsilon=epsilon, delta=0)[0])
    with mpmath.workdps(40):
        a, e = mpmath.mpf(order), mpmath.mpf(epsilon)
        p = mpmath.exp(e) / (1 + mpmath.exp(e))
        truth = mpmath.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1)
        assert truth <= price <= truth * mpmath.mpf("1.5")


def test_a_pure_budget_refuses_what_is_not_exact() -> None:
    filter = PureFilter(1.0)
    with pytest.raises(InvalidInput, match="exact sampler"):
        filter.price(LAPLACE, tau=Fraction(1, 1 << 90))
    with pytest.raises(BudgetExceeded):
        FilterState.start(filter).charge(GAUSSIAN)
    with pytest.raises(BudgetExceeded):
        FilterState.start(filter).pay(filter.price_of_spend(epsilon=0.1, delta=1e-9))


@pytest.mark.parametrize("filter", FILTERS[1:])
def test_tau_is_paid_from_its_reserve(filter) -> None:
    """(1 + e^epsilon) times the sum of taus never exceeds the reserved share, and what exceeds it is refused."""
    limit = filter.common[-1] * TINY
    share = Fraction(filter.delta) / 1024
    assert share * Fraction(999, 1000) < (1 + Fraction(math.e)) * limit <= share
    FilterState.start(filter).charge(LAPLACE, tau=limit)
    with pytest.raises(BudgetExceeded):
        FilterState.start(filter).charge(LAPLACE, tau=limit + TINY)


@pytest.mark.parametrize("filter", FILTERS)
@pytest.mark.parametrize("bad", ((), (-1,), (0.5,), (True,), (math.nan,), None, (1,) * 9))
def test_prices_that_no_filter_names_are_refused(filter, bad) -> None:
    with pytest.raises(InvalidInput):
        FilterState.start(filter).pay(bad)


@pytest.mark.parametrize("filter", FILTERS)
def test_a_batch_composed_tightly_costs_no_more_than_its_parts(filter) -> None:
    batch = FilterState.start(filter).charge(brdp.compose({LAPLACE: 5}))
    apart = FilterState.start(filter)
    for _ in range(5):
        apart = apart.charge(LAPLACE)
    first = len(filter.alternatives)
    assert all(
        b <= a * (1 + Fraction(1, 10**9))
        for a, b in zip(apart.spent[:first], batch.spent[:first], strict=True)
    )


@pytest.mark.parametrize("filter", FILTERS)
def test_the_cost_is_the_share_of_the_budget(filter) -> None:
    cost = filter.cost()(LAPLACE)
    count = FilterState.start(filter).remaining(filter.price(LAPLACE))
    assert count <= filter.epsilon / cost < count + 1
    assert filter.cost()(brdp.DiscreteLaplace(10.0).privacy(1)) > cost


def test_plans_for_a_filter_minimise_what_it_charges() -> None:
    """A staircase is best alone and poor in company."""
    filter = RenyiFilter.for_budget(epsilon=1.0, delta=1e-6)
    asked = {"sensitivity": 4, "within": 60, "confidence": 0.9, "integer": True}
    alone = brdp.plan(**asked, delta=1e-8)
    company = brdp.plan(**asked, delta=1e-8, cost=filter.cost())
    cost = filter.cost()
    assert cost(company.noise.privacy(4)) <= cost(alone.noise.privacy(4)) * (1 + 1e-6)
    assert company.noise.acceptance(within=60) >= 0.9


@pytest.mark.parametrize("filter", FILTERS)
def test_narrowed_filters_name_the_same_prices(filter) -> None:
    narrow = filter.narrowed(epsilon=0.5, delta=filter.delta / 2)
    assert narrow.price(LAPLACE) == filter.price(LAPLACE)
    assert narrow.epsilon == 0.5


@pytest.mark.parametrize("filter", FILTERS)
def test_the_millionth_charge_adds_numbers_as_long_as_the_first(filter) -> None:
    """O(1): sums stay whole numbers of a bounded number of bits, exact to the last; seconds are for benchmarks/."""
    price = tuple(amount // 10**9 + 1 for amount in filter.price(LAPLACE))
    state = FilterState.start(filter)
    for _ in range(100):
        state = state.pay(price)
    assert state.spent == tuple(100 * amount for amount in price)
    late = FilterState(filter, tuple(1_000_000 * amount for amount in price)).pay(price)
    assert late.spent == tuple(1_000_001 * amount for amount in price)
    assert all(
        a.bit_length() <= b.bit_length() + 14 for a, b in zip(late.spent, state.spent, strict=True)
    )


@pytest.mark.parametrize("moves", (1, 2, 5))
@pytest.mark.parametrize("queries", (1, 3, 10, 30, 100, 1000))
def test_the_recommended_filter_lets_each_question_have_less_noise(
    queries: int, moves: int
) -> None:
    """Against the noise itself: the least Laplace noise of which so many questions fit, by either filter."""
    filters = {
        SumFilter: SumFilter.for_queries(epsilon=1.0, delta=1e-6, queries=queries),
        RenyiFilter: RenyiFilter.for_budget(epsilon=1.0, delta=1e-6),
    }

    def least_scale(filter) -> float:
        low, high = 0.1 * queries * moves, 2.0 * queries * moves
        for _ in range(12):
            middle = (low + high) / 2
            curve = brdp.DiscreteLaplace(middle).privacy(1)
            price = filter.price(curve if moves == 1 else brdp.compose({curve: moves}))
            if filter.remaining(filter.empty, price) >= queries:
                high = middle
            else:
                low = middle
        return high

    scales = {kind: least_scale(filter) for kind, filter in filters.items()}
    found = type(recommended(epsilon=1.0, delta=1e-6, queries=queries, moves=moves))
    assert scales[found] <= 1.15 * min(scales.values())
    assert found == (RenyiFilter if queries * moves >= 20 else SumFilter)
    assert recommended(epsilon=1.0, delta=0, queries=queries, moves=moves) == PureFilter(1.0)
