"""Means: how a bound is split between sum and count, and what noise says about the quotient.

With noises a and b on the centred sum and the count, the error of a mean is exactly (a - b mu) / (n + b),
where mu is the centred mean, at most half the range (theory.md, section 8).
"""

from __future__ import annotations

import math
from fractions import Fraction

from brdp.catalog.clip import Clip
from brdp.catalog.table import Table
from brdp.curator.release import MOST_ROWS, Release, quantile
from brdp.errors import InvalidInput, NotPossible
from brdp.query.aggregate import Mean
from brdp.query.model import Query

# a float is at most half of this part of itself away from any number
FLOAT_STEPS = 1 << 52


def clip_of(mean: Mean, table: Table) -> Clip:
    """The clip range of the column that is averaged."""
    clip = table.column(mean.column).clip
    if clip is None:
        raise InvalidInput(
            f"column {mean.column}",
            expected="a clip range for a column that is averaged",
            got="none",
        )
    return clip


def half_range(clip: Clip) -> Fraction:
    """Half the range, in which every centred value lies."""
    return (clip.high_steps - clip.low_steps) * clip.resolution / 2


def middle(clip: Clip) -> Fraction:
    """The middle of the range."""
    return (clip.high_steps + clip.low_steps) * clip.resolution / 2


def rows_promised(query: Query, table: Table) -> int | None:
    """The public lower bound on the rows of every group."""
    return query.rows_at_least if query.rows_at_least is not None else table.rows_at_least


def mean_bounds(
    mean: Mean, within: Fraction, *, query: Query, table: Table
) -> tuple[Fraction, ...]:
    """Bounds of the centred sum and the count that keep the mean within its own, for n rows or more.

    The bound w without what rounding takes (e: every value to the lattice, and the answer to a float) is
    kept where |a| <= A and |b| <= B with (A + B h) / (n - B) <= w - e, for n rows or more. A = (n/2)(w - e)
    and B = A / (w + h) give each half of it: both then need about the same epsilon.
    """
    clip = clip_of(mean, table)
    room = within - rounding_of(clip, within)
    if room <= 0:
        raise NotPossible(
            f"expected a bound above the rounding of values, {float(rounding_of(clip, within)):g}; got "
            f"{float(within):g}."
        )
    if mean.size is not None:
        return (room * mean.size + clip.rounding * MOST_ROWS,)
    rows = rows_promised(query, table)
    if rows is None:
        raise NotPossible(
            f"expected a public lower bound on the rows of every group, for a mean within "
            f"{float(within):g}; got none. Add ROWS_AT_LEAST 1000 (if that is known without looking at the "
            "data), or give EPSILON in place of the bound: the answer then carries an interval."
        )
    half = room * rows / 2
    count = half / (within + half_range(clip))
    if count < 1:
        least = half_range(clip) * 2 / max(rows - 2, 1)
        raise NotPossible(
            f"expected a bound that a noisy count of {rows} rows leaves room for, about {float(least):.3g} or "
            f"above; got {float(within):g}. Widen it, or name more rows with ROWS_AT_LEAST if so many are known."
        )
    # what the lattice takes off again for the rounding of rows is accounted for here already
    return half + clip.rounding * MOST_ROWS, count


def mean_acceptance(
    releases: tuple[Release, ...], mean: Mean, within: Fraction, *, query: Query, table: Table
) -> float:
    """How often a mean is within a bound, at least: each of its totals within its own."""
    bounds = mean_bounds(mean, within, query=query, table=table)
    return math.prod(r.acceptance(b) for r, b in zip(releases, bounds, strict=True))


def rounding_of(clip: Clip, within: Fraction) -> Fraction:
    """How far rounding can put a mean off that is within its bound otherwise."""
    largest = max(abs(clip.low), abs(clip.high)) + within
    return clip.rounding + largest / FLOAT_STEPS


def mean_interval(
    releases: tuple[Release, ...], noisy: tuple[Fraction, ...], mean: Mean, clip: Clip, level: float
) -> Fraction | None:
    """How far the mean may be off with probability `level`, from noisy values only; None: it may be anything."""
    each = level ** (1 / len(releases))
    sums, *counts = releases
    off = quantile(sums.noise, each) * sums.lattice.noise.step
    if sums.lattice.data < sums.lattice.noise:
        off += sums.lattice.noise.step / 2
    if not counts:
        return off / (mean.size or 1) + rounding_of(clip, half_range(clip))
    count_off = Fraction(quantile(counts[0].noise, each))
    rows = noisy[1]
    if rows <= 0:
        return None
    return (off + count_off * half_range(clip)) / rows + rounding_of(clip, half_range(clip))
