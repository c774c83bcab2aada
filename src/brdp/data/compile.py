"""A resolved query as one Ibis expression: exact integers per group and bin, computed in one pass.

The order is the whole of its correctness: WHERE, then public keys, then units with a name, then at
most g groups a unit, then at most k rows a unit, then sums of integers. Every step looks at one
unit at a time, so a unit that is not there changes nothing about the rows of the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from brdp.catalog.schema import Kind
from brdp.catalog.table import Key, Table
from brdp.catalog.unit import ColumnUnit
from brdp.data.bounding import (
    UNIT,
    BoundingKey,
    first_in_group,
    hold_to_groups,
    in_secret_order,
    row_rank,
)
from brdp.data.conditions import predicate
from brdp.data.kinds import kind_of, schema_of
from brdp.data.sampling import Sample, in_sample
from brdp.data.values import bin_index, number, present, steps, written
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

# what the engine adds up; other totals follow from these
Added = RowCount | UnitCount | ValueCount | ValueSum


@final
@dataclass(frozen=True, eq=False)
class Compiled:
    """An expression and what its columns mean, in this order: group keys, bins, parts."""

    expression: Any
    query: Query
    totals: tuple[Total, ...]
    bins: tuple[BinCount, ...]
    parts: tuple[Added, ...]


def compile_query(
    query: Query, *, table: Table, source: Any, key: BoundingKey, sample: Sample | None = None
) -> Compiled:
    """Compile a query over an Ibis table; with a sample, over the units in it alone."""
    resolved = resolve(query, table, schema_of(source))
    totals = totals_of_query(resolved, table)
    bins = tuple(total for total in totals if isinstance(total, BinCount))
    parts = _parts(totals)
    rows = source if resolved.where is None else source.filter(predicate(resolved.where, source))
    if sample is not None:
        if isinstance(table.unit, ColumnUnit):
            unit_column(rows, table.unit.column)  # refused where its kind cannot name a unit
        # bounding looks at one unit at a time: to sample before it is to sample after it
        rows = in_sample(rows, table=table, sample=sample)
    rows, groups = _projected(rows, resolved, table, parts, bins)
    rows = _bounded(rows, groups, table, parts, bins, key)
    keys = [*groups, *(f"bin_{index}" for index in range(len(bins)))]
    sums = {f"part_{index}": _sum(rows, part, index) for index, part in enumerate(parts)}
    expression = rows.group_by(keys).aggregate(**sums) if keys else rows.aggregate(**sums)
    return Compiled(expression, resolved, totals, bins, parts)


def _parts(totals: tuple[Total, ...]) -> tuple[Added, ...]:
    """The integers that the engine must add up, each once."""
    needed: dict[Added, None] = {}
    for total in totals:
        if isinstance(total, Added):
            needed[total] = None
        elif isinstance(total, BinCount):
            needed[RowCount()] = None
        elif isinstance(total, CentredSum):
            needed[ValueSum(total.column, total.clip)] = None
            needed[ValueCount(total.column, number=True)] = None
        else:
            raise TypeError(f"not a total of this package: {type(total).__name__}")
    return tuple(needed)


def _projected(
    rows: Any, query: Query, table: Table, parts: tuple[Added, ...], bins: tuple[BinCount, ...]
) -> tuple[Any, list[str]]:
    """Only what is needed, under names of our own: unit, row key, groups, values, bins."""
    columns: dict[str, Any] = {}
    kept = []
    if isinstance(table.unit, ColumnUnit):
        unit = unit_column(rows, table.unit.column)
        columns[UNIT] = unit
        # rows of nobody in particular would all count as one unit's
        kept.append(unit.notnull())
        for index, name in enumerate(table.row_key):
            columns[f"row_key_{index}"] = written(_known(rows, name, "row_key"))
    groups = [f"group_{index}" for index in range(len(query.group_by))]
    for name, group in zip(groups, query.group_by, strict=True):
        columns[name] = rows[group.column]
        kept.append(
            rows[group.column].isin(list(engine_keys(rows, group.column, group.keys or ())))
        )
    # numbers first, in a SELECT of their own: text is then read once, however often it is used
    numbers = _numbers(rows, parts, bins)
    inner = {**columns, **dict(numbers.values())}
    inner |= {
        f"present_{index}": present(rows[part.column]).notnull()
        for index, part in enumerate(parts)
        if isinstance(part, ValueCount) and not part.number
    }
    if not inner:
        inner = {"any": rows[rows.columns[0]].isnull()}  # COUNT(*) of rows: any column will do
    rows = (rows.filter(kept) if kept else rows).select(**inner)
    outer = {name: rows[name] for name in columns}
    for index, part in enumerate(parts):
        if isinstance(part, ValueSum):
            outer[f"value_{index}"] = steps(rows[numbers[part.column][0]], part.clip)
        elif isinstance(part, ValueCount):
            outer[f"value_{index}"] = (
                rows[numbers[part.column][0]].notnull() if part.number else rows[f"present_{index}"]
            )
    for index, bin_count in enumerate(bins):
        outer[f"bin_{index}"] = bin_index(rows[numbers[bin_count.column][0]], bin_count.edges)
    return (rows.select(**outer) if outer else rows), groups


def _numbers(
    rows: Any, parts: tuple[Added, ...], bins: tuple[BinCount, ...]
) -> dict[str, tuple[str, Any]]:
    """For every column that is used as numbers: a name of ours, and its numbers."""
    used = [part.column for part in parts if isinstance(part, ValueSum)]
    used += [part.column for part in parts if isinstance(part, ValueCount) and part.number]
    used += [bin_count.column for bin_count in bins]
    return {
        column: (f"number_{index}", number(rows[column]))
        for index, column in enumerate(dict.fromkeys(used))
    }


def unit_column(rows: Any, name: str) -> Any:
    """The column that names the unit; refused where its kind could name one unit in two ways."""
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


def _bounded(
    rows: Any,
    groups: list[str],
    table: Table,
    parts: tuple[Added, ...],
    bins: tuple[BinCount, ...],
    key: BoundingKey,
) -> Any:
    if not isinstance(table.unit, ColumnUnit):
        return rows  # every row is a unit, and is in one group once
    counts_units = any(isinstance(part, UnitCount) for part in parts)
    only_units = counts_units and len(parts) == 1
    # k rows are in at most k groups: then the limit on groups needs no work of its own
    if groups and (counts_units or table.group_limit < table.rows_per_unit):
        rows = hold_to_groups(rows, groups=groups, limit=table.group_limit, key=key)
    if only_units:
        return rows.mutate(first=first_in_group(rows, groups=groups)).filter(lambda r: r.first)
    row_key = [f"row_key_{index}" for index in range(len(table.row_key))]
    seen = [*groups, *(name for name in rows.columns if name.startswith(("value_", "bin_")))]
    rows = in_secret_order(rows, row_key=row_key, seen=seen, key=key)
    kept = row_rank(rows, seen=seen) < table.rows_per_unit
    if not counts_units:
        return rows.mutate(kept=kept).filter(lambda r: r.kept)
    # a unit counts in each of its groups, also where none of its rows there is among the k
    first = first_in_group(rows, groups=groups)
    return rows.mutate(kept=kept, first=first).filter(lambda r: r.kept | r.first)


def _sum(rows: Any, part: Added, index: int) -> Any:
    """The exact sum of one part; rows kept only to count their unit add to nothing else."""
    mixed = {"kept", "first"} <= set(rows.columns)
    if isinstance(part, UnitCount):
        return rows.first.sum()
    if isinstance(part, RowCount):
        return rows.kept.sum() if mixed else rows.count()
    value = rows[f"value_{index}"]
    return value.sum(where=rows.kept) if mixed else value.sum()
