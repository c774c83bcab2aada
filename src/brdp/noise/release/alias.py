"""Alias tables: any law of 128-bit masses drawn with one look-up and one comparison.

Cut the unit interval into 2^m columns of equal width. Each outcome's mass is spread over columns so that no
column holds more than two outcomes; the top m bits of a 128-bit number choose the column, the whole number is
compared with one threshold, and that decides between the two. The probability of each outcome is then exactly
its count / 2^128, and the work is the same for every draw: no search, no loop, no branch on what was drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from brdp.noise.release.bits import Words

WORD = 64
TOTAL = 1 << 128
MASK = (1 << WORD) - 1


@final
@dataclass(frozen=True, slots=True, eq=False)
class Alias:
    """Columns: a 128-bit threshold each (two words), and the outcomes below and from it on.

    `outcome[2 c]` is drawn from column c below its threshold, `outcome[2 c + 1]` from the threshold on.
    """

    order: int  # there are 2^order columns
    thresholds: (
        Words  # a row per column: its high and its low word, so that one memory access has both
    )
    outcome: NDArray[np.int64]

    @property
    def columns(self) -> int:
        return 1 << self.order

    def counts(self) -> list[int]:
        """Return how many of the 2^128 numbers lead to each outcome, padding included: for tests."""
        width = TOTAL >> self.order
        counts = [0] * self.columns
        for column, (high, low) in enumerate(self.thresholds.tolist()):
            below = ((high << WORD) | low) - column * width
            counts[self.outcome[2 * column]] += below
            counts[self.outcome[2 * column + 1]] += width - below
        return counts


@final
@dataclass(frozen=True, slots=True)
class Counts:
    """A law as integers that add up to 2^128, and how far that is from the law meant."""

    counts: list[int]
    total_variation: Fraction


def quantise(masses: Sequence[int], *, error: Fraction = Fraction(0)) -> Counts:
    """Turn masses (any unit) into 128-bit counts.

    `error` bounds the sum over all outcomes, those left out included, of |mass given - true mass|, in the
    unit of the masses. Guarantee: the total variation stated is an upper bound. Scaling masses that are off by
    `error` in sum by their own sum instead of the true one costs at most error / (sum - error); rounding
    down and giving the remainder to the largest costs at most 2^-128 per outcome.
    """
    total = sum(masses)
    counts = [mass * TOTAL // total for mass in masses]
    missing = TOTAL - sum(counts)
    counts[max(range(len(counts)), key=counts.__getitem__)] += missing
    certain = total - error
    if certain <= 0:
        return Counts(counts, Fraction(1))
    return Counts(counts, min(Fraction(1), error / certain + Fraction(missing, TOTAL)))


def alias(counts: Sequence[int], *, least_order: int = 1) -> Alias:
    """Build the table for counts that add up to 2^128; exact, in integers.

    Columns that hold less than their width (light) are filled up from one that holds more (heavy), in order;
    a heavy column that has given enough becomes light and is filled up by the next heavy one.
    """
    order = max(least_order, (len(counts) - 1).bit_length())
    columns = 1 << order
    width = TOTAL >> order
    held = [*counts, *([0] * (columns - len(counts)))]
    threshold = [0] * columns
    other = list(range(columns))  # a full column leads to itself whatever its threshold
    heavies = iter([column for column, count in enumerate(held) if count > width])
    heavy = next(heavies, -1)
    rest = held[heavy]
    for light in [column for column, count in enumerate(held) if count < width]:
        while rest <= width:
            # this heavy column has become light: it keeps `rest`, the next one fills it up
            following = next(heavies)
            if rest < width:
                threshold[heavy], other[heavy] = rest, following
            rest = held[following] - (width - rest)
            heavy = following
        threshold[light], other[light] = held[light], heavy
        rest -= width - held[light]
    for following in heavies:
        if rest < width:
            threshold[heavy], other[heavy] = rest, following
        rest = held[following] - (width - rest)
        heavy = following
    thresholds = words([column * width + below for column, below in enumerate(threshold)])
    outcome = np.empty(2 * columns, dtype=np.int64)
    outcome[0::2] = np.arange(columns)
    outcome[1::2] = other
    return Alias(order, thresholds, outcome)


def words(numbers: Sequence[int]) -> Words:
    """Split 128-bit numbers into rows of a high and a low word."""
    packed = b"".join([number.to_bytes(16, "big") for number in numbers])
    return np.frombuffer(packed, dtype=">u8").astype(np.uint64).reshape(-1, 2)
