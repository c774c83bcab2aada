"""Two tables for laws too wide for one: first a block and a shape within it, then the offset.

An exponential has the same law within every block of W integers: f(start + r) = f(start) f(r). Choose the block
with a mass proportional to keep * f(start), then r by the law f(r) / (f(0) + ... + f(W-1)).
Over a block of W integers every other kernel is a polynomial of low degree, up to an error that is bounded and
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
import operator
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
from brdp.noise.release.lookup import Drawer, Integers, Scratch, lock
from brdp.noise.release.shape import Shape, nodes_for

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
    thresholds: Words
    outcome: NDArray[np.int64]
    sums: tuple[Fraction, ...]  # of B_j, or of f(r), over the block
    total_variation: Fraction


@final
@dataclass(frozen=True, slots=True)
class Basis:
    """The laws that a block of `width` integers mixes: Bernstein's polynomials, or those of `shape` itself.

    On the left of 0 an offset counts from the outer end, so there a memoryless shape rises.
    """

    width: int
    nodes: int
    shape: Shape | None = None
    rises: bool = False

    @property
    def rows(self) -> Rows:
        """Their tables."""
        if self.shape is None:
            return rows_of(self.width, self.nodes)
        return rows_within(self.shape, self.width, self.rises)


@final
class TwoStage(Drawer):
    """An alias table over (block, shape), and one per shape over the offsets."""

    __slots__ = ("entries", "offset", "start_and_row", "table", "thresholds", "total_variation")
    WORDS_PER_DRAW = 4

    def __init__(self, support: Support) -> None:
        require_room(support)
        entries = Entries()
        for side in (1, -1):
            for run, keep in runs(support, side=side):
                entries.add(support.shape, run, keep, side=side)
        first = quantise(entries.masses, error=Fraction(entries.error) + support.tail)
        rows = [basis.rows for basis in entries.bases]
        self.total_variation: Fraction = first.total_variation + max(
            r.total_variation for r in rows
        )
        self.entries = entries
        self.table = alias(first.counts)
        self.thresholds = np.concatenate([row.thresholds for row in rows])
        self.offset = np.concatenate([row.outcome for row in rows])
        # the block's start, and in one word where its row begins and by how much to shift; a shift of 63 keeps
        # the padding, which is never drawn, inside the tables
        outcomes = np.full((self.table.columns, 2), WORD - 1, dtype=np.int64)
        count = len(entries.masses)
        outcomes[:count, 0] = entries.starts
        outcomes[:count, 1] = np.asarray(entries.rows, dtype=np.int64) * WORD + entries.shifts
        self.start_and_row = outcomes[self.table.outcome]
        lock(self.table.thresholds, self.start_and_row, self.thresholds, self.offset)

    @property
    def size_in_bytes(self) -> int:
        arrays = (self.table.thresholds, self.start_and_row, self.thresholds, self.offset)
        return sum(array.nbytes for array in arrays)

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
                high, low = map(int, self.thresholds[at])
                below = ((high << WORD) | low) - column * width
                for index, part in ((2 * at, below), (2 * at + 1, width - below)):
                    value = start + int(self.offset[index])
                    found[value] = found.get(value, 0) + count * part
        return {value: Fraction(count, 1 << 4 * WORD) for value, count in found.items() if count}

    def fill(self, numbers: Words, scratch: Scratch, values: Integers) -> None:
        length, drawn = scratch.length, len(values)
        first, first_rest = numbers[:length], numbers[length : 2 * length]
        second, second_rest = numbers[2 * length : 3 * length], numbers[3 * length : 4 * length]
        np.right_shift(first, WORD - self.table.order, out=scratch.column.view(np.uint64))
        scratch.settle(self.table.thresholds, number=first, rest=first_rest)
        # the first stage's numbers are spent: their place holds what it chose
        chosen = numbers[: 2 * length].view(np.int64).reshape(length, 2)
        np.take(self.start_and_row, scratch.column, axis=0, out=chosen, mode="clip")
        row, shift = chosen[:, 1], scratch.threshold[:, 0]
        np.copyto(values, chosen[:drawn, 0])
        np.bitwise_and(row, WORD - 1, out=shift.view(np.int64))
        np.right_shift(row, WORD.bit_length() - 1, out=row)
        np.right_shift(second, shift, out=scratch.column.view(np.uint64))
        np.add(scratch.column, row, out=scratch.column)
        scratch.settle(self.thresholds, number=second, rest=second_rest)
        np.take(
            self.offset, scratch.column[:drawn], out=numbers[:drawn].view(np.int64), mode="clip"
        )
        np.add(values, numbers[:drawn].view(np.int64), out=values)


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
        self.bases: dict[Basis, int] = {}
        self.error = 0
        self._columns = 0
        # symmetric noise has the same runs on both sides
        self._runs: dict[tuple[Run, int], tuple[list[int], int]] = {}

    def _base(self, basis: Basis) -> int:
        if basis not in self.bases:
            self.bases[basis] = self._columns
            self._columns += basis.nodes * basis.rows.columns
        return self.bases[basis]

    def add(self, shape: Shape, run: Run, keep: int, *, side: int) -> None:
        """Add a run of blocks on one side of 0, given by absolute values."""
        width = run.width
        nodes = nodes_for(shape, width) if width > 1 else 1
        within = shape.memoryless and width > 1
        basis = Basis(width, nodes, shape, side < 0) if within else Basis(width, nodes)
        columns = basis.rows.columns
        base = self._base(basis)
        if (run, keep) not in self._runs:
            masses_of = memoryless_masses if within else run_masses
            self._runs[run, keep] = masses_of(shape, run, keep, nodes)
        masses, error = self._runs[run, keep]
        self.masses += masses
        self.error += error
        self.shifts += [WORD - (columns - 1).bit_length()] * len(masses)
        starts = [run.start + block * width for block in range(run.count)]
        rows = [base + j * columns for j in range(nodes)]
        if side < 0:
            # the mirror image, in which B_j becomes B_(d-j)
            starts = [-(start + width - 1) for start in starts]
            rows.reverse()
        self.starts += [start for start in starts for _ in rows]
        self.rows += rows * run.count


def memoryless_masses(shape: Shape, run: Run, keep: int, nodes: int) -> tuple[list[int], int]:
    """Return the masses of all blocks of a run of a memoryless shape, and the error they may have in sum."""
    width = run.width
    (total,) = Basis(width, nodes, shape).rows.sums
    inside = math.floor(total)
    starts = shape.walk(Fraction(run.start), Fraction(width), run.count)
    masses = [(value * keep >> BITS) * inside >> BITS for value in starts]
    # every integer of a block may be off by what its start and its place in the block are off, and by 2 for the weight
    worst = shape.error(run.count) + 2 + shape.error(width)
    return masses, run.count * (width * worst + 1)


def run_masses(shape: Shape, run: Run, keep: int, nodes: int) -> tuple[list[int], int]:
    """Return the masses of all (block, shape) of a run, in ulps, and the error they may have in sum."""
    width = run.width
    points = [
        shape.walk(run.start + width * t - Fraction(1, 2), Fraction(width), run.count)
        for t in node_positions(nodes)
    ]
    matrix, denominator, norm = bernstein_inverse(nodes)
    sums = [(total.numerator, total.denominator) for total in rows_of(width, nodes).sums]
    misfit = math.ceil(shape.misfit(width, nodes) * (1 << BITS)) if width > 1 else 0
    worst = norm * shape.error(run.count) + 1 + misfit
    masses: list[int] = []
    clipped = 0
    for at in zip(*points, strict=True):
        for row, (numerator, over) in zip(matrix, sums, strict=True):
            beta = sum(map(operator.mul, row, at)) // denominator
            if beta < 0:  # not seen yet; a mixture must not subtract
                clipped -= beta
                beta = 0
            masses.append((beta * keep >> BITS) * numerator // over)
    # per block: every integer may be off by `worst`, and by 2 for the weight; every mass is rounded
    return masses, run.count * (width * (worst + 2) + nodes) + width * clipped


def block_width(support: Support) -> int:
    """Choose how wide most blocks are: a power of two."""
    shape = support.shape
    widest = WIDEST_BLOCK
    while widest > max(1.0, shape.widest_block):
        widest //= 2
    width = min(USUAL_BLOCK, widest)
    while width < widest:
        nodes = nodes_for(shape, width)
        # one law within a block: blocks are best about as many as the integers in one
        balanced = nodes > 1 or support.size <= width * width
        if balanced and support.size * nodes <= width * MOST_ENTRIES // 2:
            break
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
            if cell.first <= 0 <= cell.last:
                yield Run(0, 1, 1), cell.keep
            first, last = max(cell.first, 1), cell.last
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
        thresholds=np.concatenate([table.thresholds for table in tables]),
        # past a width of 1 there is no padding; there both columns lead to 0, whatever is padded
        outcome=np.concatenate([np.minimum(table.outcome, width - 1) for table in tables]),
        sums=tuple(sums),
        total_variation=distance,
    )


@functools.lru_cache(maxsize=32)
def rows_within(shape: Shape, width: int, rises: bool) -> Rows:
    """Build the one offset table of a memoryless shape; its sum is in ulps."""
    values = shape.walk(Fraction(0), Fraction(1), width)
    counts = quantise(values, error=Fraction(width * shape.error(width)))
    table = alias(counts.counts[::-1] if rises else counts.counts)
    return Rows(
        columns=table.columns,
        thresholds=table.thresholds,
        outcome=table.outcome,
        sums=(Fraction(sum(values)),),
        total_variation=counts.total_variation,
    )
