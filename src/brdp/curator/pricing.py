"""The price of a question, and where it cannot be paid, the nearest bound that can. Reads no data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from brdp.catalog.table import Table
from brdp.curator.answer import shown
from brdp.curator.found import found_of
from brdp.curator.means import rows_promised
from brdp.curator.prepare import Prepared, prepare
from brdp.curator.promise import promised
from brdp.curator.release import up_to_float
from brdp.curator.results import Nearest, OfAllRows, Price
from brdp.errors import InvalidInput, NotPossible
from brdp.ledger import BudgetStatus
from brdp.privacy.filters import Amounts, Filter
from brdp.query.aggregate import Mean
from brdp.query.model import Query

# For how many rows the price of a mean is shown where nobody said.
ROWS = (100, 1_000, 10_000, 100_000)
WIDEST = 128  # bounds are widened up to 2^128 times
REFINEMENTS = 5
WIDER = Fraction(9, 8)  # where the sampler's distance was one too many


def price_of(query: Query, table: Table, *, budgets: Sequence[BudgetStatus], free: bool) -> Price:
    """What a resolved question costs, against the budgets that cover whoever asks."""
    filter = budgets[0].filter
    clauses = _lacking(query, table)
    if clauses:
        return _by_rows(query, table, filter, clauses)
    try:
        prepared = prepare(query, table, filter)
    except NotPossible:
        nearest = _nearest(query, table, budgets) if query.epsilon is None else None
        if nearest is None:
            raise
        return _out_of_reach(nearest=nearest)
    price = prepared.price(filter)
    remaining = _remaining(budgets, price)
    bounds, kept = _promised(prepared)
    reachable = remaining > 0
    nearest = None
    if not reachable and query.epsilon is None and _naming_fits(prepared, budgets):
        nearest = _nearest(query, table, budgets)
    return Price(
        epsilon=filter.epsilon_of(price),
        delta=filter.delta_of(price),
        acceptance=min(kept.values()),
        bounds=bounds,
        kept=kept,
        remaining_queries=remaining,
        reachable=reachable or free,
        free=free,
        nearest=nearest,
        sample=None if query.sample is None else _of_all_rows(query, table, filter),
        found=None if prepared.selection is None else found_of(prepared.selection, query),
    )


def _of_all_rows(query: Query, table: Table, filter: Filter) -> OfAllRows:
    """What the sample costs in error: the same question of all rows."""
    rate, whole = float(query.sampling_rate or 1), replace(query, sample=None)
    try:
        prepared = prepare(whole, table, filter)
    except NotPossible:
        return OfAllRows(rate, None, {})
    if query.epsilon is None:
        return OfAllRows(rate, filter.epsilon_of(prepared.price(filter)), {})
    return OfAllRows(rate, None, _promised(prepared)[0])


def _lacking(query: Query, table: Table) -> tuple[str, ...]:
    """The clauses without which a bound has no price: nothing public says how many rows there are."""
    if query.epsilon is not None:
        return ()
    found = []
    means = [i.aggregate for i in query.items if isinstance(i.aggregate, Mean)]
    if rows_promised(query, table) is None and any(mean.size is None for mean in means):
        found.append("ROWS_AT_LEAST")
    if query.sample is not None and query.rows_at_most is None and len(means) < len(query.items):
        found.append("ROWS_AT_MOST")
    return tuple(found)


def _by_rows(query: Query, table: Table, filter: Filter, clauses: tuple[str, ...]) -> Price:
    prices: dict[int, float] = {}
    for rows in ROWS:
        try:
            known = replace(query, **{clause.lower(): rows for clause in clauses})  # type: ignore[arg-type]
            prepared = prepare(known, table, filter)
        except (NotPossible, InvalidInput):
            continue
        prices[rows] = filter.epsilon_of(prepared.price(filter))
    return _out_of_reach(prices=prices, clauses=clauses)


def _out_of_reach(
    *,
    nearest: Nearest | None = None,
    prices: dict[int, float] | None = None,
    clauses: tuple[str, ...] = (),
) -> Price:
    """What no noise can keep, whatever it may cost."""
    return Price(
        epsilon=math.inf,
        delta=0.0,
        acceptance=0.0,
        bounds={},
        kept={},
        remaining_queries=0,
        reachable=False,
        free=False,
        nearest=nearest,
        epsilon_by_rows=prices or {},
        clauses=clauses,
    )


def _remaining(budgets: Sequence[BudgetStatus], price: Amounts) -> int:
    return min(budget.state.remaining(price) for budget in budgets)


def _naming_fits(prepared: Prepared, budgets: Sequence[BudgetStatus]) -> bool:
    """Whether finding the groups leaves anything: if not, no wider bound helps."""
    if prepared.selection is None:
        return True
    epsilon, delta = prepared.selection.epsilon, prepared.selection.delta
    spend = budgets[0].filter.price_of_spend(epsilon=epsilon, delta=delta)
    return _remaining(budgets, spend) > 0


def _promised(prepared: Prepared) -> tuple[dict[str, float], dict[str, float]]:
    """The bound of every aggregate, and how often it is kept."""
    bounds: dict[str, float] = {}
    kept: dict[str, float] = {}
    for item in prepared.query.items:
        within, kept[item.name] = promised(
            item, prepared.by_total, query=prepared.query, table=prepared.table
        )
        if within is not None:
            bounds[item.name] = shown(within, item)
    return bounds, kept


def _nearest(query: Query, table: Table, budgets: Sequence[BudgetStatus]) -> Nearest | None:
    """All bounds widened by one factor until the price fits."""
    filter = budgets[0].filter

    def widened(factor: Fraction) -> Query:
        items = tuple(
            replace(item, within=None if item.within is None else item.within * factor)
            for item in query.items
        )
        return replace(query, items=items)

    def fitting(factor: Fraction, *, drawn: bool = False) -> float | None:
        """What fits, but for the distance of the sampler: to know that takes far longer than all the rest."""
        try:
            prepared = prepare(widened(factor), table, filter)
        except NotPossible:
            return None
        tau = prepared.tau(filter) if drawn else Fraction(0)
        price = filter.price(prepared.curve, tau=tau)
        return filter.epsilon_of(price) if _remaining(budgets, price) > 0 else None

    # by powers of two: the least exponent of which it fits, then between that and the one before
    too_small, exponent = 0, 1
    while fitting(Fraction(2**exponent)) is None:
        too_small, exponent = exponent, 2 * exponent
        if exponent > WIDEST:
            return None
    while exponent - too_small > 1:
        between = (too_small + exponent) // 2
        if fitting(Fraction(2**between)) is None:
            too_small = between
        else:
            exponent = between
    low, high = Fraction(2**too_small), Fraction(2**exponent)
    for _ in range(REFINEMENTS):
        middle = (low + high) / 2
        if fitting(middle) is None:
            low = middle
        else:
            high = middle
    for _ in range(REFINEMENTS):
        if (epsilon := fitting(high, drawn=True)) is not None:
            break
        high *= WIDER
    else:
        return None
    bounds = {
        item.name: up_to_float(item.within)
        for item in widened(high).items
        if item.within is not None
    }
    return Nearest(bounds, epsilon)
