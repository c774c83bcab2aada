"""Means: how a bound is split between sum and count, and what noise says about the quotient.

With noises a and b on the centred sum and the count, the error of a mean is exactly (a - b mu) / (n + b),
where mu is the centred mean, at most half the range (theory.md, section 8).
"""

from __future__ import annotations

from fractions import Fraction

from brdp.catalog.clip import Clip
from brdp.catalog.table import Table
from brdp.curator.release import MOST_ROWS, Release, quantile
from brdp.errors import InvalidInput, NotPossible
from brdp.query.aggregate import Mean
from brdp.query.model import Query


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

    With |a| <= A and |b| <= B the error is at most (A + B h + n e) / (n - B) for n rows rounded by e each,
    which falls with n; B = (n/2)(w - e)/(w + h) and A = (n/2)(w - e) make it w.
    """
    clip = clip_of(mean, table)
    room = within - clip.rounding
    if room <= 0:
        raise NotPossible(
            f"expected a bound above the rounding of values, {float(clip.rounding):g}; got {float(within):g}."
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
    # what release_for takes off again for the rounding of rows is accounted for here already
    return (
        room * rows / 2 + clip.rounding * MOST_ROWS,
        room * rows / 2 / (within + half_range(clip)),
    )


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
        return off / (mean.size or 1) + clip.rounding
    count_off = Fraction(quantile(counts[0].noise, each))
    rows = noisy[1]
    if rows <= 0:
        return None
    # no more rows than rows + count_off were rounded
    rounded = clip.rounding * (rows + count_off)
    return (off + count_off * half_range(clip) + rounded) / rows
