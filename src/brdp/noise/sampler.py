"""The release sampler: integer noise from cryptographic randomness, in two ways.

`sampler_for(noise)` draws from certified tables: fast, the same work for every draw, within a stated total
variation of the law. `exact_sampler_for(noise)` runs the paper's loop on exact integers: slow, no error at
all, for budgets with delta = 0. Only noise on the integers is ever released.

What Python and numpy cannot promise: the operations and the number of memory accesses of a table draw do not
depend on what is drawn, but which cache lines are touched does, numpy may compare words with whatever
instructions it likes, and memory that held random bits is overwritten but may have been copied before.
The exact loop's time depends on the value drawn; see docs/theory/release.md.
"""

from __future__ import annotations

import abc
import threading
from collections import OrderedDict
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from brdp import _validate
from brdp.errors import InvalidInput
from brdp.noise.base import Noise
from brdp.noise.release import bits, exact, one_table, two_stage
from brdp.noise.release.cells import support_of, too_wide
from brdp.noise.release.lookup import Drawer

# Tables kept ready, in bytes; the least recently used go first.
CACHE_BYTES = 256 << 20
# Beyond these rounds per draw the literal loop would not end in anyone's time.
MOST_ROUNDS = 1e6
# What is drawn is held in 64 bits: exact noise reaches further with a probability below exp(-LEAST_CHANCE).
LARGEST_VALUE, LEAST_CHANCE = 2.0**62, 700.0
# No release is made from a table that is further from its law than this.
WORST_TOTAL_VARIATION = Fraction(1, 1 << 90)


class Sampler(abc.ABC):
    """Draws one integer noise for release. Threads may share it; it survives forks."""

    __slots__ = ()

    @property
    @abc.abstractmethod
    def noise(self) -> Noise:
        """The law that is stated, and that privacy is accounted for."""

    @property
    @abc.abstractmethod
    def total_variation(self) -> Fraction:
        """An upper bound on the distance between the law drawn, given uniform bits, and the law stated.

        Guarantee: a release that states (epsilon, delta) by the law of `noise` satisfies
        (epsilon, delta + (1 + e^epsilon) total_variation). Proof: docs/theory/release.md.
        """

    @abc.abstractmethod
    def draw(self, size: int) -> NDArray[np.int64]:
        """Draw `size` independent values."""


@final
class TableSampler(Sampler):
    """Draws by table look-up: constant work, whatever is drawn."""

    __slots__ = ("_noise", "_tables", "_total_variation")
    _total_variation: Fraction

    def __init__(self, noise: Noise) -> None:
        support = support_of(noise)
        tables: one_table.OneTable | two_stage.TwoStage
        if support.size <= one_table.LARGEST:
            tables = one_table.OneTable(support)
        else:
            try:
                tables = two_stage.TwoStage(support)
            except two_stage.TooManyEntries:
                raise too_wide(noise) from None
        if tables.total_variation > WORST_TOTAL_VARIATION:
            raise too_wide(noise)
        self._noise = noise
        self._tables: Drawer = tables
        self._total_variation = tables.total_variation

    def __repr__(self) -> str:
        return f"TableSampler({self._noise!r})"

    @property
    def noise(self) -> Noise:
        return self._noise

    @property
    def total_variation(self) -> Fraction:
        return self._total_variation

    @property
    def tables(self) -> Drawer:
        """The tables, which anyone may know: they follow from the noise."""
        return self._tables

    def draw(self, size: int) -> NDArray[np.int64]:
        size = _validate.whole(size=size, least=0)
        return bits.in_one_process(lambda source: self._tables.draw(source, size))


@final
class ExactSampler(Sampler):
    """Draws by the paper's loop over exact integers."""

    __slots__ = ("_loop", "_noise")

    def __init__(self, noise: Noise) -> None:
        if not noise.lattice:
            raise InvalidInput(
                "noise",
                expected="noise on the integers",
                got=noise,
                remedy="Plan on the lattice (integer=True): noise on the reals is never released.",
            )
        loop = exact.Loop(noise)
        if not loop.rounds <= MOST_ROUNDS:
            raise InvalidInput(
                "noise",
                expected=f"noise that is kept at least once in {MOST_ROUNDS:.0e} rounds",
                got=noise,
                remedy="Use sampler_for, whose work does not depend on rounds, with a delta above 0.",
            )
        if not noise.kernel.log_mass(LARGEST_VALUE, np.inf) < -LEAST_CHANCE:
            raise InvalidInput(
                "noise",
                expected="noise that stays within 64 bits",
                got=noise,
                remedy="Choose a coarser resolution, so that the scale is fewer steps.",
            )
        self._noise = noise
        self._loop = loop

    def __repr__(self) -> str:
        return f"ExactSampler({self._noise!r})"

    @property
    def noise(self) -> Noise:
        return self._noise

    @property
    def total_variation(self) -> Fraction:
        return Fraction(0)

    def draw(self, size: int) -> NDArray[np.int64]:
        size = _validate.whole(size=size, least=0)
        return bits.in_one_process(lambda source: self._draw(bits.Integers(source), size))

    def _draw(self, integers: bits.Integers, size: int) -> NDArray[np.int64]:
        values = np.empty(size, dtype=np.int64)
        try:
            for index in range(size):
                values[index] = self._loop(integers)
        except BaseException as error:
            # whoever logs the local variables of an error must find neither noise nor random bits there; the
            # loop's own frames, which hold some, are cut from the error
            values.fill(0)
            integers.forget()
            raise error.with_traceback(None) from None
        return values


@final
class _Cache:
    """Samplers by their noise, within a limit of bytes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Noise, TableSampler] = OrderedDict()
        self._bytes = 0

    def get(self, noise: Noise) -> TableSampler:
        with self._lock:
            found = self._kept.get(noise)
            if found is not None:
                self._kept.move_to_end(noise)
                return found
        # built outside the lock: two threads may build the same table, which costs time and nothing else
        made = TableSampler(noise)
        with self._lock:
            if noise not in self._kept:
                self._kept[noise] = made
                self._bytes += made.tables.size_in_bytes
                while self._bytes > CACHE_BYTES and len(self._kept) > 1:
                    _, dropped = self._kept.popitem(last=False)
                    self._bytes -= dropped.tables.size_in_bytes
            return self._kept.get(noise, made)

    def renew(self) -> None:
        # a fork may have copied the lock while another thread held it
        self._lock = threading.Lock()


_cache = _Cache()
bits.after_fork(_cache.renew)


def sampler_for(noise: Noise) -> TableSampler:
    """Return the table sampler for integer noise, built once and kept by the noise's value."""
    return _cache.get(noise)


def require_table(noise: Noise) -> None:
    """Refuse, in milliseconds, noise that `sampler_for` would refuse as too wide for its tables.

    For planning, which has to know but does not draw.
    """
    support = support_of(noise)
    if support.size > one_table.LARGEST:
        try:
            two_stage.require_room(support)
        except two_stage.TooManyEntries:
            raise too_wide(noise) from None


def exact_sampler_for(noise: Noise) -> ExactSampler:
    """Return the exact sampler for integer noise: no distance to the law at all, microseconds per round."""
    return ExactSampler(noise)
