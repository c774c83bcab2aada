"""From stored noisy integers to an answer in the asker's own names and order. Sees nothing exact."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from brdp.catalog.clip import Clip
from brdp.catalog.table import Table
from brdp.catalog.unit import ColumnUnit
from brdp.curator.means import clip_of, half_range, mean_interval, middle
from brdp.curator.prepare import confidence_of_cell
from brdp.curator.release import Release, name_of, up_to_float
from brdp.curator.results import Answer, Cell, Row
from brdp.query.aggregate import Histogram, Mean, Sum
from brdp.query.model import Item, Query
from brdp.query.totals import totals_of

Releases = Mapping[str, Release]


def answer_from(
    stored: Mapping[str, Any],
    releases: Releases,
    *,
    query: Query,
    table: Table,
    epsilon: float,
    delta: float,
    replayed: bool,
) -> Answer:
    """Build an answer from what the ledger holds."""
    columns = stored["group_by"]
    place = {
        tuple(sorted(zip(columns, map(_tagged, keys), strict=True))): index
        for index, keys in enumerate(stored["keys"])
    }
    rows = []
    for keys in itertools.product(*(group.keys or () for group in query.group_by)):
        key = dict(zip((group.column for group in query.group_by), keys, strict=True))
        index = place[tuple(sorted((name, _tagged(value)) for name, value in key.items()))]
        cells = {
            item.name: _cell(item, index, stored, releases, query, table) for item in query.items
        }
        rows.append(Row(key, cells))
    names = tuple(group.column for group in query.group_by)
    return Answer(
        columns=(*names, *(item.name for item in query.items)),
        rows=tuple(rows),
        epsilon=epsilon,
        delta=delta,
        replayed=replayed,
        notes=notes_for(query, table),
    )


def _tagged(key: Any) -> tuple[str, str]:
    # 1, "1" and true are three keys
    return type(key).__name__, str(key)


def _cell(
    item: Item,
    index: int,
    stored: Mapping[str, Any],
    releases: Releases,
    query: Query,
    table: Table,
) -> Cell:
    totals = totals_of(item.aggregate, table)
    found = tuple(releases[name_of(total)] for total in totals)
    noisy = tuple(
        tuple(
            steps * release.lattice.noise.step
            for steps in stored["totals"][name_of(release.total)][index]
        )
        for release in found
    )
    if isinstance(item.aggregate, Mean):
        return _mean(item, item.aggregate, found, tuple(n[0] for n in noisy), query, table)
    (release,) = found
    (values,) = noisy
    confidence = confidence_of_cell(item, query, table)
    within = item.within if item.within is not None else release.within(confidence)
    numbers = tuple(map(_float, values))
    value = numbers if isinstance(item.aggregate, Histogram) else numbers[0]
    return Cell(
        value,
        up_to_float(within),
        release.acceptance(within),
        lambda level: up_to_float(release.within(level)),
    )


def _mean(
    item: Item,
    mean: Mean,
    releases: tuple[Release, ...],
    noisy: tuple[Fraction, ...],
    query: Query,
    table: Table,
) -> Cell:
    clip = clip_of(mean, table)
    rows = Fraction(mean.size) if mean.size is not None else noisy[1]
    # with no rows left by the noise nothing is known but the range
    value = middle(clip) + (noisy[0] / rows if rows > 0 else 0)
    confidence = confidence_of_cell(item, query, table)
    half_width = _mean_half_width(releases, noisy, mean, clip)
    if item.within is None:
        return Cell(_float(value), _or_none(half_width(confidence)), confidence, half_width)
    # the promise that was planned for: every total within its own bound at once
    if query.epsilon is not None:
        confidence = _kept(releases, item.within, mean, query, table)
    return Cell(_float(value), float(item.within), confidence, half_width)


def _mean_half_width(
    releases: tuple[Release, ...], noisy: tuple[Fraction, ...], mean: Mean, clip: Clip
) -> Callable[[float], float]:
    def half_width(level: float) -> float:
        found = mean_interval(releases, noisy, mean, clip, level)
        value = middle(clip) + (noisy[0] / noisy[1] if len(noisy) > 1 and noisy[1] > 0 else 0)
        # the mean of clipped values lies in the range whatever the noise was
        widest = half_range(clip) + abs(value - middle(clip))
        return up_to_float(widest if found is None else min(found, widest))

    return half_width


def _kept(
    releases: tuple[Release, ...], within: Fraction, mean: Mean, query: Query, table: Table
) -> float:
    from brdp.curator.means import mean_bounds

    bounds = mean_bounds(mean, within, query=query, table=table)
    return math.prod(r.acceptance(b) for r, b in zip(releases, bounds, strict=True))


def _float(value: Fraction) -> float:
    return float(value)


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def notes_for(query: Query, table: Table) -> tuple[str, ...]:
    """What to know about an answer: public, and the same whatever the data."""
    notes = ["The bound speaks of noise and rounding, not of what clipping and bounding leave out."]
    for item in query.items:
        if isinstance(item.aggregate, Sum | Mean):
            clip = clip_of(Mean(item.aggregate.column), table)
            notes.append(
                f"{item.name}: values of {item.aggregate.column} are held to "
                f"[{float(clip.low):g}, {float(clip.high):g}]."
            )
    if isinstance(table.unit, ColumnUnit):
        notes.append(
            f"At most {table.rows_per_unit} rows of each {table.unit.column} count, "
            f"in at most {table.group_limit} groups."
        )
    return tuple(notes)
