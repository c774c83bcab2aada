"""From stored noisy integers to an answer in the asker's own names and order. Sees nothing exact."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from brdp.catalog.clip import Clip
from brdp.catalog.table import Table
from brdp.catalog.unit import ColumnUnit
from brdp.curator.estimates import half_width_of, least_within
from brdp.curator.found import found_of, notes_of
from brdp.curator.means import (
    FLOAT_STEPS,
    clip_of,
    half_range,
    mean_interval,
    middle,
    rounding_of,
    rows_promised,
)
from brdp.curator.promise import promised
from brdp.curator.release import Release, name_of, up_to_float
from brdp.curator.results import Answer, Cell, Row
from brdp.privacy.partition import PartitionSelection
from brdp.query.aggregate import CountDistinctUnits, Histogram, Mean, Sum
from brdp.query.model import Item, Query
from brdp.query.totals import Total, totals_of

Releases = Mapping[str, Release]


def answer_from(
    stored: Mapping[str, Any],
    releases: Releases,
    *,
    selection: PartitionSelection | None = None,
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
    for key in _keys(stored, query):
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
        notes=notes_for(query, table, selection),
    )


def _keys(stored: Mapping[str, Any], query: Query) -> list[dict[str, Any]]:
    """The key of every row: as listed, or those that were found and named."""
    names = [group.column for group in query.group_by]
    if query.groups_of is None:
        listed = itertools.product(*(group.keys or () for group in query.group_by))
        return [dict(zip(names, keys, strict=True)) for keys in listed]
    found = [dict(zip(stored["group_by"], keys, strict=True)) for keys in stored["keys"]]
    return [{name: key[name] for name in names} for key in found]


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
    by_total = dict(zip(totals, found, strict=True))
    if isinstance(item.aggregate, Mean):
        noisy = tuple(
            stored["totals"][name_of(release.total)][index][0] * release.lattice.noise.step
            for release in found
        )
        if query.sample is not None:
            return _mean_of_sample(item, item.aggregate, by_total, noisy, query, table)
        return _mean(item, item.aggregate, by_total, noisy, query, table)
    (release,) = found
    within, confidence = promised(item, by_total, query=query, table=table)
    # exact, or refused: an answer is never rounded to a float near by
    numbers = tuple(
        release.lattice.noise.to_float(steps)
        for steps in stored["totals"][name_of(release.total)][index]
    )
    half_width = _half_width(release)
    if query.sampling_rate is not None:
        # to the float nearest to the quotient, which the promise counts
        numbers = tuple(float(Fraction(number) / query.sampling_rate) for number in numbers)
        half_width = half_width_of(item, by_total, query=query, table=table)
    histogram = isinstance(item.aggregate, Histogram)
    return Cell(
        numbers if histogram else numbers[0],
        None if within is None else shown(within, item),
        confidence,
        half_width,
        tuple(map(float, item.aggregate.edges)) if isinstance(item.aggregate, Histogram) else (),
    )


def _half_width(release: Release) -> Callable[[float], float]:
    return lambda level: up_to_float(release.within(level))


def _mean_of_sample(
    item: Item,
    mean: Mean,
    releases: Mapping[Total, Release],
    noisy: tuple[Fraction, ...],
    query: Query,
    table: Table,
) -> Cell:
    """A mean of the sample: the rate falls out of it, but for a public size."""
    clip = clip_of(mean, table)
    rows = noisy[1] if mean.size is None else mean.size * (query.sampling_rate or 1)
    value = middle(clip) + (noisy[0] / rows if rows > 0 else 0)
    # whatever was drawn, the mean of clipped values lies in their range
    widest = 2 * half_range(clip) + abs(value - middle(clip))

    def half_width(level: float) -> float:
        found = least_within(item, level, releases, query=query, table=table, most=float(widest))
        return up_to_float(widest if found is None else min(found, widest))

    within, confidence = promised(item, releases, query=query, table=table)
    if within is None:
        return Cell(float(value), half_width(confidence), confidence, half_width)
    return Cell(float(value), shown(within, item), confidence, half_width)


def _mean(
    item: Item,
    mean: Mean,
    releases: Mapping[Total, Release],
    noisy: tuple[Fraction, ...],
    query: Query,
    table: Table,
) -> Cell:
    clip = clip_of(mean, table)
    rows = Fraction(mean.size) if mean.size is not None else noisy[1]
    # with no rows left by the noise nothing is known but the range
    value = middle(clip) + (noisy[0] / rows if rows > 0 else 0)
    half_width = _mean_half_width(tuple(releases.values()), noisy, mean, clip)
    within, confidence = promised(item, releases, query=query, table=table)
    if within is None:
        return Cell(float(value), half_width(confidence), confidence, half_width)
    return Cell(float(value), shown(within, item), confidence, half_width)


def _mean_half_width(
    releases: tuple[Release, ...], noisy: tuple[Fraction, ...], mean: Mean, clip: Clip
) -> Callable[[float], float]:
    def half_width(level: float) -> float:
        found = mean_interval(releases, noisy, mean, clip, level)
        rows = Fraction(mean.size) if mean.size is not None else noisy[1]
        # the mean of clipped values lies in the range whatever the noise was
        widest = half_range(clip) + rounding_of(clip, half_range(clip))
        widest += abs(noisy[0] / rows) if rows > 0 else 0
        # the value itself is rounded to a float
        rounding = (half_range(clip) + widest + abs(middle(clip))) / FLOAT_STEPS
        return up_to_float((widest if found is None else min(found, widest)) + rounding)

    return half_width


def _rows_note(item: Item, mean: Mean, query: Query, table: Table) -> list[str]:
    """What a mean's bound takes for granted about how many rows count."""
    if mean.size is not None:
        return [f"{item.name}: divided by the public size {mean.size:,}, however many rows count."]
    if item.within is None:
        return []
    rows = rows_promised(query, table)
    return [f"{item.name}: the bound holds where {rows:,} rows of a group count, or more."]


def shown(within: Fraction, item: Item) -> float:
    """A bound as a float: what was asked for prints as it was asked, any other is rounded up."""
    return float(within) if within == item.within else up_to_float(within)


def notes_for(
    query: Query, table: Table, selection: PartitionSelection | None = None
) -> tuple[str, ...]:
    """What to know about an answer: public, and the same whatever the data."""
    what = "noise and rounding" if query.sample is None else "sampling, noise and rounding"
    notes = [f"Bounds speak of {what}, not of what clipping and bounding leave out."]
    if query.sample is not None:
        notes += _of_sample(query)
    if selection is not None:
        (column,) = (group.column for group in query.group_by if group.keys is None)
        notes += notes_of(found_of(selection, query), column, table)
    for item in query.items:
        if isinstance(item.aggregate, Sum | Mean):
            clip = clip_of(Mean(item.aggregate.column), table)
            notes.append(
                f"{item.name}: values of {item.aggregate.column} are held to "
                f"[{float(clip.low):g}, {float(clip.high):g}]."
            )
        if isinstance(item.aggregate, Mean):
            notes += _rows_note(item, item.aggregate, query, table)
    if isinstance(table.unit, ColumnUnit):
        rows, groups = _many(table.rows_per_unit, "row"), ""
        counts_units = any(isinstance(i.aggregate, CountDistinctUnits) for i in query.items)
        # so many rows are in no more groups anyway, but a unit counts in each of its groups
        if query.group_by and (counts_units or table.group_limit < table.rows_per_unit):
            groups = f" in at most {_many(table.group_limit, 'group')}"
        notes.append(f"Of each {table.unit.column}, at most {rows}{groups} are counted.")
    return tuple(notes)


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _of_sample(query: Query) -> list[str]:
    """What the figures of a sample are, and for which tables their bound is promised."""
    rate = query.sampling_rate or Fraction(1)
    notes = [
        f"Estimated from a secret sample: each unit was in it with probability {float(100 * rate):.6g} %, and "
        "sums and counts are divided by that."
    ]
    if query.rows_at_most is not None:
        notes.append(
            f"Bounds of sums and counts hold for groups of at most {query.rows_at_most:,} rows."
        )
    return notes
