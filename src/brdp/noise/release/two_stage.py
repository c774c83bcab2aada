"""Two tables for laws too wide for one: first a block and a shape within it, then the offset.

Over a block of W integers every kernel is a polynomial of low degree, up to an error that is bounded and
far below 2^-100: f(start + r) = sum over j of beta_j B_j(x), x = (2r+1)/(2W), with the Bernstein
polynomials B_j(x) = C(d,j) x^j (1-x)^(d-j). They and the beta_j are not negative, so this is a mixture:
choose the pair (block, j) with a mass proportional to keep * beta_j * sum of B_j, then r by the law B_j / sum of
B_j, whose table all blocks of one width share. Both choices are alias look-ups: the work is constant.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from brdp.noise.release.alias import WORD, alias, quantise
from brdp.noise.release.bits import Words
from brdp.noise.release.cells import Support
from brdp.noise.release.fixed import BITS
from brdp.noise.release.lookup import Drawer, Integers, Scratch
from brdp.noise.release.shape import nodes_for

# Together they keep the tables within 64 MiB: 2^15 * 16 rows, twice for narrower blocks, at 32 bytes, and
# 2^19 columns of the first stage at 64 bytes.
WIDEST_BLOCK = 1 << 15
MOST_ENTRIES = 1 << 19
# Of the widths that do, the least from here on: its offset tables stay in the cache.
USUAL_BLOCK = 1 << 12
# Narrower blocks of a smooth kernel are not worth a polynomial: their integers stand alone.
NARROWEST_SMOOTH = 16


@final
@dataclass(frozen=True, slots=True)
class Run:
    """`count` blocks of `width` integers side by side, the first integer being `start`."""

    start: int
    width: int
    count: int


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The offset tables for blocks of one width: row j begins at column j * columns."""

    columns: int
    high: Words
    low: Words
    outcome: NDArray[np.int64]
    sums: tuple[Fraction, ...]  # of B_j over the block
    total_variation: Fraction


@final
class TwoStage(Drawer):
    """An alias table over (block, shape), and one per shape over the offsets."""

    __slots__ = (
        "base",
        "entries",
        "high",
        "low",
        "offset",
        "shift",
        "start",
        "table",
        "total_variation",
    )
    WORDS_PER_DRAW = 4

    def __init__(self, support: Support) -> None:
        require_room(support)
        entries = Entries()
        for side in (1, -1):
            for run, keep in runs(support, side=side):
                entries.add(support, run, keep, side=side)
        first = quantise(entries.masses, error=Fraction(entries.error) + support.tail)
        rows = [rows_of(width, nodes) for width, nodes in entries.bases]
        self.total_variation: Fraction = first.total_variation + max(
            r.total_variation for r in rows
        )
        self.entries = entries
        self.table = alias(first.counts)
        self.high = np.concatenate([row.high for row in rows])
        self.low = np.concatenate([row.low for row in rows])
        self.offset = np.concatenate([row.outcome for row in rows])
        columns = self.table.columns
        start, base, shift = (np.zeros(columns, dtype=np.int64) for _ in range(3))
        start[: len(entries.masses)] = entries.starts
        base[: len(entries.masses)] = entries.rows
        # a shift of 63 keeps the padding, which is never drawn, inside the tables
        shift[:] = WORD - 1
        shift[: len(entries.masses)] = entries.shifts
        self.start, self.base = start[self.table.outcome], base[self.table.outcome]
        self.shift = shift[self.table.outcome].astype(np.uint64)

    @property
    def size_in_bytes(self) -> int:
        first = (self.table.high, self.table.low, self.start, self.base, self.shift)
        return sum(array.nbytes for array in (*first, self.high, self.low, self.offset))

    def law(self) -> dict[int, Fraction]:
        """Return the probabilities really drawn, read back from the tables of both stages."""
        entries = self.entries
        counts = self.table.counts()[: len(entries.masses)]
        found: dict[int, int] = {}
        for count, start, base, shift in zip(
            counts, entries.starts, entries.rows, entries.shifts, strict=True
        ):
            width = 1 << (WORD + shift)
            for column in range(1 << (WORD - shift)):
                at = base + column
                below = ((int(self.high[at]) << WORD) | int(self.low[at])) - column * width
                for index, part in ((2 * at, below), (2 * at + 1, width - below)):
                    value = start + int(self.offset[index])
                    found[value] = found.get(value, 0) + count * part
        return {value: Fraction(count, 1 << 4 * WORD) for value, count in found.items() if count}

    def fill(self, numbers: Words, scratch: Scratch, values: Integers) -> None:
        length, drawn = scratch.length, len(values)
        first, first_rest = numbers[:length], numbers[length : 2 * length]
        second, second_rest = numbers[2 * length : 3 * length], numbers[3 * length : 4 * length]
        np.right_shift(first, WORD - self.table.order, out=scratch.column.view(np.uint64))
        scratch.settle(self.table.high, self.table.low, number=first, rest=first_rest)
        np.take(self.start, scratch.column[:drawn], out=values, mode="clip")
        # the first stage's numbers are spent: their place holds the shifts and the row starts
        shifts, bases = first, first_rest.view(np.int64)
        np.take(self.shift, scratch.column, out=shifts, mode="clip")
        np.take(self.base, scratch.column, out=bases, mode="clip")
        np.right_shift(second, shifts, out=scratch.column.view(np.uint64))
        np.add(scratch.column, bases, out=scratch.column)
        scratch.settle(self.high, self.low, number=second, rest=second_rest)
        np.take(self.offset, scratch.column, out=bases, mode="clip")
        np.add(values, bases[:drawn], out=values)


def require_room(support: Support) -> None:
    """Raise TooManyEntries where a law would not fit; quick, for nothing is built."""
    entries = 0
    for side in (1, -1):
        for run, _ in runs(support, side=side):
            entries += run.count * (nodes_for(support.shape, run.width) if run.width > 1 else 1)
            if entries > MOST_ENTRIES:
                raise TooManyEntries


class TooManyEntries(Exception):
    """The law does not fit: a signal inside this package, never shown."""


@final
class Entries:
    """The pairs (block, shape) of the first stage, with their masses in ulps."""

    def __init__(self) -> None:
        self.masses: list[int] = []
        self.starts: list[int] = []
        self.rows: list[int] = []
        self.shifts: list[int] = []
        self.bases: dict[tuple[int, int], int] = {}
        self.error = 0
        self._columns = 0

    def _base(self, width: int, nodes: int) -> int:
        if (width, nodes) not in self.bases:
            self.bases[width, nodes] = self._columns
            self._columns += nodes * rows_of(width, nodes).columns
        return self.bases[width, nodes]

    def add(self, support: Support, run: Run, keep: int, *, side: int) -> None:
        """Add a run of blocks on one side of 0, given by absolute values."""
        shape, width = support.shape, run.width
        nodes = nodes_for(shape, width) if width > 1 else 1
        base, rows = self._base(width, nodes), rows_of(width, nodes)
        points = [
            shape.walk(run.start + width * t - Fraction(1, 2), Fraction(width), run.count)
            for t in node_positions(nodes)
        ]
        matrix, denominator, norm = bernstein_inverse(nodes)
        shift = WORD - (rows.columns - 1).bit_length()
        misfit = math.ceil(shape.misfit(width, nodes) * (1 << BITS)) if width > 1 else 0
        for block in range(run.count):
            at = [values[block] for values in points]
            weights = [
                sum(a * value for a, value in zip(row, at, strict=True)) // denominator
                for row in matrix
            ]
            start = run.start + block * width
            worst = norm * shape.error(run.count) + 1 + misfit - min(0, *weights, 0)
            self.error += width * (worst + 2) + nodes
            for j in range(nodes):
                # outward from 0, that is mirrored on the negative side, where B_j becomes B_(d-j)
                self.starts.append(start if side > 0 else -(start + width - 1))
                self.rows.append(base + (j if side > 0 else nodes - 1 - j) * rows.columns)
                self.shifts.append(shift)
                mass = max(0, weights[j]) * keep >> BITS
                self.masses.append(mass * rows.sums[j].numerator // rows.sums[j].denominator)


def block_width(support: Support) -> int:
    """Choose how wide most blocks are: a power of two."""
    shape = support.shape
    widest = WIDEST_BLOCK
    while widest > max(1.0, shape.widest_block):
        widest //= 2
    width = min(USUAL_BLOCK, widest)
    while width < widest and support.size * nodes_for(shape, width) > width * MOST_ENTRIES // 2:
        width *= 2
    return width


def runs(support: Support, *, side: int) -> Iterator[tuple[Run, int]]:
    """Cut one side of 0 (by absolute value; 0 itself is on the right) into runs of smooth blocks."""
    shape = support.shape
    pieces = shape.pieces(max(abs(support.first), abs(support.last)))
    cuts = list(itertools.islice(pieces, MOST_ENTRIES // 4))
    if next(pieces, None) is not None:  # each piece is an entry or more on both sides
        raise TooManyEntries
    widest = block_width(support)
    narrowest = 1 if nodes_for(shape, 2) == 1 else NARROWEST_SMOOTH
    for cell in support.cells:
        if side > 0:
            first, last = max(cell.first, 0), cell.last
        else:
            first, last = max(-cell.last, 1), -cell.first
        while first <= last:
            following = bisect.bisect_right(cuts, first)
            end = min(last, cuts[following] - 1) if following < len(cuts) else last
            for run in power_blocks(first, end, widest=widest, narrowest=narrowest):
                yield run, cell.keep
            first = end + 1


def power_blocks(first: int, last: int, *, widest: int, narrowest: int) -> Iterator[Run]:
    """Cover [first, last] with blocks of `widest`, then of halves of it, then with single integers."""
    width = widest
    while first <= last:
        if width < narrowest:
            width = 1
        count = (last - first + 1) // width
        if count:
            yield Run(first, width, count)
            first += count * width
        width //= 2


def node_positions(nodes: int) -> list[Fraction]:
    """Return where a block's polynomial meets the kernel, as shares of the block's width."""
    return [Fraction(2 * i + 1, 2 * nodes) for i in range(nodes)]


@functools.cache
def bernstein_inverse(nodes: int) -> tuple[list[list[int]], int, int]:
    """Return the matrix from node values to Bernstein weights (over one denominator), and its row norm."""
    degree = nodes - 1
    rows = [
        [math.comb(degree, j) * t**j * (1 - t) ** (degree - j) for j in range(nodes)]
        + [Fraction(int(i == k)) for k in range(nodes)]
        for i, t in enumerate(node_positions(nodes))
    ]
    for i in range(nodes):
        pivot = next(k for k in range(i, nodes) if rows[k][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [entry / rows[i][i] for entry in rows[i]]
        for k in range(nodes):
            if k != i and rows[k][i] != 0:
                factor = rows[k][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    inverse = [row[nodes:] for row in rows]
    denominator = math.lcm(*(entry.denominator for row in inverse for entry in row))
    norm = math.ceil(max(sum(abs(entry) for entry in row) for row in inverse))
    return [[int(entry * denominator) for entry in row] for row in inverse], denominator, norm


@functools.lru_cache(maxsize=32)
def rows_of(width: int, nodes: int) -> Rows:
    """Build the offset tables of one block width, all from exact integers."""
    degree = nodes - 1
    pairs = [(2 * r + 1, 2 * width - 2 * r - 1) for r in range(width)]
    tables, sums, distance = [], [], Fraction(0)
    for j in range(nodes):
        values = [math.comb(degree, j) * a**j * b ** (degree - j) for a, b in pairs]
        counts = quantise(values)
        distance = max(distance, counts.total_variation)
        tables.append(alias(counts.counts))
        sums.append(Fraction(sum(values), (2 * width) ** degree))
    return Rows(
        columns=tables[0].columns,
        high=np.concatenate([table.high for table in tables]),
        low=np.concatenate([table.low for table in tables]),
        # past a width of 1 there is no padding; there both columns lead to 0, whatever is padded
        outcome=np.concatenate([np.minimum(table.outcome, width - 1) for table in tables]),
        sums=tuple(sums),
        total_variation=distance,
    )
