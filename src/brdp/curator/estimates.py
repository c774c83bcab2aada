"""What answers from a sample promise, and which noise leaves room for the sampling error. Reads no data.

A sum of the whole table is estimated by the sample's total, divided by the rate; the noise is added before. So a
bound within on the answer is a bound rate * within on the sample's total, of which sampling takes a part. The promise
is for all values that clipping allows: for sums and counts in groups of at most `rows_at_most` rows, for means in
groups of at least `rows_at_least`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from brdp.catalog.table import Table
from brdp.curator.means import FLOAT_STEPS, clip_of, half_range, rounding_of, rows_promised
from brdp.curator.release import MOST_ROWS, Release
from brdp.curator.sampled import Sampled
from brdp.errors import NotPossible
from brdp.query.aggregate import CountDistinctUnits, Mean
from brdp.query.model import Item, Query
from brdp.query.totals import CentredSum, Total, ValueSum, totals_of

# Which parts of the chance to miss are tried for sampling; the rest is left to the noise.
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
# Which parts of a mean's bound are tried for its count.
COUNT_SHARES = tuple(share / 16 for share in range(1, 16))
HALVINGS = 40

Wants = tuple[tuple[Fraction, float], ...]


def wanted_of(item: Item, alpha: float, *, query: Query, table: Table) -> Wants:
    """Bounds and confidences for the noise of each total, so that a cell misses its bound at most that often."""
    assert item.within is not None  # noqa: S101 - whoever calls has looked
    worst, room = _worst_and_room(item, item.within, query=query, table=table)

    def left(share: float) -> float:
        return room - worst.quantile(alpha * share / 2)

    def worth(share: float) -> float:
        # about how wide the noise may be
        return left(share) / -math.log(alpha * (1 - share))

    share = max(SHARES, key=worth)
    if left(share) <= 0:
        raise too_tight(item)
    bounds = _bounds(item, left(share), table)
    kept = 1 - alpha * (1 - share) / len(bounds)
    return tuple((bound, kept) for bound in bounds)


def half_of(item: Item, *, query: Query, table: Table) -> tuple[Fraction, ...]:
    """Bounds for the noise of each total where an epsilon decides how often the whole is kept: half of the room."""
    assert item.within is not None  # noqa: S101 - whoever calls has looked
    _, room = _worst_and_room(item, item.within, query=query, table=table)
    return _bounds(item, room / 2, table)


def _bounds(item: Item, room: float, table: Table) -> tuple[Fraction, ...]:
    """The noise's share of the room, as bounds of the item's totals."""
    bound = Fraction(room)
    if not isinstance(item.aggregate, Mean):
        return (bound,)
    clip = clip_of(item.aggregate, table)
    again = (
        clip.rounding * MOST_ROWS
    )  # the lattice takes it off, and the room is without it already
    if item.aggregate.size is not None:
        return (bound + again,)
    return bound / 2 + again, bound / 2 / (half_range(clip) + (item.within or 0))


def missed(
    item: Item,
    within: Fraction,
    releases: Mapping[Total, Release],
    *,
    query: Query,
    table: Table,
) -> float:
    """How often a cell is further off than a bound, at most. `releases` are those of the item's totals."""
    worst, room = _worst_and_room(item, within, query=query, table=table)
    first, *counts = releases.values()
    step = float(first.lattice.noise.step)
    rounding = first.lattice.reach(0)
    if isinstance(item.aggregate, Mean):
        rounding -= first.lattice.rounding
    room -= float(rounding)
    if not counts:
        return worst.missed(first.noise, step=step, within=room)
    assert isinstance(item.aggregate, Mean)  # noqa: S101 - nothing else has two totals
    each = float(half_range(clip_of(item.aggregate, table)) + within)
    least = 1.0
    for share in COUNT_SHARES:
        # what is left after a noisy count that is off by so many
        off = math.floor(room * share / each)
        far = 1 - counts[0].noise.acceptance(within=float(off))
        least = min(least, far + worst.missed(first.noise, step=step, within=room - off * each))
    return least


def least_within(
    item: Item,
    level: float,
    releases: Mapping[Total, Release],
    *,
    query: Query,
    table: Table,
    most: float = math.inf,
) -> Fraction | None:
    """The least bound that a cell keeps with this probability; None where nothing public says how many rows."""
    if not knows_rows(item, query=query, table=table):
        return None

    def holds(within: float) -> bool:
        off = missed(item, Fraction(within), releases, query=query, table=table)
        return off <= 1 - level

    first = next(iter(releases.values()))
    high = float(first.within(level)) / float(query.sampling_rate or 1)
    if isinstance(item.aggregate, Mean):
        high /= max(1, item.aggregate.size or rows_promised(query, table) or 1)
    while not holds(high):
        high *= 2
        if high > min(most, 1e300):
            return None
    low = high / 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return Fraction(high)


def half_width_of(
    item: Item, releases: Mapping[Total, Release], *, query: Query, table: Table
) -> Callable[[float], float]:
    """Half the width of a sum's interval at a level; infinite where nothing is known of the sampling error."""

    def half_width(level: float) -> float:
        found = least_within(item, level, releases, query=query, table=table)
        return math.inf if found is None else float(found)

    return half_width


def knows_rows(item: Item, *, query: Query, table: Table) -> bool:
    """Whether something public bounds the rows that the item's sampling error depends on."""
    if isinstance(item.aggregate, Mean):
        return item.aggregate.size is not None or rows_promised(query, table) is not None
    return query.rows_at_most is not None


def _worst_and_room(
    item: Item, within: Fraction, *, query: Query, table: Table
) -> tuple[Sampled, float]:
    """The worst sampling error of a cell's total, and how far that total may be off in all."""
    rate, per_unit = query.sampling_rate or Fraction(1), table.rows_per_unit
    if not knows_rows(item, query=query, table=table):
        raise _unknown(item, within)
    if not isinstance(item.aggregate, Mean):
        row = _largest_row(item, table)
        if isinstance(item.aggregate, CountDistinctUnits):
            per_unit = 1
        rows = Fraction(query.rows_at_most or 0)
        # the answer is rounded to a float near by
        room = rate * (within - (rows * row + within) / FLOAT_STEPS)
        worst = Sampled.of(rate=rate, rows=rows, row=row, rows_per_unit=per_unit)
        return worst, float(room)
    clip = clip_of(item.aggregate, table)
    half, off = half_range(clip), within - rounding_of(clip, within)
    if item.aggregate.size is not None:
        rows = Fraction(item.aggregate.size)
        worst = Sampled.of(rate=rate, rows=rows, row=half, rows_per_unit=per_unit)
        return worst, float(rate * rows * off)
    rows = Fraction(rows_promised(query, table) or 0)
    # the mean is too high by w where the sum of (value - mean - w) over the sample, with noise, is above 0
    worst = Sampled(
        float(rate), float(per_unit * (2 * half + within)), float(rows * (half + within))
    )
    return worst, float(rate * rows * off)


def _largest_row(item: Item, table: Table) -> Fraction:
    """The most that a row adds to a cell."""
    (total,) = totals_of(item.aggregate, table)
    if isinstance(total, ValueSum | CentredSum):
        return max(abs(total.clip.low_steps), abs(total.clip.high_steps)) * total.clip.resolution
    return Fraction(1)


def too_tight(item: Item) -> NotPossible:
    """What to say where sampling leaves no room."""
    return NotPossible(
        f"expected a bound for {item.name} that leaves something for noise; got {float(item.within or 0):g}, and "
        "sampling alone takes more. Widen it, sample more units, or leave SAMPLE out."
    )


def _unknown(item: Item, within: Fraction) -> NotPossible:
    clause, what = (
        ("ROWS_AT_LEAST 1000", "lower")
        if isinstance(item.aggregate, Mean)
        else ("ROWS_AT_MOST 100000", "upper")
    )
    return NotPossible(
        f"expected a public {what} bound on the rows of every group, for {item.name} of a sample within "
        f"{float(within):g}; got none. Add {clause} (if that is known without looking at the data), or give "
        "EPSILON in place of the bound."
    )
