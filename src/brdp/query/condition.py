"""Conditions of a WHERE: frozen trees of comparisons between a column and a literal.

Conditions follow SQL's three-valued logic: a comparison with a missing value is neither true nor
false, and only rows for which the whole condition is true count.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import final

from brdp.errors import InvalidInput

Value = str | bool | Fraction  # text, true/false, or an exact number
DEEPEST_CONDITION = 64


@final
class Operator(Enum):
    """A comparison."""

    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="


OPPOSITE = {
    Operator.EQUAL: Operator.NOT_EQUAL,
    Operator.NOT_EQUAL: Operator.EQUAL,
    Operator.LESS: Operator.AT_LEAST,
    Operator.AT_LEAST: Operator.LESS,
    Operator.GREATER: Operator.AT_MOST,
    Operator.AT_MOST: Operator.GREATER,
}
MIRRORED = {  # 5 < x is x > 5
    Operator.EQUAL: Operator.EQUAL,
    Operator.NOT_EQUAL: Operator.NOT_EQUAL,
    Operator.LESS: Operator.GREATER,
    Operator.GREATER: Operator.LESS,
    Operator.AT_MOST: Operator.AT_LEAST,
    Operator.AT_LEAST: Operator.AT_MOST,
}


class Condition:
    """What a row must satisfy to count. Abstract."""

    def __and__(self, other: Condition) -> Condition:
        return And((self, _condition(other)))

    def __or__(self, other: Condition) -> Condition:
        return Or((self, _condition(other)))

    def __invert__(self) -> Condition:
        return Not(self)

    def __bool__(self) -> bool:
        # `a and b`, `not a` and `1 < x < 5` would quietly drop half of what was meant
        raise InvalidInput(
            "condition",
            expected="conditions joined by &, | and ~, each in brackets",
            got="and, or, not, or a chained comparison",
            remedy='Write (column("age") >= 18) & (column("age") < 65).',
        )


def _condition(other: object) -> Condition:
    if not isinstance(other, Condition):
        raise InvalidInput(
            "condition",
            expected="a condition",
            got=other,
            remedy='Put each comparison in brackets: (column("age") >= 18) & (...).',
        )
    return other


@final
@dataclass(frozen=True)
class Comparison(Condition):
    """A column against a literal."""

    column: str
    operator: Operator
    value: Value


@final
@dataclass(frozen=True)
class IsIn(Condition):
    """A column among literals of one type."""

    column: str
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if len({type(value) for value in self.values}) != 1:
            raise InvalidInput(
                f"{self.column} IN",
                expected="a list of values of one kind, at least one",
                got=[type(value).__name__ for value in self.values[:5]],
            )


@final
@dataclass(frozen=True)
class IsNull(Condition):
    """A missing value; a NaN counts as missing."""

    column: str


@final
@dataclass(frozen=True)
class And(Condition):
    """All of them."""

    parts: tuple[Condition, ...]


@final
@dataclass(frozen=True)
class Or(Condition):
    """At least one of them."""

    parts: tuple[Condition, ...]


@final
@dataclass(frozen=True)
class Not(Condition):
    """The opposite; what is unknown stays unknown."""

    part: Condition


def between(column: str, low: Value, high: Value) -> Condition:
    """From `low` to `high`, both ends included."""
    return And(
        (
            Comparison(column, Operator.AT_LEAST, low),
            Comparison(column, Operator.AT_MOST, high),
        )
    )


def children(condition: Condition) -> tuple[Condition, ...]:
    """The conditions right below one."""
    if isinstance(condition, And | Or):
        return condition.parts
    return (condition.part,) if isinstance(condition, Not) else ()


def check_depth(condition: Condition) -> None:
    """Refuse a tree so deep that recursion over it could fail."""
    level = [condition]
    for _ in range(DEEPEST_CONDITION):
        level = [child for parent in level for child in children(parent)]
        if not level:
            return
    raise InvalidInput(
        "where",
        expected=f"conditions nested at most {DEEPEST_CONDITION} deep",
        got="a deeper one",
        remedy="Join many alternatives with IN (...).",
    )


def columns_of(condition: Condition) -> frozenset[str]:
    """The names of all columns in a condition."""
    found: set[str] = set()
    left = [condition]
    while left:
        current = left.pop()
        left.extend(children(current))
        if isinstance(current, Comparison | IsIn | IsNull):
            found.add(current.column)
    return frozenset(found)
