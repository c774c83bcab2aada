"""Random bits for releases: AES-256-CTR keyed by the operating system, or the operating system itself.

Each thread has a key of its own, so threads share no state and need no lock. A key is dropped after a
fork (both processes would otherwise draw the same noise) and after `LIFETIME` bytes.
"""

from __future__ import annotations

import abc
import os
import threading
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from brdp._extras import require
from brdp.errors import MissingExtra

Words = NDArray[np.uint64]
Drawn = TypeVar("Drawn")

# 2^30 bytes are 2^26 blocks: a permutation then differs from random bits by at most 2^(52-129).
LIFETIME = 1 << 30
# CTR encrypts zeros; one block of them serves every request.
ZEROS = memoryview(bytes(1 << 20))
# Versions of `cryptography` differ in whether the output needs room for one block more.
SPARE_WORDS = 2


class Once:
    """Random numbers that are given out once: a copy would give them again."""

    __slots__ = ()

    @final
    def __reduce_ex__(self, protocol: object) -> NoReturn:
        # copy.copy, copy.deepcopy and pickle all come through here
        raise TypeError("A source of random numbers cannot be copied or pickled: make a new one.")


class Source(Once, abc.ABC):
    """Where uniform bits come from. Not shared between threads."""

    __slots__ = ()

    @abc.abstractmethod
    def fill(self, words: Words) -> None:
        """Fill all but the last SPARE_WORDS words with uniform bits; those are overwritten as well."""

    @abc.abstractmethod
    def take(self, count: int) -> bytes:
        """Return `count` uniform bytes."""


@final
class OperatingSystem(Source):
    """os.urandom for every request: slower, equally safe, and nothing to rekey."""

    __slots__ = ()

    def fill(self, words: Words) -> None:
        wanted = len(words) - SPARE_WORDS
        words[:wanted] = np.frombuffer(os.urandom(8 * wanted), dtype=np.uint64)

    def take(self, count: int) -> bytes:
        return os.urandom(count)


@final
class CounterMode(Source):
    """AES-256 in counter mode, from `cryptography`."""

    __slots__ = ("_algorithms", "_cipher", "_encryptor", "_left", "_modes")

    def __init__(self) -> None:
        ciphers = require("cryptography.hazmat.primitives.ciphers", extra="secure")
        self._cipher: Any = ciphers.Cipher
        self._algorithms: Any = ciphers.algorithms
        self._modes: Any = ciphers.modes
        self._rekey()

    def _rekey(self) -> None:
        key, start = os.urandom(32), os.urandom(16)
        self._encryptor = self._cipher(
            self._algorithms.AES(key), self._modes.CTR(start)
        ).encryptor()
        self._left = LIFETIME

    def _spend(self, count: int) -> None:
        if count > self._left:
            self._rekey()
        self._left -= count

    def fill(self, words: Words) -> None:
        target = words.view(np.uint8).data
        wanted = 8 * (len(words) - SPARE_WORDS)
        for start in range(0, wanted, len(ZEROS)):
            count = min(len(ZEROS), wanted - start)
            self._spend(count)
            self._encryptor.update_into(ZEROS[:count], target[start:])

    def take(self, count: int) -> bytes:
        parts = []
        for start in range(0, count, len(ZEROS)):
            size = min(len(ZEROS), count - start)
            self._spend(size)
            parts.append(self._encryptor.update(ZEROS[:size]))
        return b"".join(parts)


@final
class _Local(threading.local):
    source: Source | None = None
    generation: int = -1
    process: int = -1


_local = _Local()
_generation = 0


def _after_fork() -> None:
    global _generation  # noqa: PLW0603 - one counter a process is the point
    _generation += 1


def after_fork(call: Callable[[], None]) -> None:
    """Have `call` run in the child after every fork, where the platform has forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=call)


after_fork(_after_fork)


def source() -> Source:
    """Return this thread's source, with a fresh key if the process has forked since it was made.

    The counter catches every os.fork, the process id also a fork made by foreign code.
    """
    process = os.getpid()
    current = _local.source
    if current is None or _local.generation != _generation or _local.process != process:
        current = new_source()
        _local.source, _local.generation, _local.process = current, _generation, process
    return current


def new_source() -> Source:
    """Return a new source: counter mode where `cryptography` is installed, else the operating system."""
    try:
        return CounterMode()
    except MissingExtra:
        return OperatingSystem()


def in_one_process(draw: Callable[[Source], Drawn]) -> Drawn:
    """Draw from this thread's source, and once more where the process forked meanwhile.

    A signal handler may fork in the middle of a draw. What the child had drawn by then the parent has as well.
    """
    while True:
        used = source()
        drawn = draw(used)
        if source() is used:
            return drawn


@final
class Integers(Once):
    """Exact uniform integers of any size from a source, for the literal loop."""

    __slots__ = ("_pool", "_source", "_used")
    POOL = 4096

    def __init__(self, source: Source) -> None:
        self._source = source
        self.forget()

    def forget(self) -> None:
        """Drop what is in store."""
        self._pool = b""
        self._used = 0

    def bits(self, count: int) -> int:
        """Return a uniform integer below 2^count."""
        size = (count + 7) // 8
        if self._used + size > len(self._pool):
            self._pool = self._source.take(max(self.POOL, size))
            self._used = 0
        taken = self._pool[self._used : self._used + size]
        self._used += size
        return int.from_bytes(taken, "little") >> (8 * size - count)

    def below(self, bound: int) -> int:
        """Return a uniform integer in [0, bound), by drawing again whatever is too large."""
        count = (bound - 1).bit_length()
        while True:
            value = self.bits(count)
            if value < bound:
                return value
