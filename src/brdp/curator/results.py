"""Answers and prices, and the forms in which people take them away."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, final

from brdp import _extras, _validate
from brdp.catalog.table import Key
from brdp.errors import InvalidInput

Value = float | tuple[float, ...]


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """One number of an answer (or one per bin), with the bound it keeps with `confidence`.

    The bound speaks of noise and rounding, not of what clipping and bounding left out.
    """

    value: Value
    within: float | None
    confidence: float
    _half_width: Callable[[float], float] = field(repr=False)
    edges: tuple[float, ...] = ()  # of a histogram's bins

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where the number without noise lies with probability `level`, from public figures alone."""
        level = _validate.between_zero_and_one(level=level)
        if isinstance(self.value, tuple):
            raise InvalidInput(
                "interval", expected="one number", got="a histogram", remedy="Use intervals(level)."
            )
        half = self._half_width(level)
        return self.value - half, self.value + half

    def intervals(self, level: float = 0.95) -> tuple[tuple[float, float], ...]:
        """The intervals of every bin."""
        values = self.value if isinstance(self.value, tuple) else (self.value,)
        return tuple(replace(self, value=value).interval(level) for value in values)

    def widened(self, more: float) -> Cell:
        """The cell with a bound and intervals that are wider by so much."""
        within, half_width = self.within, self._half_width
        return replace(
            self,
            within=None if within is None else within + more,
            _half_width=lambda level: half_width(level) + more,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        value = list(self.value) if isinstance(self.value, tuple) else _finite(self.value)
        within = None if self.within is None else _finite(self.within)
        found = {"value": value, "within": within, "confidence": self.confidence}
        return {**found, "edges": list(self.edges)} if self.edges else found


@final
@dataclass(frozen=True, slots=True)
class Row:
    """One group: its public key and a cell for every aggregate."""

    key: dict[str, Key]
    cells: dict[str, Cell]


@final
@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """What left: rows of cells, what they cost and what to know about them. A notebook shows it as a table."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    epsilon: float
    delta: float
    replayed: bool
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def value(self, name: str | None = None) -> Value:
        """The one number of an answer without groups (and with one aggregate, where none is named)."""
        names = list(self.rows[0].cells) if self.rows else []
        if len(self.rows) != 1 or (name is None and len(names) != 1):
            raise InvalidInput(
                "value",
                expected="an answer of one group and one aggregate (or its name)",
                got=f"{len(self.rows)} groups and {len(names)} aggregates",
                remedy="Use .rows, .to_rows() or .to_pandas().",
            )
        return self.rows[0].cells[name or names[0]].value

    def post_processed(self, *, at_least: float | None = None, digits: int | None = None) -> Answer:
        """The same answer clamped from below or rounded, and labelled so.

        Clamping biases: sums of clamped counts are too large. It is never done unasked. Bounds and intervals
        grow by what rounding may add, and hold after clamping where the number without noise is not below.
        """
        if digits is not None and (isinstance(digits, bool) or not isinstance(digits, int)):
            raise InvalidInput("digits", expected="a whole number", got=digits)
        more = 0.0 if digits is None else 0.5 * 10.0**-digits
        notes = list(self.notes)
        if at_least is not None:
            notes.append(
                f"Post-processed: values below {at_least:g} were raised to it, which biases sums of them."
            )
        if digits is not None:
            notes.append(f"Post-processed: values were rounded to {digits} digits after the point.")

        def one(value: float) -> float:
            raised = value if at_least is None else max(value, at_least)
            return raised if digits is None else round(raised, digits)

        def all_of(value: Value) -> Value:
            return tuple(map(one, value)) if isinstance(value, tuple) else one(value)

        rows = tuple(
            replace(
                row,
                cells={
                    name: replace(cell.widened(more), value=all_of(cell.value))
                    for name, cell in row.cells.items()
                },
            )
            for row in self.rows
        )
        return replace(self, rows=rows, notes=tuple(notes))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as `brdp query --json` prints it."""
        return {
            "columns": list(self.columns),
            "rows": [
                {"key": row.key, "cells": {name: c.to_dict() for name, c in row.cells.items()}}
                for row in self.rows
            ],
            "epsilon": self.epsilon,
            "delta": self.delta,
            "replayed": self.replayed,
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.to_dict())

    def to_rows(self) -> list[dict[str, Any]]:
        """A flat record for each group: keys, values, and each value's bound."""
        records = []
        for row in self.rows:
            record: dict[str, Any] = dict(row.key)
            for name, cell in row.cells.items():
                value = list(cell.value) if isinstance(cell.value, tuple) else cell.value
                record[name] = value
                record[f"{name}_within"] = cell.within
            records.append(record)
        return records

    def to_pandas(self) -> Any:
        """A pandas DataFrame."""
        return _extras.require("pandas", extra="frames").DataFrame(self.to_rows())

    def to_polars(self) -> Any:
        """A Polars DataFrame."""
        return _extras.require("polars", extra="frames").DataFrame(self.to_rows())

    def to_arrow(self) -> Any:
        """An Arrow table."""
        return _extras.require("pyarrow", extra="query").Table.from_pylist(self.to_rows())

    def __str__(self) -> str:
        from brdp.curator.display import answer_text

        return answer_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from brdp.curator.display import answer_html

        return answer_html(self)


@final
@dataclass(frozen=True, slots=True)
class Nearest:
    """The tightest bounds that the budget can still pay, and what they would take."""

    within: dict[str, float]
    epsilon: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data: one number where there is one aggregate."""
        within: Any = self.within
        if len(self.within) == 1:
            (within,) = self.within.values()
        return {"within": within, "epsilon": self.epsilon}


@final
@dataclass(frozen=True, slots=True)
class OfAllRows:
    """What the same question would be without SAMPLE: what its bounds would cost, or which its epsilon would keep."""

    rate: float
    epsilon: float | None
    within: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "rate": self.rate,
            "epsilon_of_all_rows": self.epsilon,
            "within_of_all_rows": self.within,
        }


@final
@dataclass(frozen=True, slots=True)
class Found:
    """What finding the groups takes of a price, and from how many units on a group is named how often."""

    epsilon: float
    delta: float
    units: int  # asked for
    chance: float  # of naming a group of so many
    half: int  # units that are named in half of all answers
    rarely: int  # units that are named once in a thousand answers
    alone: float  # the most with which a single unit is seen

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "units": self.units,
            "named": self.chance,
            "units_named_half_the_time": self.half,
            "units_named_once_in_a_thousand": self.rarely,
            "single_unit_named": self.alone,
        }


@final
@dataclass(frozen=True, slots=True, repr=False)
class Price:
    """What a question would cost. Reads no data and spends nothing."""

    epsilon: float
    delta: float
    acceptance: float  # of the least certain aggregate
    bounds: dict[str, float]
    kept: dict[str, float]  # the acceptance of every aggregate
    remaining_queries: int
    reachable: bool
    free: bool
    nearest: Nearest | None
    # for a mean without a public lower bound on its rows, or a sample without an upper one: what it would cost
    # with one, and in which clauses it is stated
    epsilon_by_rows: dict[int, float] = field(default_factory=dict)
    clauses: tuple[str, ...] = ()
    sample: OfAllRows | None = None
    found: Found | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as `brdp query --price --json` prints it."""
        return {
            "epsilon": _finite(self.epsilon),
            "delta": self.delta,
            "acceptance": self.acceptance,
            "bounds": self.bounds,
            "acceptances": self.kept,
            "remaining_queries": self.remaining_queries,
            "reachable": self.reachable,
            "free": self.free,
            "nearest": None if self.nearest is None else self.nearest.to_dict(),
            "epsilon_by_rows": {str(n): epsilon for n, epsilon in self.epsilon_by_rows.items()},
            **({} if self.sample is None else {"sample": self.sample.to_dict()}),
            **({} if self.found is None else {"groups": self.found.to_dict()}),
        }

    def __str__(self) -> str:
        from brdp.curator.display import price_text

        return price_text(self)

    __repr__ = __str__


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
