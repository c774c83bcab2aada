"""The integers that a query needs from an engine, before any noise.

Every aggregate is made of totals: a mean of a centred sum and a count, for example. A total is an
integer per group (per group and bin for a histogram), counted in steps of its resolution, and two
aggregates that need the same total share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from brdp.catalog.clip import Clip
from brdp.catalog.table import Table
from brdp.errors import InvalidInput
from brdp.query.aggregate import (
    Aggregate,
    Count,
    CountDistinctUnits,
    Histogram,
    Mean,
    Sum,
)
from brdp.query.model import Query


class Total:
    """One integer per group. Abstract."""


@final
@dataclass(frozen=True)
class RowCount(Total):
    """Rows."""


@final
@dataclass(frozen=True)
class ValueCount(Total):
    """Rows where a column is not missing; with `number`, where it can be read as a number."""

    column: str
    number: bool


@final
@dataclass(frozen=True)
class UnitCount(Total):
    """Units with at least one row."""


@final
@dataclass(frozen=True)
class ValueSum(Total):
    """The sum of clipped values, in steps of the clip's resolution; missing ones add nothing."""

    column: str
    clip: Clip


@final
@dataclass(frozen=True)
class CentredSum(Total):
    """The sum of clipped values less the middle of their range, in *half* steps of the clip's
    resolution.

    In half steps the middle is a whole number whatever the range: 2 v - (low + high). So the sum's
    sensitivity is half the range instead of the larger bound.
    """

    column: str
    clip: Clip


@final
@dataclass(frozen=True)
class BinCount(Total):
    """Rows per bin [e0, e1), [e1, e2), ..., the last with its upper edge; what lies outside counts
    nowhere.
    """

    column: str
    edges: tuple[Fraction, ...]

    @property
    def bins(self) -> int:
        """How many bins."""
        return len(self.edges) - 1


def totals_of(aggregate: Aggregate, table: Table) -> tuple[Total, ...]:
    """The totals that a resolved aggregate is made of, in the order of its formula."""
    if isinstance(aggregate, Count):
        if aggregate.column is None:
            return (RowCount(),)
        number = table.column(aggregate.column).clip is not None
        return (ValueCount(aggregate.column, number=number),)
    if isinstance(aggregate, CountDistinctUnits):
        return (UnitCount(),)
    if isinstance(aggregate, Sum):
        return (ValueSum(aggregate.column, _clip(aggregate.column, table)),)
    if isinstance(aggregate, Mean):
        centred = CentredSum(aggregate.column, _clip(aggregate.column, table))
        if aggregate.size is not None:
            return (centred,)  # the size is public: nothing has to be counted
        return (centred, ValueCount(aggregate.column, number=True))
    if isinstance(aggregate, Histogram):
        return (BinCount(aggregate.column, aggregate.edges),)
    raise TypeError(f"not an aggregate of this package: {type(aggregate).__name__}")


def totals_of_query(query: Query, table: Table) -> tuple[Total, ...]:
    """All totals of a resolved query, each once."""
    found: dict[Total, None] = {}
    for item in query.items:
        found.update(dict.fromkeys(totals_of(item.aggregate, table)))
    return tuple(found)


def resolution_of(total: Total) -> Fraction:
    """What one step of a total is worth."""
    if isinstance(total, ValueSum):
        return total.clip.resolution
    if isinstance(total, CentredSum):
        return total.clip.resolution / 2
    return Fraction(1)


def row_rounding_of(total: Total) -> Fraction:
    """How far rounding to the data resolution may move a total, per row in it."""
    return total.clip.rounding if isinstance(total, ValueSum | CentredSum) else Fraction(0)


def _clip(column: str, table: Table) -> Clip:
    clip = table.column(column).clip
    if clip is None:
        raise InvalidInput(
            f"column {column}", expected="a clip range for a column that is summed", got="none"
        )
    return clip
