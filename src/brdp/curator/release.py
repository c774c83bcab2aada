"""One total to be released: its lattice, its noise, and what both promise. Reads no data."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from brdp.catalog.exact import text_of
from brdp.errors import BrdpError
from brdp.noise.base import Noise
from brdp.noise.describe import describe_noise, read_noise
from brdp.noise.lattice import COUNT, Resolution, floor_log2, resolution_for
from brdp.privacy.base import Curve
from brdp.privacy.compose import compose
from brdp.privacy.subsample_together import sample_together
from brdp.query.sensitivity import Sensitivity
from brdp.query.totals import (
    BinCount,
    CentredSum,
    RowCount,
    Total,
    UnitCount,
    ValueCount,
    ValueSum,
    row_rounding_of,
)

# Rounding each row to the data's lattice may move a sum by half a step a row; so many rows are allowed for
# in every promise: at 2^-40 of the clip bound a step, they make less than a thousandth of one bound.
MOST_ROWS = 10**9


@final
@dataclass(frozen=True, slots=True)
class Lattice:
    """Where a total lives (`data`) and where its noise does (`noise`), with the noise's sensitivity there."""

    data: Resolution
    noise: Resolution
    sensitivity: int
    rounding: Fraction

    @classmethod
    def of(
        cls, total: Total, moved: Sensitivity, *, within: Fraction, scale: Fraction | None = None
    ) -> Lattice:
        """The lattice for an error of about `within`, and noise about as wide as `scale`."""
        data = Resolution(floor_log2(moved.resolution))
        if isinstance(total, RowCount | UnitCount | ValueCount | BinCount):
            noise = COUNT
        else:
            wanted = resolution_for(sensitivity=moved.largest_move, within=within, scale=scale)
            noise = max(wanted, data)  # finer than the data is no use
        return cls(data, noise, noise.steps(moved.largest_move), row_rounding_of(total) * MOST_ROWS)

    def moves(self, moved: Sensitivity) -> tuple[tuple[int, int], ...]:
        """How far the cells move here, the one that moves most first: (steps, how many cells)."""
        found = Counter(self.noise.steps(move * moved.resolution) for move in moved.moves)
        return tuple(sorted(found.items(), reverse=True))

    def bound(self, within: Fraction) -> int:
        """The largest noise, in steps, that keeps the answer within a bound after all rounding; or -1."""
        half = Fraction(0) if self.data >= self.noise else self.noise.step / 2
        if within <= half + self.rounding:
            return 0 if within == half + self.rounding else -1
        return self.noise.bound(within, data=self.data, data_rounding=self.rounding)

    def reach(self, steps: int) -> Fraction:
        """How far noise of so many steps, and all rounding, can put an answer off."""
        half = Fraction(0) if self.data >= self.noise else self.noise.step / 2
        return steps * self.noise.step + half + self.rounding


@final
@dataclass(frozen=True, slots=True)
class Release:
    """A total with its noise.

    Guarantee: adding the noise to the total rounded to `lattice.noise`, cell by cell, costs at most the
    curves together, whatever the table holds. `moves` says how far the cells of a neighbour may be off,
    the furthest first: so many steps, for so many cells. `cells` is None where the groups are to be found.
    """

    total: Total
    lattice: Lattice
    noise: Noise
    moves: tuple[tuple[int, int], ...]
    cells: int | None

    @property
    def draws(self) -> int:
        """How many draws, at most, may be told from the law stated: where neighbours have the same total, the
        same is drawn for both, whatever its law.
        """
        return self.folds if self.cells is None else self.cells

    @property
    def curves(self) -> dict[Curve, int]:
        """What the release costs: so many times each curve."""
        return curves_of(self.noise, self.moves)

    @property
    def folds(self) -> int:
        """How many cells a neighbour may move."""
        return sum(count for _, count in self.moves)

    def require_paid(self, moved: Sensitivity) -> None:
        """Refuse to complete a charge that was made by other rules of how far cells may move."""
        if self.lattice.moves(moved) != self.moves:
            raise BrdpError(
                "expected a charge by today's rules for an interrupted question; got one of another version "
                "of brdp. It released nothing: ask with another bound."
            )

    def within(self, level: float) -> Fraction:
        """The least error bound that holds with probability `level`."""
        return self.lattice.reach(quantile(self.noise, level))

    def acceptance(self, within: Fraction) -> float:
        """The probability that a cell's answer is within a bound."""
        steps = self.lattice.bound(within)
        return 0.0 if steps < 0 else self.noise.acceptance(within=float(steps))

    def to_dicts(self, tau: Fraction, rate: Fraction | None = None) -> list[dict[str, Any]]:
        """Plain data for the ledger, an entry for each sensitivity: everything that anyone needs to account
        for the release again. What a charge releases of a sample is all of one sample.
        """
        sampled = {} if rate is None else {"sampling_rate": str(rate)}
        return [
            {
                "total": name_of(self.total),
                "noise": describe_noise(self.noise),
                "sensitivity": steps,
                "count": count,
                "cells": self.cells,
                "exponent": self.lattice.noise.exponent,
                "tau": str(tau if index == 0 else Fraction(0)),
                **sampled,
            }
            for index, (steps, count) in enumerate(self.moves)
        ]

    @classmethod
    def read(cls, data: Sequence[Mapping[str, Any]], total: Total, moved: Sensitivity) -> Release:
        """The release that was charged, for a total of the same question."""
        first = data[0]
        moves = tuple((entry["sensitivity"], entry["count"]) for entry in data)
        lattice = Lattice(
            Resolution(floor_log2(moved.resolution)),
            Resolution(first["exponent"]),
            first["sensitivity"],
            row_rounding_of(total) * MOST_ROWS,
        )
        return cls(total, lattice, read_noise(first["noise"]), moves, first["cells"])


def curves_of(noise: Noise, moves: tuple[tuple[int, int], ...]) -> dict[Curve, int]:
    """What noise on cells that move so far costs."""
    return {noise.privacy(sensitivity=steps): count for steps, count in moves}


def joined(curves: Mapping[Curve, int], rate: Fraction | None) -> Curve:
    """What releases that are fixed together cost, of all units or of one sample of them."""
    if rate is not None:
        return sample_together(curves, sampling_rate=float(rate))
    if list(curves.values()) == [1]:
        return next(iter(curves))
    return compose(curves)


def quantile(noise: Noise, level: float) -> int:
    """The least whole bound that symmetric integer noise is within with probability `level`."""
    start = max(0, int(noise.ppf(0.5 + 0.5 * min(level, 1 - 2**-53))))
    # the quantile is rounded: step to the bound that certainly holds
    for steps in range(max(0, start - 2), start + 64):
        if noise.acceptance(within=float(steps)) >= level:
            return steps
    high = max(1, 2 * start)
    while noise.acceptance(within=float(high)) < level and high < 1 << 60:
        high *= 2
    return high


def name_of(total: Total) -> str:
    """A total's name within its question, the same in every process and version."""
    if isinstance(total, RowCount):
        parts = ["rows"]
    elif isinstance(total, UnitCount):
        parts = ["units"]
    elif isinstance(total, ValueCount):
        parts = ["numbers" if total.number else "values", total.column]
    elif isinstance(total, ValueSum):
        parts = ["sum", total.column]
    elif isinstance(total, CentredSum):
        parts = ["centred sum", total.column]
    elif isinstance(total, BinCount):
        parts = ["bins", total.column, *map(text_of, total.edges)]
    else:
        raise TypeError(f"not a total of this package: {type(total).__name__}")
    return json.dumps(parts)


def up_to_float(number: Fraction) -> float:
    """A float that is at least the number."""
    value = float(number)
    return value if Fraction(value) >= number else math.nextafter(value, math.inf)
