"""The exact integers of a query: what the curator adds noise to, and nobody else may see."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from brdp.catalog.table import Key, Table
from brdp.data.bounding import BoundingKey
from brdp.data.compile import Compiled, compile_query, engine_keys
from brdp.data.engine import Engine
from brdp.data.sampling import Sample
from brdp.query.model import Query
from brdp.query.totals import BinCount, CentredSum, RowCount, Total, ValueCount, ValueSum

Keys = tuple[Key, ...]


@final
@dataclass(frozen=True, eq=False, repr=False)
class ExactTotals:
    """Integers before noise, for every public group whether or not it has rows. Private: repr shows
    no number.

    `keys` are the public groups, in the order of the catalog's or query's lists; `of(total)` gives
    for each of them a tuple of integers: one, or one per bin of a histogram.
    """

    keys: tuple[Keys, ...]
    _cells: Mapping[Total, tuple[tuple[int, ...], ...]]

    def of(self, total: Total) -> tuple[tuple[int, ...], ...]:
        """The integers of one total, group by group."""
        return self._cells[total]

    def __repr__(self) -> str:
        return f"ExactTotals(<{len(self._cells)} totals of {len(self.keys)} groups>)"


def exact_totals(
    query: Query,
    *,
    table: Table,
    engine: Engine,
    key: BoundingKey,
    sample: Sample | None = None,
) -> ExactTotals:
    """Compute the totals of a query; with a sample, of the units in it, and not rescaled.

    *Guarantee:* between neighbours under the table's relation they differ by at most
    brdp.query.sensitivity of each total, for every key. What is raised depends on the query, the
    declarations and the schema, and on data only where the engine itself gives up (memory, disk).
    """
    compiled = compile_query(query, table=table, source=engine.table, key=key, sample=sample)
    return _folded(compiled, engine.rows(compiled.expression), engine)


def _folded(compiled: Compiled, rows: list[tuple[Any, ...]], engine: Engine) -> ExactTotals:
    """Add the engine's rows (one per group and combination of bins) up to the totals that were
    asked.
    """
    query = compiled.query
    names = [engine_keys(engine.table, group.column, group.keys or ()) for group in query.group_by]
    keys = tuple(itertools.product(*(group.keys or () for group in query.group_by)))
    place: dict[tuple[Key | None, ...], int] = {key: index for index, key in enumerate(keys)}
    width, bins = len(names), len(compiled.bins)
    parts: dict[object, list[int]] = {part: [0] * len(keys) for part in compiled.parts}
    counted = {total: [[0] * total.bins for _ in keys] for total in compiled.bins}
    for row in rows:
        named = tuple(name.get(value) for name, value in zip(names, row[:width], strict=True))
        if (group := place.get(named)) is None:
            continue  # only where an engine holds two texts to be equal; an error would tell of it
        sums = [int(value or 0) for value in row[width + bins :]]  # a sum of no values is NULL
        for part, value in zip(compiled.parts, sums, strict=True):
            parts[part][group] += value
            if isinstance(part, RowCount):
                for total, index in zip(compiled.bins, row[width : width + bins], strict=True):
                    if index is not None:
                        counted[total][group][index] += value
    cells = {total: _cells(total, parts, counted) for total in compiled.totals}
    return ExactTotals(keys, cells)


def _cells(
    total: Total, parts: Mapping[object, list[int]], counted: Mapping[BinCount, list[list[int]]]
) -> tuple[tuple[int, ...], ...]:
    if isinstance(total, BinCount):
        return tuple(tuple(cell) for cell in counted[total])
    if isinstance(total, CentredSum):
        # the sum over usable values of 2 v - (low + high)
        middle = total.clip.low_steps + total.clip.high_steps
        values = parts[ValueSum(total.column, total.clip)]
        numbers = parts[ValueCount(total.column, number=True)]
        return tuple((2 * v - middle * n,) for v, n in zip(values, numbers, strict=True))
    return tuple((value,) for value in parts[total])
