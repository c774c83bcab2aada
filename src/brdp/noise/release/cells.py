"""A noise's law on the integers, cut into its support and its recycler's cells."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from brdp.errors import InvalidInput, NotPossible
from brdp.noise.base import Noise
from brdp.noise.release.fixed import BITS, weight
from brdp.noise.release.shape import TAIL_BITS, Shape, shape_of

# What is kept more seldom than this is a different law in all but name, and would use up a table's 256 bits.
MOST_ROUNDS = 1e20
# No table is made for noise wider than this; the limits of the tables themselves are far narrower.
WIDEST = 1 << 62


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """The integers from `first` to `last`, all kept with the weight `keep` (in ulps, largest is 1)."""

    first: int
    last: int
    keep: int


@final
@dataclass(frozen=True, slots=True)
class Support:
    """What a table covers: `cells` side by side, and a bound on the mass beyond them (in ulps)."""

    shape: Shape
    cells: tuple[Cell, ...]
    tail: Fraction

    @property
    def first(self) -> int:
        return self.cells[0].first

    @property
    def last(self) -> int:
        return self.cells[-1].last

    @property
    def size(self) -> int:
        return self.last - self.first + 1


def whole_cells(noise: Noise) -> Iterator[tuple[float, float, Fraction]]:
    """Yield the first and last integer of each of the recycler's cells, with its weight as it is."""
    edges = (-math.inf, *noise.recycler.edges, math.inf)
    for start, end, keep in zip(edges, edges[1:], noise.recycler.keeps, strict=False):
        first = start if math.isinf(start) else math.ceil(start)
        last = end if math.isinf(end) else math.floor(end)
        if first <= last:
            yield first, last, Fraction(keep)


def support_of(noise: Noise) -> Support:
    """Return the support that leaves about 2^-TAIL_BITS of the law out, with a certified bound on that.

    Weights are divided by the largest, which changes nothing: only their ratios matter.
    """
    if not noise.lattice:
        raise InvalidInput(
            "noise",
            expected="noise on the integers",
            got=noise,
            remedy="Plan on the lattice (integer=True): noise on the reals is never released.",
        )
    shape = shape_of(noise.kernel)
    cells = list(whole_cells(noise))
    largest = max(keep for _, _, keep in cells)
    kept = [(first, last, keep / largest) for first, last, keep in cells if keep > 0]
    # a rough figure that only chooses the support; the bound on what is left out is certified below
    rarity = noise.expected_rounds * float(largest)
    if not rarity <= MOST_ROUNDS:
        raise NotPossible(
            f"expected noise that is kept at least once in {MOST_ROUNDS:.0e} rounds, got {noise!r}. Choose "
            "bounds that the kernel reaches."
        )
    reach = shape.reach(TAIL_BITS * math.log(2) + max(0.0, math.log(rarity)))
    if reach > WIDEST:
        raise too_wide(noise)
    covered = []
    for first, last, keep in kept:
        start, end = int(max(first, -reach)), int(min(last, reach))
        if start <= end:
            covered.append(Cell(start, end, weight(keep)))
    if not covered:
        raise NotPossible(
            f"expected noise with some mass within {reach} steps of 0, got {noise!r}. "
            "Choose bounds that the kernel reaches."
        )
    sides = any(first < -reach for first, _, _ in kept) + any(last > reach for _, last, _ in kept)
    return Support(shape, tuple(covered), shape.tail(reach) * sides)


def too_wide(noise: Noise) -> NotPossible:
    """Return the refusal of noise that no table holds."""
    return NotPossible(
        f"expected noise that fits a table, got {noise!r}, which is too wide. Choose a coarser resolution."
    )


def keep_masses(values: list[int], keep: int) -> list[int]:
    """Multiply values by a weight, both in ulps; this is off by at most 2 ulps more."""
    return values if keep == 1 << BITS else [value * keep >> BITS for value in values]
