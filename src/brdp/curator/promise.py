"""What an answer promises, before it is paid for and for ever after. Reads no data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from brdp.catalog.exact import text_of
from brdp.catalog.table import Table
from brdp.curator.estimates import least_within, missed
from brdp.curator.found import chance_of_naming
from brdp.curator.means import mean_acceptance, rows_promised
from brdp.curator.noise_for import cells_of
from brdp.curator.release import Release
from brdp.query.aggregate import Mean
from brdp.query.canonical import aggregate_text
from brdp.query.model import DEFAULT_CONFIDENCE, Item, Query
from brdp.query.totals import Total, totals_of

Releases = Mapping[Total, Release]


def wanted_confidence(item: Item, query: Query, table: Table) -> float | None:
    """How often one cell must be within its bound; None where an epsilon and the bound decide it."""
    if query.epsilon is not None and item.within is not None:
        return None
    return confidence_of_cell(query, table)


def confidence_of_cell(query: Query, table: Table) -> float:
    """How often one cell must be within its bound, so that the query's confidence holds."""
    confidence = float(query.promised_confidence or DEFAULT_CONFIDENCE)
    if not query.simultaneous:
        return confidence
    # the noises of different cells are independent; totals that two aggregates share only help
    cells = sum(
        max(cells_of(total, query) for total in totals_of(other.aggregate, table))
        for other in query.items
    )
    if query.sample is not None:
        return 1 - (1 - confidence) / cells  # one sample serves them all
    return math.exp(math.log(confidence) / cells)


def promised(
    item: Item, releases: Releases, *, query: Query, table: Table
) -> tuple[Fraction | None, float]:
    """The bound of an item's cells and how often each is within it; a mean without a bound gets it from its
    noisy count.
    """
    wanted = wanted_confidence(item, query, table)
    if query.sample is not None:
        return _promised_of_sample(item, releases, wanted, query=query, table=table)
    found = tuple(releases[total] for total in totals_of(item.aggregate, table))
    if isinstance(item.aggregate, Mean):
        if item.within is None:
            return None, wanted or 0.0
        kept = mean_acceptance(found, item.aggregate, item.within, query=query, table=table)
        return item.within, _not_below(kept, wanted)
    (release,) = found
    within = item.within
    if within is None:
        within = release.within(wanted or 0.0)
    return within, _not_below(release.acceptance(within), wanted)


def _promised_of_sample(
    item: Item, releases: Releases, wanted: float | None, *, query: Query, table: Table
) -> tuple[Fraction | None, float]:
    """The same, sampling included; without a bound on the rows, no bound on the answer."""
    own = {total: releases[total] for total in totals_of(item.aggregate, table)}
    if item.within is not None:
        return item.within, max(0.0, 1 - missed(item, item.within, own, query=query, table=table))
    level = wanted or 0.0
    if isinstance(item.aggregate, Mean):
        return None, level
    return least_within(item, level, own, query=query, table=table), level


def _not_below(kept: float, wanted: float | None) -> float:
    # 0.95 squared of its root is 0.9499999999999998: the same question must find its own answer again
    return wanted if wanted is not None and wanted * (1 - 1e-12) <= kept < wanted else kept


def promise_of(releases: Releases, *, query: Query, table: Table) -> dict[str, Any]:
    """What is promised, so that a later question can be held against it."""
    bounds = {}
    for item in query.items:
        _, confidence = promised(item, releases, query=query, table=table)
        bounds[aggregate_text(item.aggregate)] = {
            "within": None if item.within is None else text_of(item.within),
            "confidence": confidence,
        }
    return {
        "epsilon": None if query.epsilon is None else text_of(query.epsilon),
        "rows_at_least": rows_promised(query, table),
        **({} if query.sample is None else {"rows_at_most": query.rows_at_most}),
        **({} if query.groups_of is None else {"named": chance_of_naming(query)}),
        "bounds": bounds,
    }


def serves(promise: Any, query: Query, table: Table) -> bool:
    """Whether an answer that was promised so is at least as exact as this question asks.

    *Guarantee:* depends on the public question and the public promise alone.
    """
    wanted_epsilon = query.epsilon
    if wanted_epsilon is not None and (
        promise["epsilon"] is None or Fraction(promise["epsilon"]) < wanted_epsilon
    ):
        return False
    if query.sample is not None and promise["rows_at_most"] != query.rows_at_most:
        return False
    if query.groups_of is not None and promise["named"] < chance_of_naming(query):
        return False
    rows = rows_promised(query, table)
    for item in query.items:
        found = promise["bounds"].get(aggregate_text(item.aggregate))
        if found is None:
            return False
        if item.within is not None and (
            found["within"] is None or Fraction(found["within"]) > item.within
        ):
            return False
        wanted = wanted_confidence(item, query, table)
        if wanted is not None and found["confidence"] < wanted:
            return False
        if isinstance(item.aggregate, Mean) and promise["rows_at_least"] != rows:
            return False
    return True
