"""What holds of every curve: arrays, values, shifts, kernels of one's own, and refusals."""

from __future__ import annotations

import contextlib
import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import brdp
from brdp.errors import BrdpError, NotPossible
from brdp.privacy.lattice import laws_of


@dataclass(frozen=True)
class OwnGaussian(brdp.Kernel):
    """A Gaussian that brdp does not know for one: accounted for by its masses alone."""

    sigma: float

    @property
    def lattice(self):
        return False

    @property
    def log_concave(self):
        return True

    def log_pdf(self, x):
        return brdp.Gaussian(self.sigma).log_pdf(x)

    def log_mass(self, low, high):
        return brdp.Gaussian(self.sigma).log_mass(low, high)

    def ppf(self, u):
        return brdp.Gaussian(self.sigma).ppf(u)

    def upper_moments(self, low):
        return brdp.Gaussian(self.sigma).upper_moments(low)


@dataclass(frozen=True)
class OwnGeometric(brdp.Kernel):
    """A discrete Laplace of one's own: every integer is looked at by itself."""

    scale: float

    @property
    def lattice(self):
        return True

    @property
    def log_concave(self):
        return True

    def log_pdf(self, x):
        return brdp.DiscreteLaplace(self.scale).log_pdf(x)

    def log_mass(self, low, high):
        return brdp.DiscreteLaplace(self.scale).log_mass(low, high)

    def ppf(self, u):
        return brdp.DiscreteLaplace(self.scale).ppf(u)

    def upper_moments(self, low):
        return brdp.DiscreteLaplace(self.scale).upper_moments(low)


EPSILONS = np.array([0.0, 0.1, 0.3, 0.6])


@pytest.mark.parametrize(
    ("own", "known"),
    [(OwnGaussian(2.5), brdp.Gaussian(2.5)), (OwnGeometric(3.0), brdp.DiscreteLaplace(3.0))],
)
@pytest.mark.parametrize("rate", [0.0, 0.6])
def test_a_kernel_of_ones_own_is_accounted_for_from_above(own, known, rate):
    theirs = brdp.Recycled(own, within=3, rate=rate).privacy(sensitivity=2)
    ours = brdp.Recycled(known, within=3, rate=rate).privacy(sensitivity=2)
    exact = ours.delta(epsilon=EPSILONS)
    found = theirs.delta(epsilon=EPSILONS)
    # never below the truth; above it by what a difference of masses may be off by, which is next to
    # nothing for deltas of this size, or where there is nothing, by the mass past the window
    assert np.all(found >= exact * (1 - 1e-10))
    assert np.all(found[exact > 0] <= exact[exact > 0] * (1 + 1e-8))
    assert np.all(found[exact == 0] < 1e-300)
    # the moments of an unknown tail are not known: infinity errs on the safe side
    assert theirs.renyi(order=3.0) == math.inf
    assert np.all(np.asarray(theirs.delta_bounds(epsilon=EPSILONS)[0]) <= exact)


CURVES = [
    brdp.Recycled(brdp.Gaussian(2.5), within=1, rate=0.5).privacy(),
    brdp.Recycled(brdp.Laplace(1.2), within=(-1, 2), rate=0.5).privacy(sensitivity=2),
    brdp.Recycled(brdp.DiscreteGaussian(3.0), within=4, rate=0.9).privacy(sensitivity=2),
    brdp.Staircase(core=0.4, step=1.0, drop=0.7).privacy(),
]


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: type(curve.noise.kernel).__name__)
def test_arrays_agree_with_single_values_and_delta_falls(curve):
    epsilons = np.linspace(0, 4, 41)
    deltas = curve.delta(epsilon=epsilons)
    assert deltas.shape == epsilons.shape
    assert np.all(np.diff(deltas) <= 0)
    single = [float(curve.delta(epsilon=e)) for e in epsilons]
    np.testing.assert_allclose(deltas, single, rtol=1e-12, atol=0)
    assert curve.delta(epsilon=epsilons.reshape(41, 1)).shape == (41, 1)


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: type(curve.noise.kernel).__name__)
@pytest.mark.parametrize("delta", [0.3, 1e-2, 1e-5, 1e-12, 1e-40])
def test_epsilon_is_on_the_private_side_and_close(curve, delta):
    lower, upper = curve.epsilon_bounds(delta=delta)
    assert lower <= upper == curve.epsilon(delta=delta)
    if math.isfinite(upper):
        assert curve.delta(epsilon=upper) <= delta or upper >= curve.largest_loss
        assert upper - lower <= 1e-7 * upper + 1e-15


def test_curves_are_values():
    one, two = (brdp.Recycled(brdp.Gaussian(2.5), within=1, rate=0.5).privacy() for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert one != brdp.Recycled(brdp.Gaussian(2.5), within=1, rate=0.6).privacy()
    assert pickle.loads(pickle.dumps(one)) == one


def test_noise_is_frozen():
    noise = brdp.Recycled(brdp.Gaussian(2.5), within=1, rate=0.5)
    with pytest.raises(AttributeError, match="frozen"):
        noise.rate = 0.7


TOOTHED = [(1, 1.0), (4, 0.05), (math.inf, 1.0)]


def test_rising_weights_on_the_integers_take_every_shift():
    """Weights that rise make a smaller shift worse: the largest must be found by looking at all."""
    noise = brdp.Recycled(brdp.DiscreteLaplace(6.0), levels=TOOTHED)
    k = np.arange(-400, 401)
    mass = noise.pdf(k)
    by_shift = [
        np.maximum(0, mass - math.exp(0.5) * noise.pdf(k - shift)).sum() for shift in range(1, 7)
    ]
    assert np.argmax(by_shift) < 5
    assert noise.privacy(sensitivity=6).delta(epsilon=0.5) == pytest.approx(max(by_shift), rel=1e-9)


def test_wide_discrete_gaussian_masses_are_those_of_the_sum():
    """From sigma = 1000 on masses are integrals with one correction; here beside the plain sum."""
    sigma = 1.2e3
    noise = brdp.DiscreteGaussian(sigma)
    k = np.arange(-20 * int(sigma), 20 * int(sigma) + 1, dtype=np.float64)
    mass = np.exp(-0.5 * (k / sigma) ** 2)
    total = mass.sum()
    for low, high in [(-3, 5), (17, 2_000), (7_000, np.inf), (-np.inf, -15_000), (0, 0)]:
        direct = mass[(k >= low) & (k <= high)].sum() / total
        assert math.exp(noise.log_mass(low, high)) == pytest.approx(direct, rel=1e-11)


def test_noise_too_wide_for_its_cells_is_refused_with_a_way_out():
    with pytest.raises(NotPossible, match="coarser"):
        brdp.Staircase(core=1, step=1, drop=1e-8).privacy(sensitivity=1e9).delta(epsilon=1)


@pytest.mark.parametrize(
    ("noise", "sensitivity"),
    [
        (brdp.DiscreteGaussian(1000.001), 1),
        (brdp.Recycled(brdp.DiscreteGaussian(1500.0), within=300, rate=0.9), 100),
        (brdp.Recycled(brdp.DiscreteGaussian(1200.0), within=(-300, 2000), rate=0.9), 5),
        (brdp.Recycled(brdp.DiscreteGaussian(1200.0), within=0, rate=0.5), 1),
        (brdp.DiscreteGaussian(1200.0), 150_000),
        (brdp.DiscreteLaplace(700.0), 500),
        (brdp.DiscreteLaplace(0.4), 65),
        (brdp.Recycled(brdp.DiscreteLaplace(300.0), within=100, rate=0.9), 1000),
        (brdp.Recycled(brdp.DiscreteLaplace(300.0), within=(-40, 900), rate=0.6), 301),
    ],
)
def test_runs_have_the_curve_of_their_cells(noise, sensitivity):
    """Closed sums and corrected integrals over long runs of integers, beside every single cell."""
    epsilons = np.array([0.0, 1e-4, 0.01, 0.1, 0.5, 1.0, 3.0, 8.0])
    by_cells = np.max(
        [law.log_delta(epsilons) for law in laws_of(noise, float(sensitivity))], axis=0
    )
    seen = by_cells > -690
    found = noise.privacy(sensitivity=sensitivity).evaluate(epsilons)
    assert seen.sum() >= 2
    np.testing.assert_allclose(found[seen], by_cells[seen], rtol=0, atol=1e-11)  # logs


@pytest.mark.parametrize("scale", [1e-75, 1e-20, 1e20, 1e75])
@pytest.mark.parametrize(
    "kernel", [brdp.Gaussian, brdp.Laplace, brdp.DiscreteGaussian, brdp.DiscreteLaplace]
)
def test_scales_beyond_all_reason_neither_warn_nor_fail(kernel, scale):
    """From end to end of what is let through. Warnings are errors here; a refusal is an answer too."""
    for noise in (kernel(scale), brdp.Recycled(kernel(scale), within=(0, 3), rate=0.999)):
        for sensitivity in (1, 1000, 10**10):
            ours = noise.privacy(sensitivity=sensitivity)
            # lattices of millions of cells are refused, and say so
            with contextlib.suppress(NotPossible):
                deltas = ours.delta(epsilon=[0.0, 1e-3, 1.0, 30.0])
                assert np.all((deltas >= 0) & (deltas <= 1))
                assert np.all(np.diff(deltas) <= 0)
                assert ours.epsilon_or_infinity(delta=1e-5) >= 0
                assert ours.renyi(order=3) >= 0


def test_every_refusal_is_a_brdp_error():
    for make in (
        lambda: brdp.Gaussian(-1),
        lambda: brdp.Laplace(1e80),
        lambda: brdp.DiscreteGaussian(1e-80),
        lambda: brdp.Staircase(core=1, step=1e80, drop=1),
        lambda: brdp.Gaussian(1).privacy(sensitivity=1e80),
        lambda: brdp.Gaussian(1).privacy(sensitivity=1e-80),
        lambda: brdp.Recycled(brdp.Gaussian(1), within=(1, 2), rate=0.1),
        lambda: brdp.Recycled(brdp.Gaussian(1), levels=[(1, 0.5), (math.inf, 1)]).privacy(),
    ):
        with pytest.raises(BrdpError):
            make()
