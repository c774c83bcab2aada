"""From a question to everything that is fixed before data are read: noises, promises and the price."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, final

from brdp.catalog.table import Table
from brdp.curator.estimates import half_of, missed, too_tight, wanted_of
from brdp.curator.found import selection_for
from brdp.curator.means import mean_bounds
from brdp.curator.noise_for import Wanted, release_for
from brdp.curator.promise import confidence_of_cell, promise_of
from brdp.curator.release import Release, joined
from brdp.errors import NotPossible
from brdp.noise.sampler import Sampler, exact_sampler_for, sampler_for
from brdp.privacy.base import Curve
from brdp.privacy.filters import Amounts, Filter
from brdp.privacy.filters.amount import added
from brdp.privacy.partition import PartitionSelection
from brdp.query.aggregate import Mean
from brdp.query.model import Item, Query
from brdp.query.totals import Total, totals_of, totals_of_query

# Composing many curves rounds up a little: what is asked for is the most that may be charged.
SLACK = 1 - 1e-6
VAST_EPSILON = 40.0
# How often a sample's noise is planned anew, until so much of the chance to miss is used; what is aimed at.
ROUNDS, USED, AIM, BOLDEST = 5, 0.8, 0.93, 12.0


@final
@dataclass(frozen=True, slots=True)
class Prepared:
    """A question with its noises. Nothing in it comes from data."""

    query: Query
    table: Table
    releases: tuple[Release, ...]
    selection: PartitionSelection | None = None  # what names the groups, where they are to be found

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
        return joined(counts, self.query.sampling_rate)

    def tau(self, filter: Filter) -> Fraction:
        """How far, in all, the laws drawn may be from the laws stated."""
        return sum(
            (
                sampler_of(release, filter).total_variation * release.draws
                for release in self.releases
            ),
            Fraction(0),
        )

    def price(self, filter: Filter) -> Amounts:
        """What the filter charges: the noise, and before it the naming of groups.

        *Guarantee:* the noise costs the same whichever groups are named, so both are one adaptive composition.
        """
        noise = filter.price(self.curve, tau=self.tau(filter))
        if self.selection is None:
            return noise
        named = self.selection
        return added(noise, filter.price_of_spend(epsilon=named.epsilon, delta=named.delta))


def sampler_of(release: Release, filter: Filter) -> Sampler:
    """The sampler: exact to the last bit where the budget has no delta to pay for less.

    A sampler's distance costs e^epsilon times itself, so a vast epsilon cannot pay for it either.
    """
    if filter.delta == 0 or filter.epsilon > VAST_EPSILON:
        return exact_sampler_for(release.noise)
    return sampler_for(release.noise)


def prepare(query: Query, table: Table, filter: Filter) -> Prepared:
    """Plan the noise of every total of a resolved query."""
    if query.groups_of is not None:
        return _of_found_groups(query, table, filter)
    if query.sampling_rate is None:
        return _prepared(query, table, filter)
    return _of_sample(query, table, filter)


def _of_found_groups(query: Query, table: Table, filter: Filter) -> Prepared:
    """Plan the naming of the groups first; the noise has what it leaves of an epsilon."""
    selection = selection_for(query, table, filter)
    noisy = query
    if query.epsilon is not None and selection is not None:
        left = query.epsilon - Fraction(selection.epsilon)
        if left <= 0:
            raise NotPossible(
                f"expected an epsilon above {selection.epsilon:g}, which finding groups of {query.groups_of} takes; "
                f"got {float(query.epsilon):g}. Give more, or ask for GROUPS_OF a larger number of units."
            )
        noisy = replace(query, epsilon=left)
    planned = _prepared(noisy, table, filter)
    return Prepared(query, table, planned.releases, selection)


def _of_sample(query: Query, table: Table, filter: Filter) -> Prepared:
    """Plan for a chance to miss, see how often the bounds are missed in truth, and plan for another."""
    chances = [1 - confidence_of_cell(query, table)] * len(query.items)
    best: Prepared | None = None
    for _ in range(ROUNDS):
        found = _prepared(query, table, filter, chances=chances)
        if query.epsilon is not None:
            return found
        used = _missed(found)
        if max(used) <= 1:
            best = found
            if min(used) >= USED:
                break
        chances = [
            min(chance * min(BOLDEST, (AIM / max(share, 0.001)) ** 0.75), 0.9)
            for chance, share in zip(chances, used, strict=True)
        ]
    if best is None:
        raise too_tight(query.items[0])
    return best


def _missed(prepared: Prepared) -> list[float]:
    """How often the bound of every item is missed, as a share of what is allowed."""
    query, table = prepared.query, prepared.table
    allowed = 1 - confidence_of_cell(query, table)
    found = []
    for item in query.items:
        own = {total: prepared.by_total[total] for total in totals_of(item.aggregate, table)}
        off = missed(item, item.within or Fraction(0), own, query=query, table=table)
        found.append(off / allowed)
    return found


def _prepared(
    query: Query, table: Table, filter: Filter, *, chances: Sequence[float] = ()
) -> Prepared:
    totals = totals_of_query(query, table)
    asked: dict[Total, list[Wanted]] = {}
    for index, item in enumerate(query.items):
        if query.sample is None:
            wants = _wanted_of(item, query, table, parts=len(totals))
        else:
            wants = _wanted_of_sample(item, query, table, parts=len(totals), alpha=chances[index])
        for total, wanted in wants:
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


def _wanted_of_sample(
    item: Item, query: Query, table: Table, *, parts: int, alpha: float
) -> list[tuple[Total, Wanted]]:
    """The same of a sample: the bounds of its own totals, and the epsilon before sampling hides any of it."""
    totals = totals_of(item.aggregate, table)
    share = None
    if query.epsilon is not None:
        rate = float(query.sampling_rate or 1)
        # exp(epsilon) = 1 + rate * (exp(base) - 1)
        base = math.log1p(math.expm1(min(float(query.epsilon), 600.0)) / rate)
        share = base * SLACK / parts
    if item.within is None:
        kept = 1 - alpha / 2 / len(totals)
        return [(total, Wanted(None, confidence=kept, epsilon=share)) for total in totals]
    if share is not None:
        halves = half_of(item, query=query, table=table)
        return [
            (total, Wanted(bound, epsilon=share))
            for total, bound in zip(totals, halves, strict=True)
        ]
    wants = wanted_of(item, alpha, query=query, table=table)
    return [
        (total, Wanted(bound, confidence=confidence))
        for total, (bound, confidence) in zip(totals, wants, strict=True)
    ]


def _release_of(
    total: Total, asked: list[Wanted], query: Query, table: Table, filter: Filter, *, parts: int
) -> Release:
    """One noise for all items that need a total."""

    def planned(wanted: Wanted) -> Release:
        try:
            return release_for(total, wanted, query=query, table=table, filter=filter, parts=parts)
        except NotPossible:
            if query.sample is None or wanted.bound is None:
                raise
            # its figures are of the sample's own total, which nobody asked for
            needing = (i for i in query.items if total in totals_of(i.aggregate, table))
            raise too_tight(next(needing)) from None

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
