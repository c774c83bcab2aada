"""Groups that nobody listed: found in the data, and counted by units, for brdp.privacy.partition to name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from secrets import randbits
from typing import Any, final

from brdp.catalog.schema import Kind
from brdp.catalog.table import Key, Table
from brdp.catalog.unit import ColumnUnit, Relation
from brdp.data.bounding import UNIT, BoundingKey, first_in_group, hold_to_groups
from brdp.data.compile import unit_column
from brdp.data.conditions import predicate
from brdp.data.engine import Engine
from brdp.data.kinds import kind_of
from brdp.errors import InvalidInput
from brdp.privacy.partition import PartitionSelection
from brdp.query.condition import Condition

Keys = tuple[Key, ...]
GROUPABLE = (Kind.TEXT, Kind.INTEGER, Kind.BOOLEAN)


def groups_changed(table: Table) -> int:
    """How many groups' counts of units one neighbour can change: PartitionSelection's `groups`."""
    return table.group_limit * (2 if table.relation is Relation.REPLACE else 1)


@final
@dataclass(frozen=True, eq=False, repr=False)
class PrivateGroups:
    """Groups in the data and how many units count in each. Private, keys included: repr shows none."""

    _units: dict[Keys, int]

    def named(
        self, selection: PartitionSelection, *, random_bits: Callable[[int], int] = randbits
    ) -> tuple[Keys, ...]:
        """The groups that may be named, in an order that depends on their keys alone.

        *Guarantee:* (epsilon, delta)-private as `selection` states, if its `groups` is at least
        groups_changed(table) and this is called once for each charge.
        """
        kept = [
            keys
            for keys, units in self._units.items()
            if selection.keeps(units=units, random_bits=random_bits)
        ]
        return tuple(sorted(kept, key=_order))

    def __iter__(self) -> Iterator[tuple[Keys, int]]:
        """Keys and units, for tests and for the owner: never for analysts."""
        return iter(self._units.items())

    def __repr__(self) -> str:
        return "PrivateGroups(...)"


def private_groups(
    columns: Sequence[str],
    *,
    where: Condition | None = None,
    table: Table,
    engine: Engine,
    key: BoundingKey,
) -> PrivateGroups:
    """Count the units of every combination of values in `columns`, each unit in at most
    table.group_limit of them.

    The condition must be resolved. A missing value is no group's key, nor is one that cannot be asked for (text
    with NUL or U+FFFD, whole numbers beyond 64 bits), and a row that names no unit counts nowhere. What leaves the
    engine is a key and a number for every group there is: memory here grows with the groups, not with the rows.
    """
    expression = groups_expression(columns, where=where, table=table, source=engine.table, key=key)
    found = engine.rows(expression)
    return PrivateGroups({tuple(row[:-1]): int(row[-1]) for row in found if _askable(row[:-1])})


def groups_expression(
    columns: Sequence[str], *, where: Condition | None, table: Table, source: Any, key: BoundingKey
) -> Any:
    """Every combination of values in `columns` with its number of units, as an Ibis expression."""
    if not columns:
        raise InvalidInput("columns", expected="at least one column to group by", got="none")
    for name in columns:
        _require_groupable(source, name)
    rows = source if where is None else source.filter(predicate(where, source))
    groups = [f"group_{index}" for index in range(len(columns))]
    chosen: dict[str, Any] = {
        group: rows[name] for group, name in zip(groups, columns, strict=True)
    }
    known = [rows[name].notnull() for name in columns]
    if isinstance(table.unit, ColumnUnit):
        chosen[UNIT] = unit_column(rows, table.unit.column)
        rows = rows.filter([*known, chosen[UNIT].notnull()]).select(**chosen)
        rows = hold_to_groups(rows, groups=groups, limit=table.group_limit, key=key)
        rows = rows.mutate(first=first_in_group(rows, groups=groups)).filter(lambda r: r.first)
    else:
        rows = rows.filter(known).select(**chosen)
    return rows.group_by(groups).aggregate(units=rows.count())


def _askable(keys: Keys) -> bool:
    """Whether every engine can be asked for these keys again; decided by the keys themselves, never by counts.

    U+FFFD is what Spark writes for bytes that are no text: two of its groups could come back as one.
    """
    return not any(
        "\x00" in key or "\ufffd" in key if isinstance(key, str) else abs(key) >= 2**63
        for key in keys
    )


def _require_groupable(source: Any, name: str) -> None:
    if name not in source.columns:
        raise InvalidInput("column", expected="one of the table's columns", got=name)
    kind = kind_of(source[name].type())
    if kind not in GROUPABLE:
        raise InvalidInput(
            f"column {name}",
            expected="a column of text, whole numbers or true/false to group by",
            got=f"a column of {kind.value}",
        )


def _order(keys: Keys) -> tuple[tuple[str, Key], ...]:
    return tuple((type(key).__name__, key) for key in keys)
