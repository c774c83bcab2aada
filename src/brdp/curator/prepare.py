"""From a question to everything that is fixed before data are read: noises, promises and the price."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from brdp.catalog.table import Table
from brdp.curator.means import mean_bounds
from brdp.curator.noise_for import Wanted, release_for
from brdp.curator.promise import confidence_of_cell, promise_of
from brdp.curator.release import Release
from brdp.noise.sampler import Sampler, exact_sampler_for, sampler_for
from brdp.privacy.base import Curve
from brdp.privacy.compose import compose
from brdp.privacy.filters import Amounts, Filter
from brdp.query.aggregate import Mean
from brdp.query.model import Item, Query
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
    def by_total(self) -> dict[Total, Release]:
        """The release of every total."""
        return {release.total: release for release in self.releases}

    @property
    def promise(self) -> dict[str, Any]:
        """What is promised, so that a later question can be held against it."""
        return promise_of(self.by_total, query=self.query, table=self.table)

    @property
    def curve(self) -> Curve:
        """What all releases cost together, composed tightly: they are fixed together."""
        counts: dict[Curve, int] = {}
        for release in self.releases:
            for curve, count in release.curves.items():
                counts[curve] = counts.get(curve, 0) + count
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
    asked: dict[Total, list[Wanted]] = {}
    for item in query.items:
        for total, wanted in _wanted_of(item, query, table, parts=len(totals)):
            asked.setdefault(total, []).append(wanted)
    return Prepared(
        query,
        table,
        tuple(
            _release_of(total, asked[total], query, table, filter, parts=len(totals))
            for total in totals
        ),
    )


def _wanted_of(item: Item, query: Query, table: Table, *, parts: int) -> list[tuple[Total, Wanted]]:
    """What an item asks of each of its totals."""
    totals = totals_of(item.aggregate, table)
    each = confidence_of_cell(query, table) ** (1 / len(totals))
    share = None if query.epsilon is None else float(query.epsilon) * SLACK / parts
    if item.within is None:
        return [(total, Wanted(None, confidence=each, epsilon=share)) for total in totals]
    bounds: tuple[Fraction, ...] = (item.within,)
    if isinstance(item.aggregate, Mean):
        bounds = mean_bounds(item.aggregate, item.within, query=query, table=table)
    confidence = each if share is None else None
    return [
        (total, Wanted(bound, confidence=confidence, epsilon=share))
        for total, bound in zip(totals, bounds, strict=True)
    ]


def _release_of(
    total: Total, asked: list[Wanted], query: Query, table: Table, filter: Filter, *, parts: int
) -> Release:
    """One noise for all items that need a total."""

    def planned(wanted: Wanted) -> Release:
        return release_for(total, wanted, query=query, table=table, filter=filter, parts=parts)

    found = [planned(wanted) for wanted in dict.fromkeys(asked)]
    found.sort(key=lambda release: release.noise.std * release.lattice.noise.step)
    bounded = [(w.bound, w.confidence) for w in asked if w.bound is not None and w.confidence]
    if len(found) == 1 or not bounded:
        return found[0]
    # the sharper one, where it serves all; else one that is planned for the hardest of all
    for release in found:
        if all(release.acceptance(bound) >= confidence for bound, confidence in bounded):
            return release
    hardest = max(confidence for _, confidence in bounded)
    return planned(Wanted(min(bound for bound, _ in bounded), confidence=hardest))
