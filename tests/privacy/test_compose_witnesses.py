"""Outside witnesses: dp-accounting and prv-accountant, where what they state is a bound.

theory.md, 3 names what they get wrong: connect-the-dots in steps of 1e-4 under-reports by 1e-3 at T=10,000, so it
witnesses the upper end of few releases only, and its distance is compared with its own step.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import brdp

DELTA, STEP, EPS_ERROR = 1e-5, 1e-3, 0.01


def by_dp_accounting(curve, count):
    """Pessimistic connect-the-dots from the exact curve of a symmetric release."""
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    most = curve.largest_loss if math.isfinite(curve.largest_loss) else curve.epsilon(delta=1e-13)
    reach = math.ceil(most / STEP)
    above = curve.delta(epsilon=STEP * np.arange(reach + 1))
    shrunk = np.exp(-STEP * np.arange(reach, 0, -1))
    deltas = np.concatenate([1 - shrunk + shrunk * above[:0:-1], above])
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(STEP, -reach, reach, deltas)
    pld = privacy_loss_distribution.PrivacyLossDistribution(pmf)
    return pld.self_compose(count).get_epsilon_for_delta(DELTA)


@pytest.mark.parametrize("kernel, scale", [(brdp.Gaussian, 5.0), (brdp.Laplace, 4.0)])
@pytest.mark.parametrize("rate", [0.2, 0.6, 0.9, 0.99])
@pytest.mark.parametrize("within", [0.5, 1.0, 3.0])
def test_dp_accounting_is_above_and_near(kernel, scale, within, rate):
    curve = brdp.Recycled(kernel(scale), within=within, rate=rate).privacy()
    lower, upper = curve.compose(20).epsilon_bounds(delta=DELTA)
    theirs = by_dp_accounting(curve, 20)
    assert lower <= theirs
    # what steps of this size add to the variance of the losses, generously
    assert upper >= theirs - 20 * STEP
    # the control: one release fewer is not within reach
    assert not curve.compose(18).epsilon(delta=DELTA) >= theirs - 20 * STEP


@pytest.mark.parametrize("rate, sigma", [(0.001, 1.0), (0.01, 1.0), (0.1, 2.0), (0.5, 4.0)])
@pytest.mark.parametrize("count", [100, 1000])
def test_dp_accounting_subsampled(rate, sigma, count):
    from dp_accounting.pld import privacy_loss_distribution

    pld = privacy_loss_distribution.from_gaussian_mechanism(
        sigma, value_discretization_interval=STEP / 10, sampling_prob=rate
    )
    theirs = pld.self_compose(count).get_epsilon_for_delta(DELTA)
    curve = brdp.subsample(brdp.Gaussian(sigma), sampling_rate=rate).compose(count)
    lower, upper = curve.epsilon_bounds(delta=DELTA)
    assert lower <= theirs <= upper * 1.01 + 2e-3
    assert upper - lower <= 1e-7 * upper


def _prvs():
    import prv_accountant as prv

    return [
        (prv.GaussianMechanism(20.0), brdp.Gaussian(20.0).privacy()),
        (prv.LaplaceMechanism(0.1), brdp.Laplace(10.0).privacy()),
        *(
            (
                prv.PoissonSubsampledGaussianMechanism(
                    sampling_probability=rate, noise_multiplier=sigma
                ),
                brdp.subsample(brdp.Gaussian(sigma), sampling_rate=rate),
            )
            for rate, sigma in ((0.01, 1.0), (0.2, 3.0))
        ),
    ]


@pytest.mark.parametrize("place", range(4))
def test_intervals_of_prv_accountant_hold_ours(place):
    from prv_accountant import PRVAccountant

    prv, curve = _prvs()[place]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it divides by zero on the way
        accountant = PRVAccountant(
            prvs=prv, max_self_compositions=500, eps_error=EPS_ERROR, delta_error=DELTA / 1000
        )
        low, _, high = accountant.compute_epsilon(DELTA, [500])
    lower, upper = curve.compose(500).epsilon_bounds(delta=DELTA)
    assert low <= lower
    assert upper <= high
    # the control: a hundredth more releases fall outside
    assert not curve.compose(600).epsilon(delta=DELTA) <= high
