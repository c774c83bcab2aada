"""Looking numbers up in alias tables, a chunk at a time, with the same operations whatever is drawn."""

from __future__ import annotations

import abc
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from brdp.noise.release.bits import SPARE_WORDS, Source, Words

Integers = NDArray[np.int64]

# Draws per chunk: scratch arrays of this length stay in the cache.
CHUNK = 1 << 14


class Drawer(abc.ABC):
    """A law as tables. Read-only after it is built, so threads may share it."""

    __slots__ = ()
    WORDS_PER_DRAW: int

    @abc.abstractmethod
    def fill(self, numbers: Words, scratch: Scratch, values: Integers) -> None:
        """Turn uniform words into draws: WORDS_PER_DRAW * scratch.length words, `len(values)` draws.

        The last chunk may hold fewer values than the scratch is long.
        """

    @property
    @abc.abstractmethod
    def size_in_bytes(self) -> int:
        """What the tables take in memory."""

    @final
    def draw(self, source: Source, size: int) -> Integers:
        values = np.empty(size, dtype=np.int64)
        length = min(size, CHUNK)
        if length == 0:
            return values
        scratch = Scratch(length)
        # the random words belong to this call alone and are overwritten when it ends
        numbers = np.empty(self.WORDS_PER_DRAW * length + SPARE_WORDS, dtype=np.uint64)
        try:
            for start in range(0, size, length):
                source.fill(numbers)
                self.fill(numbers, scratch, values[start : start + length])
        except BaseException:
            # whoever logs the local variables of an error must not find noise there
            values.fill(0)
            raise
        finally:
            numbers.fill(0)
            scratch.clear()
        return values


def lock(*tables: NDArray[Any]) -> None:
    """Make finished tables read-only: whoever holds one could otherwise change the law for everybody."""
    for table in tables:
        table.setflags(write=False)


@final
class Scratch:
    """Arrays that the steps of one chunk write into."""

    __slots__ = ("above", "column", "equal", "length", "threshold")

    def __init__(self, length: int) -> None:
        self.length = length
        self.column = np.empty(length, dtype=np.int64)
        self.threshold = np.empty((length, 2), dtype=np.uint64)
        self.above = np.empty(length, dtype=np.bool_)
        self.equal = np.empty(length, dtype=np.bool_)

    def clear(self) -> None:
        for array in (self.column, self.threshold, self.above, self.equal):
            array.fill(0)

    def settle(self, thresholds: Words, *, number: Words, rest: Words) -> None:
        """Replace each column c by 2c, or by 2c + 1 where the number is not below c's threshold.

        `number` and `rest` are the high and low words of the number. Both words are compared for every
        draw, although the low one decides only once in 2^64: so the work says nothing of the draw.
        """
        # columns are in range by construction; "clip" spares numpy a buffered copy, it never clips
        np.take(thresholds, self.column, axis=0, out=self.threshold, mode="clip")
        high, low = self.threshold[:, 0], self.threshold[:, 1]
        np.greater(number, high, out=self.above)
        np.equal(number, high, out=self.equal)
        # rest >= threshold, and only where the high words are equal
        np.logical_and(self.equal, np.greater_equal(rest, low), out=self.equal)
        np.logical_or(self.above, self.equal, out=self.above)
        np.left_shift(self.column, 1, out=self.column)
        np.bitwise_or(self.column, self.above.view(np.uint8), out=self.column)
