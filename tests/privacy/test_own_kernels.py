"""Kernels of one's own that are not what they say: refused, or looked at for every shift, never believed.

Each is a law that somebody could write down in good faith. What brdp states for it is held against a plain sum
over all shifts and both directions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

import brdp
from brdp.errors import InvalidInput


@dataclass(frozen=True)
class Table(brdp.Kernel):
    """Masses on the integers, as they are given: pairs (k, weight), made to add up to `total`."""

    weights: tuple[tuple[int, float], ...]
    total: float = 1.0

    def masses(self):
        scale = self.total / math.fsum(weight for _, weight in self.weights)
        return {k: scale * weight for k, weight in self.weights}

    @property
    def lattice(self):
        return True

    @property
    def log_concave(self):
        return False

    def log_pdf(self, x):
        masses = self.masses()
        found = [masses.get(int(k), 0.0) if abs(k) < 1e6 else 0.0 for k in np.ravel(x)]
        with np.errstate(divide="ignore"):
            return np.log(np.array(found)).reshape(np.shape(x))

    def log_mass(self, low, high):
        low, high = np.broadcast_arrays(np.asarray(low, float), np.asarray(high, float))
        masses = self.masses().items()
        found = [
            math.fsum(mass for k, mass in masses if a <= k <= b)
            for a, b in zip(low.ravel(), high.ravel(), strict=True)
        ]
        with np.errstate(divide="ignore"):
            return np.log(np.array(found)).reshape(low.shape)

    def ppf(self, u):
        raise NotImplementedError

    def upper_moments(self, low):
        some = [(k, mass) for k, mass in self.masses().items() if k >= low]
        return math.fsum(k * m for k, m in some), math.fsum(k * k * m for k, m in some)


def true_delta(kernel: Table, sensitivity: int, epsilon: float, keep=lambda k: 1.0) -> float:
    masses = {k: mass * keep(k) for k, mass in kernel.masses().items()}
    total = math.fsum(masses.values())
    return max(
        math.fsum(
            max(0.0, mass - math.exp(epsilon) * masses.get(k - shift, 0.0))
            for k, mass in masses.items()
        )
        / total
        for shift in range(-sensitivity, sensitivity + 1)
        if shift
    )


REACH = range(-30, 31)
COMB = Table(tuple((k, 0.5 ** abs(k) * (1.0 if k % 2 == 0 else 1e-6)) for k in REACH))
TWO_HILLS = Table(tuple((k, math.exp(-abs(abs(k) - 6))) for k in REACH))
FALLING = Table(tuple((k, 1 / (1 + k * k)) for k in REACH))


@pytest.mark.parametrize("kernel", [COMB, TWO_HILLS, FALLING], ids=["comb", "hills", "falling"])
@pytest.mark.parametrize("sensitivity", [1, 2, 4, 7])
def test_masses_that_rise_take_the_worst_shift(kernel, sensitivity):
    for noise, keep in (
        (kernel, lambda k: 1.0),
        (brdp.Recycled(kernel, within=3, rate=0.6), lambda k: 1.0 if abs(k) <= 3 else 0.4),
    ):
        curve = noise.privacy(sensitivity=sensitivity)
        for epsilon in (0.0, 0.5, 1.5, 3.0):
            truth = true_delta(kernel, sensitivity, epsilon, keep)
            assert truth <= curve.delta(epsilon=epsilon) <= truth * (1 + 1e-9)


def test_the_whole_sensitivity_alone_would_have_promised_too_little():
    """The control: the comb laid on itself by 2 shows next to nothing, by 1 nearly all."""
    masses = COMB.masses()
    whole = math.fsum(
        max(0.0, mass - math.exp(1.5) * masses.get(k - 2, 0.0)) for k, mass in masses.items()
    )
    assert whole < 1e-6 < 0.99 < true_delta(COMB, 2, 1.5)


@dataclass(frozen=True)
class OnTheLine(brdp.Kernel):
    """Standard normal but for what a test takes from it."""

    density: object = None
    moments: float = 1.0
    mass: float = 0.0
    tilt: float = 0.0

    @property
    def lattice(self):
        return False

    @property
    def log_concave(self):
        return True

    def log_pdf(self, x):
        x = np.asarray(x, dtype=float)
        logs = brdp.Gaussian(1).log_pdf(x) if self.density is None else self.density(x)
        return logs + self.tilt * np.tanh(x)

    def log_mass(self, low, high):
        return brdp.Gaussian(1).log_mass(low, high) + self.mass

    def ppf(self, u):
        return brdp.Gaussian(1).ppf(u)

    def upper_moments(self, low):
        first, second = brdp.Gaussian(1).upper_moments(low)
        return self.moments * first, self.moments * second


def two_bumps(x):
    normal = brdp.Gaussian(1)
    return np.logaddexp(normal.log_pdf(x - 3), normal.log_pdf(x + 3)) - math.log(2)


def cauchy(x):
    return -np.log(np.pi * (1 + x * x))


def ends(x):
    return np.where(np.abs(x) <= 5, brdp.Gaussian(1).log_pdf(x), -np.inf)


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (OnTheLine(two_bumps), "log-concave"),
        (OnTheLine(cauchy), "log-concave"),
        (OnTheLine(ends), "a number as far out"),
        (OnTheLine(brdp.Gaussian(1.01).log_pdf), "integral of the density"),
        (OnTheLine(lambda x: np.full(np.shape(x), np.nan)), "numbers"),
        (OnTheLine(tilt=1e-6), "even"),
        (OnTheLine(mass=1e-6), "add up to 1"),
        (OnTheLine(moments=100.0), "upper_moments"),
        (OnTheLine(moments=0.01), "upper_moments"),
        (OnTheLine(moments=math.nan), "upper_moments"),
        (Table(COMB.weights, total=0.5), "upper_moments|add up to 1"),
        (Table(COMB.weights, total=1 + 1e-6), "add up to 1"),
        (Table(tuple((k, 0.5**k) for k in range(30))), "even"),
    ],
)
def test_what_is_no_kernel_is_refused_by_name(kernel, said):
    with pytest.raises(InvalidInput, match=rf"^kernel: expected .*({said})"):
        kernel.privacy(sensitivity=1)


def test_what_is_one_is_let_through():
    """The control: the same kernel with nothing taken from it, and its curve at least the exact one."""
    exact = brdp.Gaussian(1).privacy().delta(epsilon=[0.0, 1.0, 3.0])
    found = OnTheLine().privacy().delta(epsilon=[0.0, 1.0, 3.0])
    assert np.all((found >= exact * (1 - 1e-10)) & (found <= exact * (1 + 1e-8)))


def test_a_kernel_that_cannot_be_hashed_is_refused():
    class Mutable(OnTheLine):
        __hash__ = None

    with pytest.raises(InvalidInput, match="frozen dataclass"):
        Mutable().privacy()
