"""Random bits: keyed anew after a fork, apart between threads, and never from a generator that can be seeded."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import brdp
from brdp.noise import sampler as sampler_module
from brdp.noise.release import bits
from brdp.noise.sampler import Sampler, exact_sampler_for, sampler_for

WIDE = brdp.DiscreteGaussian(20_000.0)


def take(source: bits.Source, count: int) -> np.ndarray:
    words = np.zeros(count + bits.SPARE_WORDS, dtype=np.uint64)
    source.fill(words)
    return words[:count]


SOURCES = [bits.CounterMode, bits.OperatingSystem]


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("count", [1, 2, 3, 1000, (1 << 17) + 5])
def test_words_are_filled(kind: type[bits.Source], count: int) -> None:
    words = take(kind(), count)
    assert (
        len(np.unique(words)) == count
    )  # a word left at 0 twice, or drawn twice, has odds below 1e-9
    assert np.all(words != 0)


@pytest.mark.parametrize("kind", SOURCES)
def test_every_bit_is_even(kind: type[bits.Source]) -> None:
    """64 bits, 200,000 words: each count within 6 standard deviations; a false alarm in 1e-7 runs."""
    words = take(kind(), 200_000)
    for bit in range(64):
        ones = int(np.sum(words >> np.uint64(bit) & np.uint64(1)))
        assert abs(ones - 100_000) < 6 * np.sqrt(50_000)


@pytest.mark.parametrize("kind", SOURCES)
def test_bytes_of_any_length(kind: type[bits.Source]) -> None:
    source = kind()
    for count in (0, 1, 33, (1 << 20) + 3):
        assert len(source.take(count)) == count
    assert source.take(32) != source.take(32)


def test_counter_mode_is_aes_256() -> None:
    """The stream against the published vector of SP 800-38A, F.5.5, with the key put in by hand."""
    source = bits.CounterMode()
    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    start = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    source._encryptor = source._cipher(
        source._algorithms.AES(key), source._modes.CTR(start)
    ).encryptor()
    plain = bytes.fromhex("6bc1bee22e409f96e93d7e117393172a")
    expected = bytes.fromhex("601ec313775789a5b7a7f504bbf3d228")
    assert bytes(a ^ b for a, b in zip(source.take(16), plain, strict=True)) == expected


def test_a_key_does_not_outlive_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = []
    real = os.urandom
    monkeypatch.setattr(os, "urandom", lambda n: keys.append(n) or real(n))
    monkeypatch.setattr(bits, "LIFETIME", 1 << 16)
    source = bits.CounterMode()
    for _ in range(9):
        source.take(1 << 15)
    assert keys.count(32) == 5


def test_seeding_changes_nothing() -> None:
    drawn = []
    for _ in range(2):
        np.random.seed(1)  # noqa: NPY002 - that is the point
        random.seed(1)
        drawn.append(sampler_for(WIDE).draw(50).tolist())
    assert drawn[0] != drawn[1]


def from_a_child(draw: Callable[[], bytes]) -> bytes:
    """What `draw` returns in a forked child."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - runs in the child
        os.close(read)
        try:
            os.write(write, draw())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        drawn = pipe.read()
    os.waitpid(child, 0)
    return drawn


def test_a_fork_draws_other_noise() -> None:
    """Two children and the parent share a used source at the fork; all three must differ afterwards."""
    sampler = sampler_for(WIDE)
    sampler.draw(10)
    outputs = [from_a_child(lambda: bytes_of(sampler)) for _ in range(2)]
    outputs.append(bytes_of(sampler))
    assert all(len(output) == 160 for output in outputs)
    assert len(set(outputs)) == 3


def test_control_a_fork_without_rekeying_repeats_the_noise() -> None:
    """What the test above guards against: the same source on both sides of a fork gives the same bytes."""
    source = bits.CounterMode()
    assert from_a_child(lambda: source.take(64)) == source.take(64)


# Python 3.12 warns of forks beside threads; that is what is tried here
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_in_a_thread_draws_other_noise() -> None:
    """The thread's own source is used before, then on both sides of the fork."""
    sampler = sampler_for(WIDE)

    def forks() -> tuple[bytes, bytes]:
        sampler.draw(10)
        return from_a_child(lambda: bytes_of(sampler)), bytes_of(sampler)

    with ThreadPoolExecutor(1) as pool:
        theirs, ours = pool.submit(forks).result(timeout=30)
    assert len(theirs) == len(ours) == 160
    assert theirs != ours


class ForksOnce(bits.Source):
    """Good bits, and a fork in the middle of the first draw, as a signal handler may make it."""

    def __init__(self) -> None:
        self.inner = bits.CounterMode()
        self.calls = 0
        self.child = -1

    def _maybe(self) -> None:
        self.calls += 1
        if self.calls == 2:
            self.child = os.fork()

    def fill(self, words: bits.Words) -> None:
        self._maybe()
        self.inner.fill(words)

    def take(self, count: int) -> bytes:
        self._maybe()
        return self.inner.take(count)


@pytest.mark.parametrize("make", [sampler_for, exact_sampler_for])
def test_a_fork_in_the_middle_of_a_draw_draws_other_noise(
    make: Callable[[brdp.Noise], Sampler], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child begins anew: neither what was drawn before the fork nor what comes after is shared."""
    sampler = make(WIDE)
    forking = ForksOnce()
    monkeypatch.setattr(bits._local, "source", None)
    monkeypatch.setattr(
        bits, "new_source", lambda: bits.CounterMode() if forking.calls else forking
    )
    read, write = os.pipe()
    parent = os.getpid()
    drawn = sampler.draw(40_000 if make is sampler_for else 2000)
    if os.getpid() != parent:  # pragma: no cover - runs in the child
        os.write(write, drawn[:1000].tobytes())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        theirs = np.frombuffer(pipe.read(), dtype=np.int64)
    os.waitpid(forking.child, 0)
    assert forking.calls >= 2
    assert len(theirs) == 1000
    # 1000 pairs of a law with 7e4 likely values agree by luck in a handful of places
    assert np.sum(theirs == drawn[:1000]) < 20


def test_a_child_need_not_wait_for_a_lock_that_a_thread_of_its_parent_held() -> None:
    child = 0
    with sampler_module._cache._lock:
        child = os.fork()
        if child == 0:  # pragma: no cover - runs in the child
            signal.alarm(20)
            sampler_for(brdp.DiscreteLaplace(5.25)).draw(1)
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def bytes_of(sampler: Sampler) -> bytes:
    return sampler.draw(20).tobytes()


def test_copies_of_a_sampler_draw_other_noise() -> None:
    """A sampler is its law, not a state: copied, pickled, sent to a process that was spawned."""
    for sampler in (sampler_for(WIDE), exact_sampler_for(WIDE)):
        copies = [sampler, copy.copy(sampler), copy.deepcopy(sampler)]
        copies += [pickle.loads(pickle.dumps(sampler)) for _ in range(2)]
        assert len({bytes_of(one) for one in copies}) == len(copies)
        assert {one.noise for one in copies} == {WIDE}
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        spawned = list(pool.map(bytes_of, [sampler_for(WIDE)] * 4))
    assert len(set(spawned)) == 4


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize(
    "make", [bits.CounterMode, bits.OperatingSystem, lambda: bits.Integers(bits.source())]
)
def test_what_gives_random_numbers_cannot_be_copied(
    duplicate: Callable[[object], object], make: Callable[[], object]
) -> None:
    with pytest.raises(TypeError, match="cannot be copied"):
        duplicate(make())


def test_a_foreign_fork_is_noticed_by_the_process_id(monkeypatch: pytest.MonkeyPatch) -> None:
    first = bits.source()
    assert bits.source() is first
    monkeypatch.setattr(os, "getpid", lambda: -5)
    assert bits.source() is not first


def test_threads_have_their_own_keys() -> None:
    barrier = threading.Barrier(4)

    def draw(_: int) -> tuple[int, bytes]:
        barrier.wait(timeout=30)
        return id(bits.source()), sampler_for(WIDE).draw(1000).tobytes()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(draw, range(4)))
    assert len({key for key, _ in found}) == 4
    assert len({values for _, values in found}) == 4


def test_many_threads_share_samplers() -> None:
    """Eight threads draw from four laws at once; each result follows its law (6 standard deviations, 1e-7)."""
    noises = [
        brdp.DiscreteLaplace(3.0),
        brdp.DiscreteGaussian(9.0),
        WIDE,
        brdp.DiscreteLaplace(40_000.0),
    ]

    def draw(job: int) -> tuple[brdp.Noise, np.ndarray]:
        noise = noises[job % 4]
        return noise, sampler_for(noise).draw(200_000)

    with ThreadPoolExecutor(8) as pool:
        for noise, values in pool.map(draw, range(32)):
            assert abs(values.mean()) < 6 * noise.std / np.sqrt(len(values))
            assert abs(values.std() / noise.std - 1) < 0.02


WITHOUT = """
import os, sys
sys.modules["cryptography"] = None  # as if it were not installed
import numpy as np
import brdp
from brdp.noise.release import bits
from brdp.noise.sampler import exact_sampler_for, sampler_for
assert isinstance(bits.source(), bits.OperatingSystem)
for noise in (brdp.DiscreteLaplace(4.0), brdp.DiscreteGaussian(20_000.0)):
    for values in (sampler_for(noise).draw(100_000), exact_sampler_for(noise).draw(3000)):
        assert abs(values.mean()) < 7 * noise.std / len(values) ** 0.5
        assert abs(values.std() / noise.std - 1) < 0.2
read, write = os.pipe()
child = os.fork()
mine = sampler_for(noise).draw(20).tobytes()
if child == 0:
    os.write(write, mine)
    os._exit(0)
assert os.read(read, 160) != mine
os.waitpid(child, 0)
print("drawn")
"""


def test_without_cryptography_the_operating_system_serves() -> None:
    """A process in which it cannot be imported draws the same laws (7 standard deviations) and survives forks."""
    done = subprocess.run([sys.executable, "-c", WITHOUT], check=True, capture_output=True)
    assert done.stdout == b"drawn\n"
    assert isinstance(bits.new_source(), bits.CounterMode)


def test_importing_the_sampler_needs_the_core_only() -> None:
    code = (
        "import sys, brdp.noise.sampler; "
        "sys.exit(any(m in sys.modules for m in ('cryptography', 'matplotlib', 'scipy.stats')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
