"""From a question to everything that is fixed before data are read: noises, promises and the price."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from brdp.catalog.exact import text_of
from brdp.catalog.table import Table
from brdp.curator.means import mean_bounds, rows_promised
from brdp.curator.noise_for import Wanted, cells_of, release_for, tightest
from brdp.curator.release import Release
from brdp.noise.sampler import Sampler, exact_sampler_for, sampler_for
from brdp.privacy.base import Curve
from brdp.privacy.compose import compose
from brdp.privacy.filters import Amounts, Filter
from brdp.query.aggregate import Mean
from brdp.query.canonical import aggregate_text
from brdp.query.model import DEFAULT_CONFIDENCE, Item, Query
from brdp.query.totals import Total, totals_of, totals_of_query

# Composing many curves rounds up a little: what is asked for is the most that may be charged.
SLACK = 1 - 1e-6
VAST_EPSILON = 40.0


@final
@dataclass(frozen=True, slots=True)
class Prepared:
    """A question with its noises. Nothing in it comes from data."""

    query: Query
    table: Table
    releases: tuple[Release, ...]

    @property
    def curve(self) -> Curve:
        """What all releases cost together, composed tightly: they are fixed together."""
        counts: dict[Curve, int] = {}
        for release in self.releases:
            counts[release.curve] = counts.get(release.curve, 0) + release.folds
        if list(counts.values()) == [1]:
            return next(iter(counts))
        return compose(counts)

    def tau(self, filter: Filter) -> Fraction:
        """How far, in all, the laws drawn may be from the laws stated."""
        return sum(
            (
                sampler_of(release, filter).total_variation * release.cells
                for release in self.releases
            ),
            Fraction(0),
        )

    def price(self, filter: Filter) -> Amounts:
        """What the filter charges."""
        return filter.price(self.curve, tau=self.tau(filter))


def sampler_of(release: Release, filter: Filter) -> Sampler:
    """The sampler: exact to the last bit where the budget has no delta to pay for less.

    A sampler's distance costs e^epsilon times itself, so a vast epsilon cannot pay for it either.
    """
    if filter.delta == 0 or filter.epsilon > VAST_EPSILON:
        return exact_sampler_for(release.noise)
    return sampler_for(release.noise)


def prepare(query: Query, table: Table, filter: Filter) -> Prepared:
    """Plan the noise of every total of a resolved query."""
    totals = totals_of_query(query, table)
    planned: dict[Total, tuple[Any, Release]] = {}
    for item in query.items:
        for total, release in _releases_of(item, query, table, filter, parts=len(totals)):
            # two aggregates that share a total share its noise: the sharper one, good for both
            known = planned.get(total)
            sharpness = release.noise.std * release.lattice.noise.step
            if known is None or sharpness < known[0]:
                planned[total] = (sharpness, release)
    return Prepared(query, table, tuple(planned[total][1] for total in totals))


def _releases_of(
    item: Item, query: Query, table: Table, filter: Filter, *, parts: int
) -> list[tuple[Total, Release]]:
    totals = totals_of(item.aggregate, table)
    each = confidence_of_cell(item, query, table)
    common = {"query": query, "table": table, "filter": filter, "parts": parts}
    if query.epsilon is None:
        confidence = each
        bounds = _bounds(item, query, table)
        return [
            (
                total,
                release_for(
                    total,
                    Wanted(bound, confidence=confidence ** (1 / len(totals))),
                    **common,  # type: ignore[arg-type]
                ),
            )
            for total, bound in zip(totals, bounds, strict=True)
        ]
    share = float(query.epsilon) * SLACK / parts
    if item.within is None or query.confidence is not None:
        return [
            (
                total,
                tightest(
                    total,
                    confidence=each ** (1 / len(totals)),
                    epsilon=share,
                    **common,  # type: ignore[arg-type]
                )[1],
            )
            for total in totals
        ]
    bounds = _bounds(item, query, table)
    return [
        (total, release_for(total, Wanted(bound, epsilon=share), **common))  # type: ignore[arg-type]
        for total, bound in zip(totals, bounds, strict=True)
    ]


def _bounds(item: Item, query: Query, table: Table) -> tuple[Fraction, ...]:
    """The bound of every total of an item with a bound."""
    within = item.within
    if within is None:
        raise TypeError("an item without a bound has an epsilon instead")
    if isinstance(item.aggregate, Mean):
        return mean_bounds(item.aggregate, within, query=query, table=table)
    return (within,)


def confidence_of_cell(item: Item, query: Query, table: Table) -> float:
    """How often one cell must be within its bound, so that the query's confidence holds."""
    confidence = float(query.promised_confidence or DEFAULT_CONFIDENCE)
    if not query.simultaneous:
        return confidence
    # the noises of different cells are independent; totals that two aggregates share only help
    cells = sum(
        max(cells_of(total, query) for total in totals_of(other.aggregate, table))
        for other in query.items
    )
    return math.exp(math.log(confidence) / cells)


def promise_of(prepared: Prepared) -> dict[str, Any]:
    """What is promised, so that a later question can be held against it."""
    query = prepared.query
    return {
        "epsilon": None if query.epsilon is None else text_of(query.epsilon),
        "rows_at_least": rows_promised(query, prepared.table),
        "bounds": {
            aggregate_text(item.aggregate): {
                "within": None if item.within is None else text_of(item.within),
                "confidence": confidence_of_cell(item, query, prepared.table),
            }
            for item in query.items
        },
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
    rows = rows_promised(query, table)
    for item in query.items:
        found = promise["bounds"].get(aggregate_text(item.aggregate))
        if found is None:
            return False
        if item.within is not None and (
            found["within"] is None or Fraction(found["within"]) > item.within
        ):
            return False
        if found["confidence"] < confidence_of_cell(item, query, table):
            return False
        if isinstance(item.aggregate, Mean) and promise["rows_at_least"] != rows:
            return False
    return True
