"""Two known attacks: they succeed on a naive floating-point release, and find nothing in ours.

Attacks are judged by the audit on the attacker's verdict. False alarms: each honest audit is at confidence
1 - 1e-6; the attacks on naive releases succeed by margins that no luck explains.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

import brdp
from brdp.audit import Black, Promise, audit
from brdp.noise.lattice import Resolution, resolution_for
from brdp.noise.sampler import sampler_for

SURE = 1 - 1e-6
SCALE = 1.0


def numpy_may_have_drawn(noise: NDArray[np.float64], scale: float) -> NDArray[np.bool_]:
    """Whether Generator.laplace can return these numbers: -+scale log(m 2^-53) for certain whole m (Mironov 2012).

    For u below 1/2 it takes log(u + u), so m is even; above, log(2 - u - u), where 2 - u is rounded first and
    leaves m = 0, 1, 4 or 7 modulo 8. The few m whose logarithm lies nearest are tried, with the logarithm of the
    C library, as numpy's generator uses it (numpy's own differs in last bits).
    """
    log = np.frompyfunc(math.log, 1, 1)
    nearest = np.rint(np.exp(-np.abs(noise) / scale) * 2.0**53)
    found = np.zeros(len(noise), dtype=bool)
    for step in range(-6, 7):
        m = np.maximum(nearest + step, 1.0)
        reached = np.where(noise < 0, m % 2 == 0, np.isin(m % 8, (0, 1, 4, 7)))
        found |= reached & (scale * -log(m * 2.0**-53).astype(float) == np.abs(noise))
    return found


def naive(x: float, size: int) -> NDArray[np.float64]:
    return x + np.random.default_rng().laplace(scale=SCALE, size=size)


def ours(x: float, size: int) -> NDArray[np.float64]:
    """The total x on its lattice, integer noise of the same scale, and one exact float at the end."""
    lattice = resolution_for(sensitivity=1, within=SCALE)
    data = Resolution(-30)
    total = lattice.round_total(round(x * 2**30), data=data)
    noise = brdp.DiscreteLaplace(SCALE / float(lattice.step))
    steps = total + sampler_for(noise).draw(size)
    return np.array([lattice.to_float(step) for step in steps.tolist()])


def attack(release: object) -> Black:
    """The attacker asks of each answer whether numpy could have reached it from the input 0."""

    def verdicts(x: float, size: int) -> NDArray[np.float64]:
        answers = release(x, size)  # type: ignore[operator]
        return numpy_may_have_drawn(answers, SCALE).astype(float)

    return Black(verdicts, inputs=(0.0, 1.0))


def test_the_model_of_numpy_is_right() -> None:
    """Otherwise the attack would fail for want of skill: every number numpy draws is recognised."""
    assert numpy_may_have_drawn(naive(0.0, 200_000), SCALE).all()


def test_low_bits_betray_the_naive_release() -> None:
    report = audit(attack(naive), Promise(epsilon=1.0), draws=100_000, confidence=SURE)
    assert report.broken
    # answers that 0 cannot give: certainty about a third of the time, whatever epsilon was promised
    assert report.delta_lower > 0.3


def test_low_bits_of_ours_say_nothing() -> None:
    report = audit(attack(ours), Promise(epsilon=1.0), draws=100_000, confidence=SURE)
    assert not report.broken


def test_answers_of_ours_lie_on_one_lattice_whatever_the_input() -> None:
    step = float(resolution_for(sensitivity=1, within=SCALE).step)
    for x in (0.0, 1.0, 0.1, 1e6 + 1 / 3):
        answers = ours(x, 2000)
        assert np.all(answers / step == np.rint(answers / step))
        # and every residue of the lattice comes up: 8 low bits, all 256 of them in 2000 draws of a wide law
        assert len(np.unique(np.rint(answers / step) % 256)) > 240


def test_low_bits_of_ours_pass_the_audit_as_a_column() -> None:
    """The answer with its lowest bits beside it, as an attacker would look at them."""
    step = float(resolution_for(sensitivity=1, within=SCALE).step)

    def with_bits(x: float, size: int) -> NDArray[np.float64]:
        answers = ours(x, size)
        return np.column_stack([answers, np.rint(answers / step) % 8])

    report = audit(Black(with_bits), Promise(epsilon=1.0), draws=200_000, confidence=SURE)
    assert not report.broken
    assert report.epsilon_lower > 0.85


# ---- the order of a sum ----

FEW = 1 << 17
MANY = (1 << 24) - FEW  # single precision still counts so far by ones, but no longer by halves
EPSILON = 0.5


def rows(order: int) -> NDArray[np.float32]:
    """The same rows within [0, 1] in two orders: the halves first, or last."""
    halves, ones = np.full(FEW, 0.5, dtype=np.float32), np.ones(MANY, dtype=np.float32)
    return np.concatenate([halves, ones] if order == 0 else [ones, halves])


def float_sum(order: int) -> float:
    """A sum one row after the other, as a streaming engine does it; single precision shows it with few rows."""
    return float(np.add.accumulate(rows(order))[-1])


def lattice_steps(order: int) -> tuple[int, Resolution]:
    data, lattice = Resolution(-20), resolution_for(sensitivity=1, within=1 / EPSILON)
    whole = np.floor(np.clip(rows(order), 0, 1).astype(np.float64) * 2**20 + 0.5).astype(np.int64)
    return lattice.round_total(int(whole.sum()), data=data), lattice


def test_reordering_moves_a_float_sum_by_far_more_than_a_row() -> None:
    first, second = float_sum(0), float_sum(1)
    assert abs(first - second) > 10_000  # the sensitivity is 1

    def naive_sum(order: float, size: int) -> NDArray[np.float64]:
        total = first if order == 0 else second
        return total + np.random.default_rng().laplace(scale=1 / EPSILON, size=size)

    report = audit(Black(naive_sum), Promise(epsilon=EPSILON), draws=20_000, confidence=SURE)
    assert report.broken
    assert report.delta_lower > 0.9


def test_reordering_does_not_move_ours() -> None:
    (first, lattice), (second, _) = lattice_steps(0), lattice_steps(1)
    assert first == second
    assert first * lattice.step == MANY + FEW // 2
    noise = brdp.DiscreteLaplace(1 / EPSILON / float(lattice.step))

    def our_sum(order: float, size: int) -> NDArray[np.int64]:
        return (first if order == 0 else second) + sampler_for(noise).draw(size)

    report = audit(Black(our_sum), Promise(epsilon=EPSILON), draws=20_000, confidence=SURE)
    assert not report.broken
