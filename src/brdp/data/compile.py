"""A resolved query as one Ibis expression: exact integers per group and bin, computed in one pass.

The order is the whole of its correctness: WHERE, then public keys, then units with a name, then at
most g groups a unit, then at most k rows a unit, then sums of integers. Every step looks at one
unit
at a time, so a unit that is not there changes nothing about the rows of the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from brdp.catalog.schema import Kind
from brdp.catalog.table import Key, Table
from brdp.catalog.unit import ColumnUnit
from brdp.data.bounding import UNIT, BoundingKey, first_in_group, hold_to_groups, row_rank
from brdp.data.conditions import predicate
from brdp.data.kinds import kind_of, schema_of
from brdp.data.values import bin_index, number, present, steps
from brdp.errors import InvalidInput
from brdp.query.model import Query
from brdp.query.resolve import resolve
from brdp.query.totals import (
    BinCount,
    CentredSum,
    RowCount,
    Total,
    UnitCount,
    ValueCount,
    ValueSum,
    totals_of_query,
)

ROWS = "rows"
UNITS = "units"


@final
@dataclass(frozen=True, eq=False)
class Compiled:
    """An expression and what its columns mean: keys, bins, then integers named by what they add up."""

    expression: Any
    query: Query
    totals: tuple[Total, ...]
    bins: tuple[BinCount, ...]
    parts: tuple[Part, ...]


@final
@dataclass(frozen=True)
class Part:
    """One column of integers in the engine's answer. Totals are put together from parts in
    totals.py.
    """

    what: RowCount | UnitCount | ValueCount | ValueSum


def compile_query(query: Query, *, table: Table, source: Any, key: BoundingKey) -> Compiled:
    """Compile a query over an Ibis table."""
    resolved = resolve(query, table, schema_of(source))
    totals = totals_of_query(resolved, table)
    bins = tuple(total for total in totals if isinstance(total, BinCount))
    parts = _parts(totals)
    rows = source if resolved.where is None else source.filter(predicate(resolved.where, source))
    rows, groups = _projected(rows, resolved, table, parts, bins)
    rows = _bounded(rows, groups, table, parts, bins, key)
    keys = [*groups, *(f"bin_{index}" for index in range(len(bins)))]
    sums = {f"part_{index}": _sum(rows, part, index) for index, part in enumerate(parts)}
    expression = rows.group_by(keys).aggregate(**sums) if keys else rows.aggregate(**sums)
    return Compiled(expression, resolved, totals, bins, parts)


def _parts(totals: tuple[Total, ...]) -> tuple[Part, ...]:
    """The integers that the engine must add up, each once."""
    needed: dict[RowCount | UnitCount | ValueCount | ValueSum, None] = {}
    for total in totals:
        if isinstance(total, RowCount | UnitCount | ValueCount | ValueSum):
            needed[total] = None
        elif isinstance(total, BinCount):
            needed[RowCount()] = None
        elif isinstance(total, CentredSum):
            needed[ValueSum(total.column, total.clip)] = None
            needed[ValueCount(total.column, number=True)] = None
        else:
            raise TypeError(f"not a total of this package: {type(total).__name__}")
    return tuple(Part(what) for what in needed)


def _projected(
    rows: Any, query: Query, table: Table, parts: tuple[Part, ...], bins: tuple[BinCount, ...]
) -> tuple[Any, list[str]]:
    """Only what is needed, under names of our own: unit, row key, groups, values, bins."""
    columns: dict[str, Any] = {}
    if isinstance(table.unit, ColumnUnit):
        columns[UNIT] = _unit(rows, table.unit.column)
        for index, name in enumerate(table.row_key):
            columns[f"row_key_{index}"] = _known(rows, name, "row_key")
    groups: list[str] = []
    kept = []
    for index, group in enumerate(query.group_by):
        keys = engine_keys(rows, group.column, group.keys or ())
        groups.append(f"group_{index}")
        columns[f"group_{index}"] = rows[group.column]
        kept.append(rows[group.column].isin(list(keys)))
    for index, part in enumerate(parts):
        value = _value(rows, part)
        if value is not None:
            columns[f"value_{index}"] = value
    for index, bin_count in enumerate(bins):
        columns[f"bin_{index}"] = bin_index(rows[bin_count.column], bin_count.edges)
    if not columns:
        columns = {ROWS: rows[rows.columns[0]].isnull()}  # COUNT(*) of rows: any column will do
    if UNIT in columns:
        # rows of nobody in particular would all count as one unit's
        kept.append(columns[UNIT].notnull())
    if kept:
        rows = rows.filter(kept)
    return rows.select(**columns), groups


def _unit(rows: Any, name: str) -> Any:
    column = _known(rows, name, "unit")
    kind = kind_of(column.type())
    if kind in (Kind.REAL, Kind.OTHER) and not column.type().is_uuid():
        raise InvalidInput(
            f"unit column {name}",
            expected="whole numbers, text, UUIDs or dates, which name a unit the same way always",
            got=f"a column of {kind.value}",
        )
    return column


def _known(rows: Any, name: str, purpose: str) -> Any:
    if name not in rows.columns:
        raise InvalidInput(purpose, expected="one of the table's columns", got=name)
    return rows[name]


def engine_keys(rows: Any, column: str, keys: tuple[Key, ...]) -> dict[Any, Key]:
    """What the engine calls each public key: numbers are texts in a column of text."""
    if rows[column].type().is_string():
        return {key if isinstance(key, str) else str(key): key for key in keys}
    return {key: key for key in keys}


def _value(rows: Any, part: Part) -> Any:
    what = part.what
    if isinstance(what, ValueSum):
        return steps(rows[what.column], what.clip)
    if isinstance(what, ValueCount):
        column = rows[what.column]
        return (number(column) if what.number else present(column)).notnull()
    return None


def _bounded(
    rows: Any,
    groups: list[str],
    table: Table,
    parts: tuple[Part, ...],
    bins: tuple[BinCount, ...],
    key: BoundingKey,
) -> Any:
    if not isinstance(table.unit, ColumnUnit):
        return rows  # every row is a unit, and is in one group once
    counts_units = any(isinstance(part.what, UnitCount) for part in parts)
    only_units = counts_units and len(parts) == 1
    # k rows are in at most k groups: then the limit on groups needs no work of its own
    if groups and (counts_units or table.group_limit < table.rows_per_unit):
        rows = hold_to_groups(rows, groups=groups, limit=table.group_limit, key=key)
    if only_units:
        return rows.mutate(first=first_in_group(rows, groups=groups)).filter(lambda r: r.first)
    row_key = [f"row_key_{index}" for index in range(len(table.row_key))]
    seen = [*groups, *(name for name in rows.columns if name.startswith(("value_", "bin_")))]
    kept = row_rank(rows, row_key=row_key, seen=seen, key=key) < table.rows_per_unit
    if not counts_units:
        return rows.mutate(kept=kept).filter(lambda r: r.kept)
    # a unit counts in each of its groups, also where none of its rows there is among the k
    first = first_in_group(rows, groups=groups)
    return rows.mutate(kept=kept, first=first).filter(lambda r: r.kept | r.first)


def _sum(rows: Any, part: Part, index: int) -> Any:
    """The exact sum of one part; rows kept only to count their unit add to nothing else."""
    held: Callable[[Any], Any] = (
        (lambda value: value & rows.kept)
        if {"kept", "first"} <= set(rows.columns)
        else (lambda value: value)
    )
    what = part.what
    if isinstance(what, UnitCount):
        return rows.first.sum()
    if isinstance(what, ValueCount):
        return held(rows[f"value_{index}"]).sum()
    if isinstance(what, ValueSum):
        column = rows[f"value_{index}"]
        return (
            column.sum(where=rows.kept) if {"kept", "first"} <= set(rows.columns) else column.sum()
        )
    return rows.kept.sum() if {"kept", "first"} <= set(rows.columns) else rows.count()
