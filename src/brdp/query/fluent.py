"""Questions built by calls:
table("adult").where(...).group_by("sex").count(within=20).confidence(0.95).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import final

from brdp.catalog.exact import Number, exact
from brdp.catalog.table import Key
from brdp.errors import InvalidInput
from brdp.query.aggregate import (
    Aggregate,
    Count,
    CountDistinctUnits,
    Histogram,
    Mean,
    Sum,
    default_name,
)
from brdp.query.condition import (
    And,
    Comparison,
    Condition,
    IsIn,
    IsNull,
    Operator,
    Value,
    between,
)
from brdp.query.grammar import parse, parse_condition
from brdp.query.model import Group, Item, Query

Literal = str | bool | Number | date


def table(name: str) -> Builder:
    """Start a question about a table."""
    return Builder(name)


def column(name: str) -> ColumnName:
    """Name a column to compare, which makes a condition: `column("age") >= 18`."""
    return ColumnName(name)


def as_query(asked: Query | Builder | str) -> Query:
    """The query that was asked, in whichever way."""
    if isinstance(asked, Query):
        return asked
    if isinstance(asked, Builder):
        return asked.query()
    if isinstance(asked, str):
        return parse(asked)
    raise InvalidInput(
        "query", expected="SQL text or a query built by calls", got=type(asked).__name__
    )


@final
@dataclass(frozen=True, eq=False)
class ColumnName:
    """A column's name; comparing it makes a condition."""

    name: str

    def __eq__(self, value: object) -> Condition:  # type: ignore[override]
        return self._compared(Operator.EQUAL, value)

    def __ne__(self, value: object) -> Condition:  # type: ignore[override]
        return self._compared(Operator.NOT_EQUAL, value)

    def __lt__(self, value: Literal) -> Condition:
        return self._compared(Operator.LESS, value)

    def __le__(self, value: Literal) -> Condition:
        return self._compared(Operator.AT_MOST, value)

    def __gt__(self, value: Literal) -> Condition:
        return self._compared(Operator.GREATER, value)

    def __ge__(self, value: Literal) -> Condition:
        return self._compared(Operator.AT_LEAST, value)

    __hash__ = None  # type: ignore[assignment]

    def is_in(self, values: Iterable[Literal]) -> Condition:
        """Among some values of one kind."""
        _no_text(f"column {self.name}", values)
        return IsIn(self.name, tuple(self._value(value) for value in values))

    def between(self, low: Literal, high: Literal) -> Condition:
        """From low to high, both included."""
        return between(self.name, self._value(low), self._value(high))

    def is_null(self) -> Condition:
        """Missing."""
        return IsNull(self.name)

    def _compared(self, operator: Operator, value: object) -> Condition:
        return Comparison(self.name, operator, self._value(value))

    def _value(self, value: object) -> Value:
        if isinstance(value, str | bool):
            return value
        if isinstance(value, date):  # and datetime, which is one
            return value.isoformat()
        return exact(
            value, argument=f"column {self.name}", expected="text, a date, true, false or a number"
        )


@final
@dataclass(frozen=True)
class Builder:
    """A question in the making; every call returns a new one."""

    name: str
    items: tuple[Item, ...] = ()
    condition: Condition | None = None
    groups: tuple[Group, ...] = ()
    wanted_confidence: Fraction | None = None
    wanted_epsilon: Fraction | None = None
    together: bool = False
    least_rows: int | None = None
    most_rows: int | None = None
    sampled: Fraction | None = None
    units_of_groups: int | None = None

    def where(self, condition: Condition | str) -> Builder:
        """Only rows that satisfy a condition (text is read as in SQL); several calls must all hold."""
        if isinstance(condition, str):
            condition = parse_condition(condition)
        if not isinstance(condition, Condition):
            raise InvalidInput(
                "where",
                expected='a condition such as column("age") >= 18, or its text',
                got=type(condition).__name__,
            )
        joined = condition if self.condition is None else And((self.condition, condition))
        return replace(self, condition=joined)

    def group_by(self, *columns: str, **keys: Iterable[Key]) -> Builder:
        """Group by columns, whose public keys may be listed: `sex=["Female", "Male"]`."""
        plain = tuple(Group(name) for name in columns)
        for name, values in keys.items():
            _no_text(f"keys of {name}", values)
        keyed = tuple(Group(name, tuple(values)) for name, values in keys.items())
        return replace(self, groups=(*self.groups, *plain, *keyed))

    def count(
        self,
        column: str | None = None,
        *,
        within: Number | None = None,
        name: str | None = None,
    ) -> Builder:
        """Count rows, or the rows where a column is not missing."""
        return self._with(Count(column), within, name)

    def count_units(self, *, within: Number | None = None, name: str | None = None) -> Builder:
        """Count units."""
        return self._with(CountDistinctUnits(), within, name)

    def sum(self, column: str, *, within: Number | None = None, name: str | None = None) -> Builder:
        """Sum a column's clipped values."""
        return self._with(Sum(column), within, name)

    def mean(
        self,
        column: str,
        *,
        within: Number | None = None,
        size: int | None = None,
        name: str | None = None,
    ) -> Builder:
        """Average a column's clipped values; with `size`, over a public number of rows."""
        return self._with(Mean(column, size), within, name)

    def histogram(
        self,
        column: str,
        edges: Iterable[Number] = (),
        *,
        within: Number | None = None,
        name: str | None = None,
    ) -> Builder:
        """Count rows per public bin."""
        exact_edges = tuple(exact(edge, argument="edges") for edge in edges)
        return self._with(Histogram(column, exact_edges), within, name)

    def confidence(self, confidence: Number) -> Builder:
        """How often each answer must stay within its bound."""
        return replace(self, wanted_confidence=exact(confidence, argument="confidence"))

    def epsilon(self, epsilon: Number) -> Builder:
        """How much the whole query may cost."""
        return replace(self, wanted_epsilon=exact(epsilon, argument="epsilon"))

    def simultaneous(self) -> Builder:
        """Let the confidence hold for all cells of the answer together."""
        return replace(self, together=True)

    def rows_at_least(self, rows: int) -> Builder:
        """A public lower bound on the rows of every group, for the error bound of means."""
        return replace(self, least_rows=rows)

    def rows_at_most(self, rows: int) -> Builder:
        """A public upper bound on the rows of every group, for the error bound of a sample's sums."""
        return replace(self, most_rows=rows)

    def sample(self, rate: Number) -> Builder:
        """Answer from a secret sample of units: `sample(0.01)` looks at one unit in a hundred."""
        return replace(self, sampled=exact(rate, argument="sample"))

    def groups_of(self, units: int) -> Builder:
        """Find the keys of the group column in the data: a group of so many units or more is named as often as
        the confidence says.
        """
        return replace(self, units_of_groups=units)

    def query(self) -> Query:
        """The finished question."""
        return Query(
            table=self.name,
            items=self.items,
            where=self.condition,
            group_by=self.groups,
            confidence=self.wanted_confidence,
            epsilon=self.wanted_epsilon,
            simultaneous=self.together,
            rows_at_least=self.least_rows,
            rows_at_most=self.most_rows,
            sample=self.sampled,
            groups_of=self.units_of_groups,
        )

    def _with(self, aggregate: Aggregate, within: Number | None, name: str | None) -> Builder:
        bound = None if within is None else exact(within, argument="within")
        return replace(
            self, items=(*self.items, Item(aggregate, self._free(aggregate, name), bound))
        )

    def _free(self, aggregate: Aggregate, name: str | None) -> str:
        if name is not None:
            return name
        taken = {item.name for item in self.items}
        first = default_name(aggregate)
        numbered = (f"{first}_{number}" for number in range(2, len(taken) + 3))
        return next(free for free in (first, *numbered) if free not in taken)


def _no_text(argument: str, values: object) -> None:
    """The letters of a text are not what was meant."""
    if isinstance(values, str):
        raise InvalidInput(
            argument, expected="a list of values", got=values, remedy=f"[{values!r}]"
        )
