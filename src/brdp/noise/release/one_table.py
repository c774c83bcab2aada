"""One table for the whole law: the usual case, up to LARGEST integers."""

from __future__ import annotations

from fractions import Fraction
from typing import final

import numpy as np

from brdp.noise.release.alias import WORD, Alias, Counts, alias, quantise
from brdp.noise.release.bits import Words
from brdp.noise.release.cells import Support, keep_masses
from brdp.noise.release.lookup import Drawer, Integers, Scratch, lock

# The limit of 64 MiB would allow 2^21 columns; 2^18 take 8 MiB, stay in the cache and are built in a
# fraction of a second. Beyond, two stages are quicker in both respects.
LARGEST = 1 << 18


@final
class OneTable(Drawer):
    """An alias table over the integers of a support."""

    __slots__ = ("counts", "integers", "table", "values")
    WORDS_PER_DRAW = 2

    def __init__(self, support: Support) -> None:
        self.integers, self.counts = point_counts(support)
        self.table: Alias = alias(self.counts.counts)
        # columns past the last integer have no mass of their own, so what stands there is never drawn
        padded = np.zeros(self.table.columns, dtype=np.int64)
        padded[: len(self.integers)] = self.integers
        self.values = padded[self.table.outcome]
        lock(self.table.thresholds, self.table.outcome, self.values)

    @property
    def total_variation(self) -> Fraction:
        return self.counts.total_variation

    @property
    def size_in_bytes(self) -> int:
        return self.table.thresholds.nbytes + self.values.nbytes

    def law(self) -> dict[int, Fraction]:
        """Return the probabilities really drawn, read back from the columns."""
        found: dict[int, int] = {}
        width = (1 << 2 * WORD) >> self.table.order
        for column, (high, low) in enumerate(self.table.thresholds.tolist()):
            below = ((high << WORD) | low) - column * width
            for at, count in ((2 * column, below), (2 * column + 1, width - below)):
                if count:
                    value = int(self.values[at])
                    found[value] = found.get(value, 0) + count
        return {value: Fraction(count, 1 << 2 * WORD) for value, count in found.items()}

    def fill(self, numbers: Words, scratch: Scratch, values: Integers) -> None:
        number, rest = numbers[: scratch.length], numbers[scratch.length : 2 * scratch.length]
        np.right_shift(number, WORD - self.table.order, out=scratch.column.view(np.uint64))
        scratch.settle(self.table.thresholds, number=number, rest=rest)
        np.take(self.values, scratch.column[: len(values)], out=values, mode="clip")


def point_counts(support: Support) -> tuple[list[int], Counts]:
    """Return the integers of a support and their 128-bit masses, with a certified distance to the law."""
    reach = max(abs(support.first), abs(support.last))
    values = support.shape.walk(Fraction(0), Fraction(1), reach + 1)
    integers: list[int] = []
    masses: list[int] = []
    for cell in support.cells:
        middle = max(
            cell.first, min(0, cell.last + 1)
        )  # from here on the integers are not negative
        outward = (
            values[-cell.last if cell.last < 0 else 1 : 1 - cell.first] if cell.first < 0 else []
        )
        ordered = outward[::-1] + (values[middle : cell.last + 1] if cell.last >= 0 else [])
        integers.extend(range(cell.first, cell.last + 1))
        masses.extend(keep_masses(ordered, cell.keep))
    error = len(masses) * (support.shape.error(reach + 1) + 2) + support.tail
    return integers, quantise(masses, error=Fraction(error))
