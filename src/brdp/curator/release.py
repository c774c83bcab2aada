"""One total to be released: its lattice, its noise, and what both promise. Reads no data."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from brdp.catalog.exact import text_of
from brdp.noise.base import Noise
from brdp.noise.describe import describe_noise, read_noise
from brdp.noise.lattice import COUNT, Resolution, floor_log2, resolution_for
from brdp.privacy.base import Curve
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
    def of(cls, total: Total, moved: Sensitivity, *, within: Fraction) -> Lattice:
        """The lattice for an error of about `within`."""
        data = Resolution(floor_log2(moved.resolution))
        if isinstance(total, RowCount | UnitCount | ValueCount | BinCount):
            noise = COUNT
        else:
            wanted = resolution_for(sensitivity=moved.largest_move, within=within)
            noise = max(wanted, data)  # finer than the data is no use
        return cls(data, noise, noise.steps(moved.largest_move), row_rounding_of(total) * MOST_ROWS)

    def bound(self, within: Fraction) -> int:
        """The largest noise, in steps, that keeps the answer within a bound after all rounding; or -1."""
        half = Fraction(0) if self.data >= self.noise else self.noise.step / 2
        if within <= half + self.rounding:
            return -1
        return self.noise.bound(within, data=self.data, data_rounding=self.rounding)

    def reach(self, steps: int) -> Fraction:
        """How far noise of so many steps, and all rounding, can put an answer off."""
        half = Fraction(0) if self.data >= self.noise else self.noise.step / 2
        return steps * self.noise.step + half + self.rounding


@final
@dataclass(frozen=True, slots=True)
class Release:
    """A total with its noise.

    Guarantee: adding the noise to the total rounded to `lattice.noise`, cell by cell, costs the curve's
    privacy `folds` times, whatever the table holds: no cell moves by more than the lattice's sensitivity,
    and no more than `folds` cells move at all.
    """

    total: Total
    lattice: Lattice
    noise: Noise
    folds: int
    cells: int

    @property
    def curve(self) -> Curve:
        """What one cell costs."""
        return self.noise.privacy(sensitivity=self.lattice.sensitivity)

    def within(self, level: float) -> Fraction:
        """The least error bound that holds with probability `level`."""
        return self.lattice.reach(quantile(self.noise, level))

    def acceptance(self, within: Fraction) -> float:
        """The probability that a cell's answer is within a bound."""
        steps = self.lattice.bound(within)
        return 0.0 if steps < 0 else self.noise.acceptance(within=float(steps))

    def to_dict(self, tau: Fraction) -> dict[str, Any]:
        """Plain data for the ledger: everything that anyone needs to account for the release again."""
        return {
            "total": name_of(self.total),
            "noise": describe_noise(self.noise),
            "sensitivity": self.lattice.sensitivity,
            "count": self.folds,
            "cells": self.cells,
            "exponent": self.lattice.noise.exponent,
            "tau": str(tau),
        }

    @classmethod
    def read(cls, data: Mapping[str, Any], total: Total, moved: Sensitivity) -> Release:
        """The release that was charged, for a total of the same question."""
        lattice = Lattice(
            Resolution(floor_log2(moved.resolution)),
            Resolution(data["exponent"]),
            data["sensitivity"],
            row_rounding_of(total) * MOST_ROWS,
        )
        return cls(total, lattice, read_noise(data["noise"]), data["count"], data["cells"])


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
