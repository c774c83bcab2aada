"""Random bits: keyed anew after a fork, apart between threads, and never from a generator that can be seeded."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import brdp
from brdp import _extras
from brdp.errors import MissingExtra
from brdp.noise.release import bits
from brdp.noise.sampler import sampler_for

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


def test_a_fork_draws_other_noise() -> None:
    """Two children and the parent share a used source at the fork; all three must differ afterwards."""
    sampler = sampler_for(WIDE)
    sampler.draw(10)
    outputs = []
    for _ in range(2):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:  # pragma: no cover - runs in the child
            os.close(read)
            try:
                os.write(write, sampler.draw(20).tobytes())
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            outputs.append(pipe.read())
        os.waitpid(child, 0)
    outputs.append(sampler.draw(20).tobytes())
    assert all(len(output) == 160 for output in outputs)
    assert len(set(outputs)) == 3


def test_control_a_fork_without_rekeying_repeats_the_noise() -> None:
    """What the test above guards against: the same source on both sides of a fork gives the same bytes."""
    source = bits.CounterMode()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - runs in the child
        os.close(read)
        try:
            os.write(write, source.take(64))
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == source.take(64)
    os.waitpid(child, 0)


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


def test_without_cryptography_the_operating_system_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(module: str, *, extra: str) -> None:
        raise MissingExtra(module)

    monkeypatch.setattr(bits, "require", missing)
    assert isinstance(bits.new_source(), bits.OperatingSystem)
    monkeypatch.setattr(bits, "require", _extras.require)
    assert isinstance(bits.new_source(), bits.CounterMode)


def test_importing_the_sampler_needs_the_core_only() -> None:
    code = (
        "import sys, brdp.noise.sampler; "
        "sys.exit(any(m in sys.modules for m in ('cryptography', 'matplotlib', 'scipy.stats')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
