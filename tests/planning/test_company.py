"""Plans for many releases that share a budget: certified, and no worse than what a scan of all settings finds."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import brdp
from brdp.privacy.compose import LooseBounds

ASKED = {"sensitivity": 1, "within": 3, "integer": True}
BUDGET = {"epsilon": 3.0, "delta": 1e-5, "count": 20}
KERNELS = {"laplace": brdp.DiscreteLaplace, "gaussian": brdp.DiscreteGaussian}


def together(noise: brdp.Noise, *, count: int = 20, delta: float = 1e-5) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LooseBounds)
        return noise.privacy(sensitivity=1).compose(count).epsilon(delta=delta)


def scanned(kernel: str, *, scales: np.ndarray, rates: np.ndarray) -> float:
    """The best acceptance within 3 on a grid of scales and rates that fit; by no search."""
    best = 0.0
    for scale in scales:
        for rate in rates:
            noise = brdp.Recycled(KERNELS[kernel](float(scale)), within=3, rate=float(rate))
            acceptance = float(noise.acceptance(within=3))
            if acceptance > best and together(noise) <= BUDGET["epsilon"]:
                best = acceptance
    return best


def test_twenty_releases_with_laplace_noise_fit_their_budget_and_leave_nothing_of_it():
    plan = brdp.plan(**ASKED, **BUDGET, kernel="laplace")
    assert together(plan.noise) <= 3.0
    assert plan.epsilon <= 3.0
    assert plan.count == 20
    # control: a little less noise, by either parameter, no longer fits
    kernel, rate = plan.noise.kernel, 1 - plan.noise.recycler.keeps[0]
    assert together(brdp.Recycled(kernel, within=3, rate=rate + 1e-3)) > 3.0
    narrower = brdp.DiscreteLaplace(kernel.scale * 0.999)
    assert together(brdp.Recycled(narrower, within=3, rate=rate)) > 3.0
    # nor is any setting of a coarse grid better
    grid = scanned("laplace", scales=np.linspace(5.5, 8.0, 9), rates=np.linspace(0.0, 0.4, 9))
    assert 0.4 < grid <= plan.acceptance


def test_the_least_epsilon_of_twenty_releases_comes_back_to_the_confidence():
    asked = brdp.plan(**ASKED, **BUDGET, kernel="laplace")
    plan = brdp.plan(**ASKED, confidence=asked.acceptance, delta=1e-5, count=20, kernel="laplace")
    assert plan.acceptance >= asked.acceptance
    assert together(plan.noise) <= plan.epsilon
    assert plan.epsilon == pytest.approx(3.0, rel=1e-4)


@pytest.mark.slow
def test_twenty_releases_get_the_best_of_all_kernels():
    plan = brdp.plan(**ASKED, **BUDGET)
    assert together(plan.noise) <= 3.0
    plain = {
        name: next(a for a in plan.alternatives if a.kernel == name and not a.recycled)
        for name in KERNELS
    }
    for name, kernel in KERNELS.items():
        assert plan.acceptance >= plain[name].acceptance
        scales = np.geomspace(0.6, 3.0, 25) * (6.5 if kernel is brdp.DiscreteLaplace else 5.5)
        found = scanned(name, scales=scales, rates=np.linspace(0.0, 0.6, 25))
        assert 0.3 < found <= plan.acceptance
