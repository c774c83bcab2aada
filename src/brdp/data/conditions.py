"""WHERE as an Ibis expression. Comparisons are between kinds that match, so none can fail on a
value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from operator import and_, eq, ge, gt, le, lt, ne, or_
from typing import Any

from brdp import _extras
from brdp.catalog.schema import Kind
from brdp.data.kinds import kind_of
from brdp.data.values import number, present
from brdp.errors import InvalidInput
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
from brdp.query.resolve import check_literal, read_moment

COMPARE: Mapping[Operator, Callable[[Any, Any], Any]] = {
    Operator.EQUAL: eq,
    Operator.NOT_EQUAL: ne,
    Operator.LESS: lt,
    Operator.AT_MOST: le,
    Operator.GREATER: gt,
    Operator.AT_LEAST: ge,
}
LARGEST_WHOLE = 2**63 - 1
NANOSECONDS = 9  # digits of a second
FIRST_NANOSECOND, LAST_NANOSECOND = date(1677, 9, 23), date(2262, 4, 10)


def predicate(condition: Condition, table: Any) -> Any:
    """The condition on a table: true, false, or NULL where a missing value leaves it open."""
    if isinstance(condition, And):
        return _joined(and_, [predicate(part, table) for part in condition.parts])
    if isinstance(condition, Or):
        return _joined(or_, [predicate(part, table) for part in condition.parts])
    if isinstance(condition, Not):
        return ~predicate(condition.part, table)
    if isinstance(condition, IsNull):
        return present(table[condition.column]).isnull()
    if isinstance(condition, Comparison):
        side, (literal,) = _sides(table, condition.column, (condition.value,))
        return COMPARE[condition.operator](side, literal)
    if isinstance(condition, IsIn):
        side, literals = _sides(table, condition.column, condition.values)
        return side.isin(literals)
    raise TypeError(f"not a condition of this package: {type(condition).__name__}")


def _joined(operator: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
    # in halves: a chain of thousands would be nested too deep for the engine, or for Python
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return operator(_joined(operator, parts[:half]), _joined(operator, parts[half:]))


def _sides(table: Any, name: str, values: tuple[Value, ...]) -> tuple[Any, list[Any]]:
    """A column and literals in one type, chosen by the column's kind and the literals alone."""
    ibis = _extras.require("ibis", extra="query")
    column = table[name]
    kind = kind_of(column.type())
    for value in values:
        check_literal(name, kind, value)
    first = values[0]
    if isinstance(first, Fraction):
        numbers = [value for value in values if isinstance(value, Fraction)]
        small = all(value.denominator == 1 and abs(value) <= LARGEST_WHOLE for value in numbers)
        if kind is Kind.INTEGER and small:
            return column, [ibis.literal(int(value), "int64") for value in numbers]
        # doubles on both sides: a decimal literal would make an engine cast the column to decimal
        return number(column).cast("float64"), [
            ibis.literal(float(value), "float64") for value in numbers
        ]
    if kind in (Kind.DATE, Kind.TIMESTAMP):
        moments = [read_moment(name, str(value), kind) for value in values]
        if column.type().is_timestamp() and column.type().scale == NANOSECONDS:
            _require_in_nanoseconds(name, moments)
        return column, [ibis.literal(moment, column.type()) for moment in moments]
    return column, [ibis.literal(value) for value in values]


def _require_in_nanoseconds(name: str, moments: Sequence[date]) -> None:
    """64 bits of nanoseconds hold 584 years: an engine would fail at others, once they are paid for."""
    for moment in moments:
        day = moment.date() if isinstance(moment, datetime) else moment
        if not FIRST_NANOSECOND < day < LAST_NANOSECOND:
            raise InvalidInput(
                f"column {name}",
                expected=f"a moment from {FIRST_NANOSECOND} to {LAST_NANOSECOND}, which its nanoseconds hold",
                got=str(moment),
            )
