"""The paper's kernels and accountants against naive twins in many digits."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from brdp.paper.accountants import (
    RENYI_ORDERS,
    ClassicConversion,
    Conversion,
    ImprovedConversion,
    calibrated_gaussian,
    calibrated_laplace,
    calibrated_laplace_with_delta,
    composed_gaussian,
    epsilon_of,
    fourier_profile,
    gaussian_characteristic,
    laplace_characteristic,
    renyi_laplace,
    renyi_profile,
)
from brdp.paper.formulas.kernel import GaussianKernel, LaplaceKernel, gaussian_profile
from brdp.privacy.compose import compose

TOTALS = np.array([1e-5, 1e-10])


def mp_profile(epsilon: float, ratio: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        e, r = mpmath.mpf(epsilon), mpmath.mpf(ratio)
        return mpmath.ncdf(r / 2 - e / r) - mpmath.exp(e) * mpmath.ncdf(-r / 2 - e / r)


@pytest.mark.parametrize("epsilon", [-3.0, -0.1, 0.0, 0.3, 2.0, 7.0])
@pytest.mark.parametrize("ratio", [0.03, 0.4, 1.0, 5.0])
def test_gaussian_profile_keeps_its_digits_in_the_tail(epsilon: float, ratio: float) -> None:
    exact = mp_profile(epsilon, ratio)
    found = float(gaussian_profile(epsilon, ratio))
    if exact < 1e-300:
        assert found < 1e-290
    else:
        # the smaller the ratio, the more the two Mills ratios cancel
        assert abs(found / float(exact) - 1) < 1e-12 / min(ratio, 1.0) ** 2


@pytest.mark.parametrize("epsilon", [-2.0, -0.4, 0.0, 0.3, 0.99, 1.5])
def test_laplace_profile_is_the_integral_of_its_hinge(epsilon: float) -> None:
    def hinge(x: mpmath.mpf) -> mpmath.mpf:
        p, q = mpmath.exp(-abs(x)) / 2, mpmath.exp(-abs(x - 1)) / 2
        return max(mpmath.mpf(0), p - mpmath.exp(epsilon) * q)

    cuts = [-mpmath.inf, 0, (1 - epsilon) / 2, 1, mpmath.inf]
    exact = float(mpmath.quad(hinge, sorted(cuts)))
    assert float(LaplaceKernel(1.0, 1.0).profile(epsilon)) == pytest.approx(exact, abs=1e-12)


def test_calibrations_meet_their_delta() -> None:
    epsilon, delta = np.meshgrid([0.1, 1.0, 5.0], [1e-2, 1e-8])
    kernel = calibrated_gaussian(epsilon=epsilon, delta=delta, sensitivity=3.0)
    assert kernel.profile(epsilon) == pytest.approx(delta, rel=1e-11)
    laplace = calibrated_laplace_with_delta(epsilon=1.0, delta=0.1, sensitivity=1.0)
    assert float(laplace.profile(1.0)) == pytest.approx(0.1, rel=1e-12)
    assert float(laplace.scale) == pytest.approx(0.825954, abs=5e-7)  # theory.md, 5.5


def test_composed_gaussian_gives_the_values_of_the_theory() -> None:
    kernel = calibrated_gaussian(epsilon=0.1, delta=1e-5, sensitivity=1.0)
    found = epsilon_of(composed_gaussian(kernel, count=1000), delta=TOTALS)
    assert found == pytest.approx([4.5215532858, 6.7523981547], rel=1e-9)
    wider = calibrated_gaussian(epsilon=math.expm1(0.1), delta=1e-5, sensitivity=1.0)
    found = epsilon_of(composed_gaussian(wider, count=1000), delta=TOTALS)
    assert found == pytest.approx([4.77, 7.10], abs=0.005)


def test_fourier_accounting_agrees_with_the_closed_form() -> None:
    kernel = GaussianKernel(30.7, 1.0)
    epsilon = np.linspace(0.5, 5.0, 10)
    fourier = fourier_profile(gaussian_characteristic(kernel), count=1000)
    assert fourier(epsilon) == pytest.approx(
        composed_gaussian(kernel, count=1000)(epsilon), abs=1e-11
    )


def test_fourier_accounting_agrees_with_the_exact_composition_of_the_laplace() -> None:
    kernel = calibrated_laplace(epsilon=0.1, sensitivity=1.0)
    fourier = fourier_profile(laplace_characteristic(kernel), count=400, nodes=1 << 15)
    total = compose({kernel.noise().privacy(sensitivity=1): 400})
    low, high = total.delta_bounds(epsilon=5.0)
    # its error is absolute: the loss is nearly two atoms, so the transform falls off slowly
    assert float(low) - 1e-8 <= float(fourier(np.array(5.0))) <= float(high) + 1e-8


def test_renyi_of_the_laplace_is_the_integral() -> None:
    for order in (1.5, 2.0, 9.0):
        moment = mpmath.quad(
            lambda x, a=order: mpmath.exp(-a * abs(x) / 1.2 - (1 - a) * abs(x - 1) / 1.2) / 2.4,
            [-mpmath.inf, 0, 1, mpmath.inf],
        )
        exact = float(mpmath.log(moment) / (order - 1))
        assert float(renyi_laplace(LaplaceKernel(1.2, 1.0), order)) == pytest.approx(
            exact, rel=1e-12
        )


def test_renyi_accounting_gives_the_values_of_the_theory() -> None:
    kernel = calibrated_laplace(epsilon=0.1, sensitivity=1.0)
    for conversion, expected in (
        (ClassicConversion(), [19.686, 25.774]),
        (ImprovedConversion(), [18.576, 24.870]),
    ):
        profile = renyi_profile(kernel, count=1000, conversion=conversion)
        assert epsilon_of(profile, delta=TOTALS) == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize("conversion", [ClassicConversion(), ImprovedConversion()])
@pytest.mark.parametrize("count", [1, 30, 1000])
def test_renyi_accounting_takes_the_best_of_all_orders(conversion: Conversion, count: int) -> None:
    kernel = calibrated_laplace(epsilon=0.1, sensitivity=1.0)
    epsilon = np.linspace(-5.0, 40.0, 301)
    total = count * renyi_laplace(kernel, RENYI_ORDERS)
    logs = conversion.log_delta(RENYI_ORDERS, total, epsilon[:, None]).min(axis=1)
    found = renyi_profile(kernel, count=count, conversion=conversion)(epsilon)
    shown = logs > -600.0  # below, doubles end
    assert np.sum(shown) > 10
    assert np.log(found[shown]) == pytest.approx(np.minimum(logs[shown], 0.0), abs=1e-9)


@pytest.mark.parametrize("kernel", [GaussianKernel(0.8, 1.0), LaplaceKernel(0.7, 1.0)])
def test_the_law_of_the_loss_by_drawing(kernel: GaussianKernel | LaplaceKernel) -> None:
    """Shares of 400,000 draws are within .004 unless |z| > 5: false alarms under 1e-6 each."""
    rng = np.random.default_rng(12)
    x = kernel.noise().sample(400_000, rng=rng)
    drawn = np.log(kernel.pdf(x)) - np.log(kernel.pdf(x - 1.0))
    for loss in (-1.5, -0.9, 0.0, 0.5, 1.2, 1.5):
        share = float(np.mean(drawn <= loss))
        assert float(kernel.loss_cdf(loss)) == pytest.approx(share, abs=0.004)
    assert float(kernel.loss_cdf(40.0)) == pytest.approx(1.0)
    assert float(kernel.loss_cdf(-40.0)) < 1e-12
