"""What can be asked of the rows of a group."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from brdp._validate import whole
from brdp.catalog.table import check_edges


class Aggregate:
    """Something asked of the rows of every group. Abstract."""


@final
@dataclass(frozen=True)
class Count(Aggregate):
    """How many rows; with a column, how many rows where it is not missing."""

    column: str | None = None


@final
@dataclass(frozen=True)
class CountDistinctUnits(Aggregate):
    """How many units. The column, where given, must be the one that names the unit."""

    column: str | None = None


@final
@dataclass(frozen=True)
class Sum(Aggregate):
    """The sum of a column's clipped values."""

    column: str


@final
@dataclass(frozen=True)
class Mean(Aggregate):
    """The mean of a column's clipped values; `size` is a public number of rows to divide by instead
    of counting them.
    """

    column: str
    size: int | None = None

    def __post_init__(self) -> None:
        if self.size is not None:
            object.__setattr__(self, "size", whole(size=self.size))


@final
@dataclass(frozen=True)
class Histogram(Aggregate):
    """Rows per public bin [e0, e1), [e1, e2), ..., the last one with its upper edge; without edges,
    the catalog's bins.
    """

    column: str
    edges: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        if self.edges:
            check_edges(self.edges, argument=f"HISTOGRAM({self.column}) edges")


def column_of(aggregate: Aggregate) -> str | None:
    """The column an aggregate looks at, if any."""
    if isinstance(aggregate, Count | CountDistinctUnits | Sum | Mean | Histogram):
        return aggregate.column
    raise TypeError(f"not an aggregate of this package: {type(aggregate).__name__}")


def default_name(aggregate: Aggregate) -> str:
    """What an answer is called when nobody named it."""
    words = {
        Count: "count",
        CountDistinctUnits: "units",
        Sum: "sum",
        Mean: "avg",
        Histogram: "histogram",
    }
    word = words[type(aggregate)]
    column = column_of(aggregate)
    return word if column is None or word == "units" else f"{word}_{column}"
