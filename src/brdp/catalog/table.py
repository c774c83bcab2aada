"""What the owner declares about a table: frozen values, from which alone every sensitivity follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import pairwise
from typing import final

from brdp._validate import below_one, positive, whole
from brdp.catalog.clip import Clip
from brdp.catalog.nearest import did_you_mean
from brdp.catalog.source import Source
from brdp.catalog.unit import Relation, RowUnit, Unit
from brdp.errors import InvalidInput

Key = str | int | bool  # a public group key
LARGEST_NUMBER_OF_KEYS = 100_000


@final
@dataclass(frozen=True)
class Column:
    """What is public about a column: the range it is clipped to, its categories, the edges of its
    bins.
    """

    name: str
    clip: Clip | None = None
    categories: tuple[Key, ...] = ()
    bins: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        if not self.name or "\x00" in self.name:
            raise InvalidInput("column", expected="a column's name", got=self.name)
        if self.categories:
            check_keys(self.categories, argument=f"{self.name}.categories")
        if self.bins:
            check_edges(self.bins, argument=f"{self.name}.bins")


@final
class Rule(Enum):
    """How charges are added up, fixed when the budget is created (docs/theory/filters.md)."""

    PURE = "pure"
    SUM = "sum"
    RENYI = "renyi"


@final
@dataclass(frozen=True)
class Budget:
    """How much may ever be spent on a table. delta = 0 is allowed and means pure.

    `queries` is about how many questions it is for: a sum of deltas gives each of them its share.
    """

    epsilon: float
    delta: float
    rule: Rule | None = None  # by default pure where delta is 0, else sums
    queries: int = 1000

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        below_one(delta=self.delta)
        if self.delta < 0:
            raise InvalidInput("delta", expected="a number in [0, 1)", got=self.delta)
        whole(queries=self.queries)
        if self.rule is not None and (self.rule is Rule.PURE) != (self.delta == 0):
            raise InvalidInput(
                "filter",
                expected="pure where delta is 0, and sum or renyi where it is not",
                got=self.rule.value,
            )


@final
@dataclass(frozen=True)
class Table:
    """A table under protection.

    *Guarantee:* `rows_per_unit` and `groups_per_unit` are what the data layer holds every unit to
    in each query, by leaving rows out; they are limits that are enforced, not claims about the
    data. `rows_at_least` and `rows_at_most` *are* claims of the owner's about every group: no privacy
    rests on them, only the error bounds promised for means and for samples.
    """

    name: str
    source: Source
    unit: Unit
    rows_per_unit: int = 1
    groups_per_unit: int | None = None  # at most as many as rows, where left out
    relation: Relation = Relation.ADD_REMOVE
    columns: tuple[Column, ...] = ()
    row_key: tuple[str, ...] = ()
    version: str = ""
    rows_at_least: int | None = None
    rows_at_most: int | None = None
    budget: Budget | None = None

    def __post_init__(self) -> None:
        if not self.name or "\x00" in self.name:
            raise InvalidInput("table", expected="a table's name", got=self.name)
        # 5.0 is let through as 5: every sensitivity is computed from these, in integers
        for name in ("rows_per_unit", "groups_per_unit", "rows_at_least", "rows_at_most"):
            if name == "rows_per_unit" or getattr(self, name) is not None:
                object.__setattr__(self, name, whole(**{name: getattr(self, name)}))
        check_rows(self.rows_at_least, self.rows_at_most)
        if isinstance(self.unit, RowUnit):
            for argument, value in (
                ("rows_per_unit", self.rows_per_unit),
                ("groups_per_unit", self.groups_per_unit),
            ):
                if value not in (1, None):
                    raise InvalidInput(
                        argument,
                        expected="1 where the unit is a row",
                        got=value,
                        remedy='For more, declare unit = { column = "..." }.',
                    )
        names = [column.name for column in self.columns]
        for name in names:
            if names.count(name) > 1:
                raise InvalidInput("columns", expected="each column once", got=name)

    @property
    def group_limit(self) -> int:
        """The most groups one unit may reach in one query."""
        return self.rows_per_unit if self.groups_per_unit is None else self.groups_per_unit

    def column(self, name: str) -> Column:
        """What is declared of a column; a column nobody declared has neither range nor categories."""
        for column in self.columns:
            if column.name == name:
                return column
        return Column(name)


@final
@dataclass(frozen=True)
class Catalog:
    """The owner's tables and where the ledger is kept."""

    tables: tuple[Table, ...]
    ledger: str = "brdp-ledger.sqlite"
    origin: str = "brdp.toml"  # how errors name it

    def table(self, name: str) -> Table:
        """The table of a name; without regard to case, as SQL does, where that names one."""
        alike = [table for table in self.tables if table.name.casefold() == name.casefold()]
        exact = [table for table in alike if table.name == name]
        if len(exact or alike) == 1:
            return (exact or alike)[0]
        names = [table.name for table in self.tables]
        raise InvalidInput(
            "table",
            expected=f"one of the tables of {self.origin} ({', '.join(names) or 'none'})",
            got=name,
            remedy=did_you_mean(name, names),
        )


def check_keys(keys: Sequence[Key], *, argument: str) -> None:
    """Public group keys: all text, all whole numbers or all booleans, none twice."""
    if not 1 <= len(keys) <= LARGEST_NUMBER_OF_KEYS:
        raise InvalidInput(
            argument, expected=f"1 to {LARGEST_NUMBER_OF_KEYS:,} keys", got=f"{len(keys):,} keys"
        )
    kinds = {type(key) for key in keys}
    if len(kinds) > 1 or not kinds <= {str, int, bool}:
        raise InvalidInput(
            argument,
            expected="keys that are all text, all whole numbers or all true/false",
            got=sorted(kind.__name__ for kind in kinds),
        )
    seen: set[Key] = set()
    for key in keys:
        if key in seen:
            raise InvalidInput(argument, expected="every key once", got=key)
        seen.add(key)
        if isinstance(key, str):
            check_text(key, argument=argument)
        if not isinstance(key, str) and abs(key) >= 2**63:
            raise InvalidInput(argument, expected="whole numbers of 64 bits", got=key)


def check_rows(least: int | None, most: int | None) -> None:
    """Public bounds on the rows of a group: the lower one is not above the upper one."""
    if least is not None and most is not None and most < least:
        raise InvalidInput("rows_at_most", expected=f"at least rows_at_least, {least:,}", got=most)


def check_text(text: str, *, argument: str) -> None:
    """Text that every engine can be asked for: after a charge it would be too late to find out."""
    if "\x00" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InvalidInput(
            argument, expected="text without NUL characters and halves of characters", got=text
        )


def check_edges(edges: Sequence[Fraction], *, argument: str) -> None:
    """Edges of public bins: at least two, rising."""
    if not 2 <= len(edges) <= 10_001:
        raise InvalidInput(argument, expected="2 to 10,001 edges", got=f"{len(edges)} edges")
    for low, high in pairwise(edges):
        if not float(low) < float(high):
            raise InvalidInput(
                argument,
                expected="edges that rise",
                got=[float(low), float(high)],
                remedy="List them from the smallest to the largest, each once.",
            )
