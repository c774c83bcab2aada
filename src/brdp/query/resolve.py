"""A query checked against the owner's declarations: true names, public keys and bins filled in.

Nothing here reads a row. What a resolved query lacks nobody has to guess later: every group column
has keys, every histogram edges, every summed column a clip range.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime
from fractions import Fraction

from brdp.catalog.nearest import did_you_mean
from brdp.catalog.schema import Kind, Schema
from brdp.catalog.table import Key, Table, check_keys, check_text
from brdp.catalog.unit import ColumnUnit, Relation
from brdp.errors import InvalidInput
from brdp.query.aggregate import (
    Aggregate,
    Count,
    CountDistinctUnits,
    Histogram,
    Mean,
    Sum,
)
from brdp.query.condition import (
    And,
    Comparison,
    Condition,
    IsIn,
    IsNull,
    Not,
    Operator,
    Or,
    Value,
)
from brdp.query.model import Group, Item, Query

MOST_CELLS = 1_000_000


def resolve(query: Query, table: Table, schema: Schema | None = None) -> Query:
    """The query with its names, keys and bins completed; refuses what the table does not allow.

    With a schema, names are matched (without regard to case, as SQL does) and kinds are checked;
    without one, names are taken as written.
    """
    if query.table.casefold() != table.name.casefold():
        raise InvalidInput("table", expected=table.name, got=query.table)
    if query.sample is not None and table.relation is Relation.REPLACE:
        raise InvalidInput(
            "sample",
            expected='a table with relation = "add_remove"',
            got=table.relation.value,
            remedy="What a sample of units costs where one unit is exchanged for another is not worked out "
            "here: leave SAMPLE out.",
        )
    names = _Names(schema)
    where = None if query.where is None else _where(query.where, names)
    find = query.groups_of is not None
    groups = tuple(_group(group, where, table, names, find=find) for group in query.group_by)
    if find:
        _one_to_find(groups)
    items = tuple(_item(item, table, names) for item in query.items)
    cells = cells_of_key(groups, items)
    if cells > MOST_CELLS:
        raise InvalidInput(
            "query",
            expected=f"at most {MOST_CELLS:,} combinations of groups and bins",
            got=f"{cells:,}",
            remedy="Group by fewer columns, list fewer keys, or ask for one histogram at a time.",
        )
    return replace(
        query,
        table=table.name,
        where=where,
        group_by=groups,
        items=items,
        rows_at_least=query.rows_at_least or table.rows_at_least,
        rows_at_most=query.rows_at_most or table.rows_at_most,
    )


def cells_of_key(groups: Iterable[Group], items: Iterable[Item]) -> int:
    """How many combinations of listed keys and bins there are; for each key that is still to be found."""
    cells = math.prod(len(group.keys) for group in groups if group.keys is not None)
    for item in items:
        if isinstance(item.aggregate, Histogram):
            cells *= len(item.aggregate.edges) - 1
    return cells


def _one_to_find(groups: tuple[Group, ...]) -> None:
    """Refuse GROUPS_OF where not exactly one column has keys to be found."""
    unlisted = [group.column for group in groups if group.keys is None]
    if len(unlisted) == 1:
        return
    raise InvalidInput(
        "groups_of",
        expected="one column of GROUP BY whose keys nobody listed",
        got=", ".join(unlisted) or "public keys for every column",
        remedy="Group by one such column at a time, or list the keys of the others."
        if unlisted
        else "Leave GROUPS_OF out: public keys are all answered, and cost nothing.",
    )


class _Names:
    """The true names and kinds of columns, as far as a schema is known."""

    def __init__(self, schema: Schema | None) -> None:
        self._schema = schema

    def true(self, name: str) -> str:
        if self._schema is None or name in self._schema:
            return name
        alike = [known for known in self._schema if known.casefold() == name.casefold()]
        if len(alike) == 1:
            return alike[0]
        raise InvalidInput(
            "column",
            expected="one of the table's columns"
            if not alike
            else f"one of {', '.join(alike)}, as it is written there",
            got=name,
            remedy=did_you_mean(name, self._schema) if not alike else "Put it in double quotes.",
        )

    def kind(self, name: str) -> Kind | None:
        return None if self._schema is None else self._schema[name]

    def require(self, name: str, kinds: Iterable[Kind], *, purpose: str) -> None:
        kind = self.kind(name)
        if kind is not None and kind not in set(kinds):
            raise InvalidInput(
                f"column {name}",
                expected=f"a column fit for {purpose}",
                got=f"a column of {kind.value}",
            )


# text counts as numbers where it can be read as one; what cannot is treated as missing
NUMBERS = (Kind.INTEGER, Kind.REAL, Kind.TEXT, Kind.BOOLEAN)


def _item(item: Item, table: Table, names: _Names) -> Item:
    return replace(item, aggregate=_aggregate(item.aggregate, table, names))


def _aggregate(aggregate: Aggregate, table: Table, names: _Names) -> Aggregate:
    if isinstance(aggregate, Count):
        if aggregate.column is None:
            return aggregate
        return Count(names.true(aggregate.column))
    if isinstance(aggregate, CountDistinctUnits):
        return _units(aggregate, table, names)
    if isinstance(aggregate, Sum | Mean):
        column = names.true(aggregate.column)
        names.require(column, NUMBERS, purpose="sums and means")
        if table.column(column).clip is None:
            raise InvalidInput(
                f"column {column}",
                expected="a clip range for a column that is summed",
                got="none",
                remedy=f"Let the owner add clip = [low, high] under "
                f"tables.{table.name}.columns.{column}.",
            )
        return replace(aggregate, column=column)
    if isinstance(aggregate, Histogram):
        column = names.true(aggregate.column)
        names.require(column, NUMBERS, purpose="a histogram")
        edges = aggregate.edges or table.column(column).bins
        if not edges:
            raise InvalidInput(
                f"HISTOGRAM({column})",
                expected="the edges of its bins",
                got="none",
                remedy=f"Write them: HISTOGRAM({column}, 0, 10, 20).",
            )
        return Histogram(column, edges)
    raise TypeError(f"not an aggregate of this package: {type(aggregate).__name__}")


def _units(aggregate: CountDistinctUnits, table: Table, names: _Names) -> Aggregate:
    unit = table.unit.column if isinstance(table.unit, ColumnUnit) else None
    if aggregate.column is not None:
        column = names.true(aggregate.column)
        if unit is None or column.casefold() != unit.casefold():
            raise InvalidInput(
                f"COUNT(DISTINCT {column})",
                expected=f"the column that names the unit, {unit}"
                if unit
                else "COUNT(*), since every row is a unit of its own",
                got=column,
                remedy="Counts of other distinct values are not there yet.",
            )
    if unit is None:
        return Count()  # every row is a unit
    return CountDistinctUnits()


def _group(
    group: Group, where: Condition | None, table: Table, names: _Names, *, find: bool
) -> Group:
    column = names.true(group.column)
    names.require(
        column, (Kind.TEXT, Kind.INTEGER, Kind.BOOLEAN), purpose="grouping by public keys"
    )
    keys = group.keys or _keys_of(where, column) or table.column(column).categories
    if not keys and find:
        return Group(column)
    if not keys:
        raise InvalidInput(
            f"GROUP BY {column}",
            expected="public keys for its groups",
            got="none",
            remedy=f"List them in the query (WHERE {column} IN (...)), let the owner add categories, or have "
            "groups of 50 units or more found in the data: GROUPS_OF 50.",
        )
    _key_kind(column, keys, names)
    return Group(column, keys)


def _key_kind(column: str, keys: tuple[Key, ...], names: _Names) -> None:
    wanted = {
        str: (Kind.TEXT,),
        int: (Kind.INTEGER, Kind.TEXT),
        bool: (Kind.BOOLEAN,),
    }[type(keys[0])]
    kind = names.kind(column)
    if kind is not None and kind not in wanted:
        raise InvalidInput(
            f"keys of {column}",
            expected=f"keys for a column of {kind.value}",
            got=keys[0],
            remedy="Text is written in quotes, numbers and true/false without.",
        )


def _keys_of(where: Condition | None, column: str) -> tuple[Key, ...]:
    """The keys that WHERE lists for a column: sex IN ('F', 'M') and sex = 'F' name all groups there
    can be.
    """
    parts = [where] if where is not None else []
    while parts:
        part = parts.pop(0)
        if isinstance(part, And):
            parts.extend(part.parts)
        values: tuple[Value, ...] = ()
        if isinstance(part, IsIn) and part.column == column:
            values = part.values
        if (
            isinstance(part, Comparison)
            and part.column == column
            and part.operator is Operator.EQUAL
        ):
            values = (part.value,)
        keys = tuple(dict.fromkeys(_as_key(value) for value in values))
        if keys and None not in keys:
            found = tuple(key for key in keys if key is not None)
            check_keys(found, argument=f"keys of {column}")
            return found
    return ()


def _as_key(value: Value) -> Key | None:
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else None
    return value


def _where(condition: Condition, names: _Names) -> Condition:
    if isinstance(condition, And | Or):
        parts = tuple(_where(part, names) for part in condition.parts)
        return replace(condition, parts=parts)
    if isinstance(condition, Not):
        return Not(_where(condition.part, names))
    if isinstance(condition, IsNull):
        return IsNull(names.true(condition.column))
    if isinstance(condition, Comparison):
        column = names.true(condition.column)
        check_literal(column, names.kind(column), condition.value)
        return replace(condition, column=column)
    if isinstance(condition, IsIn):
        column = names.true(condition.column)
        for value in condition.values:
            check_literal(column, names.kind(column), value)
        return replace(condition, column=column)
    raise TypeError(f"not a condition of this package: {type(condition).__name__}")


def check_literal(column: str, kind: Kind | None, value: Value) -> None:
    """Refuse a literal that a column of this kind cannot be compared with."""
    if isinstance(value, str):
        check_text(value, argument=f"column {column}")
    if kind is None:
        return
    if isinstance(value, bool):
        fits, form = kind is Kind.BOOLEAN, "true or false"
    elif isinstance(value, Fraction):
        fits, form = kind in (Kind.INTEGER, Kind.REAL, Kind.TEXT), "a number"
    else:
        fits, form = kind in (Kind.TEXT, Kind.DATE, Kind.TIMESTAMP), "text"
    if not fits:
        raise InvalidInput(
            f"column {column}",
            expected=f"a comparison fit for a column of {kind.value}",
            got=f"{form} ({str(value)[:40]})",
            remedy="Text and dates are written in quotes, numbers and true/false without.",
        )
    if isinstance(value, str) and kind in (Kind.DATE, Kind.TIMESTAMP):
        read_moment(column, value, kind)


def read_moment(column: str, text: str, kind: Kind) -> date | datetime:
    """A date or timestamp from its ISO 8601 form."""
    try:
        if kind is Kind.DATE:
            return date.fromisoformat(text)
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None:
            found.astimezone(UTC)  # engines compare there: it must be in the years 1 to 9999
        return found
    except (ValueError, OverflowError):
        example = "'2026-11-18'" if kind is Kind.DATE else "'2026-11-18 09:30:00'"
        raise InvalidInput(
            f"column {column}",
            expected=f"{kind.value} such as {example}",
            got=text[:40],
        ) from None
