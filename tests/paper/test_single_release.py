"""Algorithms 1 and 2, Theorems 1 and 2, against the numbers that theory.md states for them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

from brdp.paper import transcription
from brdp.paper.errata import grid, single
from brdp.paper.errata.grid import ROUNDING
from brdp.paper.formulas.budget import (
    gain_over_plain,
    gaussian_for,
    laplace_for,
    objective,
    objective_as_printed,
    optimal_split,
    split_at,
)
from brdp.paper.formulas.kernel import GaussianKernel, LaplaceKernel, PaperKernel
from brdp.paper.formulas.leakage import (
    baseline_rate,
    delta_that_always_holds,
    mass_of_the_printed_loss_under_the_neighbour,
    privacy_profile,
    recycled_loss_cdf,
    recycling_loss,
    recycling_weight,
    recycling_weight_by_definition,
    total_epsilon,
)
from brdp.paper.formulas.noise import (
    acceptance_rate,
    expected_rounds,
    recycled_density,
    unacceptable_density_sum,
    unacceptable_density_sum_as_printed,
)
from brdp.paper.truth import curve_of, largest_safe_rate, noise_of

RATES = (0.80958721, 0.83391717, 0.85044653, 0.095223571, 0.621637)
TRUE_DELTAS = (2.707e-5, 5.919e-3, 3.150e-5, 2.081e-5, 1.181e-11)


@pytest.mark.parametrize("case, rate", list(zip(single.WRONG_RATES, RATES, strict=True)))
def test_algorithm_1_gives_the_rates_of_the_theory(case: tuple[object, ...], rate: float) -> None:
    _, kernel_for, epsilon, delta, sensitivity, within, kernel_epsilon = case
    split = split_at(
        kernel_epsilon, epsilon=epsilon, delta=delta, sensitivity=sensitivity,
        lower=-within, upper=within, kernel_for=kernel_for,
    )  # fmt: skip
    digits = len(str(rate)) - 2
    assert f"{float(split.rate):.{digits}f}" == f"{rate:.{digits}f}"


def test_those_rates_cost_what_the_theory_says() -> None:
    found = [one.true for one in single.wrong_rates()]
    assert found == pytest.approx(TRUE_DELTAS, rel=5e-4)


def test_violation_counts() -> None:
    """344 and 1,382 of 1,440, and for Laplace at (epsilon_y, delta) as many.

    Control: the baseline rate of Theorem 2 breaks none on this grid.
    """
    counts = [one.broken for one in grid.algorithm_1_frequency()]
    assert counts == [344, 1382, 1382]
    baseline = [one.broken for one in grid.theorem_2_frequency()][:2]
    assert baseline == [0, 0]


@pytest.mark.parametrize("kernel", [transcription.gaussian_kernel, transcription.laplace_kernel])
def test_transcription_agrees_with_the_formulas(kernel: transcription.Kernel) -> None:
    kernel_for = gaussian_for if kernel is transcription.gaussian_kernel else laplace_for
    for epsilon, delta, sensitivity, within in ((2.0, 1e-5, 1.0, 1.0), (3.0, 1e-3, 5.0, 1.0)):
        slow = transcription.algorithm_1(
            0.6 * epsilon, delta, epsilon, delta, sensitivity, within, kernel=kernel
        )
        fast = split_at(
            0.6 * epsilon, epsilon=epsilon, delta=delta, sensitivity=sensitivity,
            lower=-within, upper=within, kernel_for=kernel_for,
        )  # fmt: skip
        assert slow == pytest.approx(float(fast.rate), abs=1e-6)
        e_y, q = transcription.algorithm_2(epsilon, delta, sensitivity, within, kernel=kernel)
        reached = transcription.acceptance(e_y, q, delta, sensitivity, within, kernel=kernel)
        best = optimal_split(
            epsilon=epsilon, delta=delta, sensitivity=sensitivity, lower=-within, upper=within,
            kernel_for=kernel_for,
        )  # fmt: skip
        assert reached == pytest.approx(float(best.acceptance), rel=1e-5)


def test_acceptances_of_the_theory() -> None:
    expected = {(1.0, 1.0): (0.211, 0.232), (2.0, 1.0): (0.384, 0.466), (3.0, 1.0): (0.528, 0.704),
                (3.0, 5.0): (0.114, 0.294)}  # fmt: skip
    for (epsilon, sensitivity), (alone, recycled) in expected.items():
        plain = gaussian_for(*(np.asarray(x) for x in (epsilon, 1e-5, sensitivity)))
        assert float(plain.acceptance(-1.0, 1.0)) == pytest.approx(alone, abs=6e-4)
        split = optimal_split(
            epsilon=epsilon, delta=1e-5, sensitivity=sensitivity, lower=-1.0, upper=1.0,
            kernel_for=gaussian_for,
        )  # fmt: skip
        assert float(split.acceptance) == pytest.approx(recycled, abs=6e-4)


def test_acceptance_crosses_nine_tenths_near_four_and_a_half() -> None:
    for delta, expected in ((1e-6, 0.8986), (1e-5, 0.9141)):
        split = optimal_split(
            epsilon=4.5,
            delta=delta,
            sensitivity=1.0,
            lower=-1.0,
            upper=1.0,
            kernel_for=gaussian_for,
        )
        assert float(split.acceptance) == pytest.approx(expected, abs=6e-5)


def test_corrected_objective_is_the_reciprocal_of_acceptance_and_the_printed_one_is_not() -> None:
    kernel = GaussianKernel(2.5, 1.0)
    p, q = kernel.acceptance(-1.0, 1.0), np.array([0.0, 0.3, 0.8])
    reached = acceptance_rate(kernel, lower=-1.0, upper=1.0, rate=q)
    assert 1.0 / objective(p, q) == pytest.approx(reached, rel=1e-14)
    assert not np.allclose(1.0 / objective_as_printed(p, q), reached, rtol=0.1)


def test_printed_objective_recycles_nothing() -> None:
    split = optimal_split(
        epsilon=2.0, delta=1e-5, sensitivity=1.0, lower=-1.0, upper=1.0, kernel_for=gaussian_for,
        minimise=objective_as_printed,
    )  # fmt: skip
    assert float(split.rate) < 1e-4


def test_the_density_of_proposition_1_is_the_density_of_brdp() -> None:
    x = np.linspace(-6, 6, 41)
    for kernel in (GaussianKernel(2.5, 1.0), LaplaceKernel(1.2, 1.0)):
        noise = noise_of(kernel, lower=-1.0, upper=2.0, rate=0.7)
        density = recycled_density(kernel, x, lower=-1.0, upper=2.0, rate=0.7)
        assert density == pytest.approx(noise.pdf(x), rel=1e-12)
        rounds = expected_rounds(kernel, lower=-1.0, upper=2.0, rate=0.7)
        assert float(rounds) == pytest.approx(noise.expected_rounds, rel=1e-12)


def test_appendix_a_series() -> None:
    p, q = 0.8, 0.2
    right = float(unacceptable_density_sum(outside=p, rate=q, rounds=4000))
    printed = float(unacceptable_density_sum_as_printed(outside=p, rate=q, rounds=4000))
    assert right == pytest.approx((1 - q) / (1 - p * q), rel=1e-12)
    assert abs(printed / right - 1) > 0.5
    none = float(unacceptable_density_sum_as_printed(outside=p, rate=0.0, rounds=4000))
    assert none == pytest.approx(1 / (1 - p), rel=1e-12)


def test_theorem_1_is_no_privacy_loss_and_the_true_loss_is() -> None:
    """E[exp(-loss)] is the neighbour's whole mass: 1 for the true loss, 1 - Wq for Theorem 1's.

    400,000 draws of numbers in (0, 5.5): the mean is within .02 unless |z| > 8, false alarms under 1e-14.
    """
    kernel, rate = LaplaceKernel(1.0, 1.0), 0.5
    noise = noise_of(kernel, lower=-1.0, upper=1.0, rate=rate)
    x = noise.sample(400_000, rng=np.random.default_rng(10))
    neighbour = float(np.mean(np.exp(noise.log_pdf(x - 1.0) - noise.log_pdf(x))))
    assert neighbour == pytest.approx(1.0, abs=0.02)
    printed = float(
        mass_of_the_printed_loss_under_the_neighbour(kernel, lower=-1.0, upper=1.0, rate=rate)
    )
    assert printed < 0.9
    # Proposition 2 far below the least loss says the same: 1 - delta(e) over exp(e)
    profile = float(privacy_profile(kernel, -3.0, lower=-1.0, upper=1.0, rate=rate))
    assert (1 - profile) / np.exp(-3.0) == pytest.approx(printed, rel=1e-12)


@pytest.mark.parametrize("kernel", [GaussianKernel(1.1, 1.0), LaplaceKernel(1.2, 1.0)])
def test_proposition_2_is_the_hinge_of_theorem_1s_law(kernel: PaperKernel) -> None:
    """E[max(0, 1 - exp(e - G))] is the integral over g > e of exp(e - g) P(G > g)."""
    setting = {"lower": -1.0, "upper": 1.0, "rate": 0.6}
    for epsilon in (-0.5, 0.3, 1.1):
        cuts = np.sort([epsilon, 0.8333333, 0.9162907, 1.7496240, 12.0])
        cuts = cuts[cuts >= epsilon]
        exact = sum(
            quad(
                lambda g, e=epsilon: math.exp(e - g)
                * (1.0 - float(recycled_loss_cdf(kernel, g, **setting))),
                low, high,
            )[0]
            for low, high in itertools.pairwise(cuts)
        )  # fmt: skip
        found = float(privacy_profile(kernel, epsilon, **setting))
        assert found == pytest.approx(exact, rel=2e-5)


def test_proposition_4_compares_with_the_plain_kernel() -> None:
    plain = gaussian_for(*(np.asarray(x) for x in (2.0, 1e-5, 1.0)))
    split = optimal_split(
        epsilon=2.0, delta=1e-5, sensitivity=1.0, lower=-1.0, upper=1.0, kernel_for=gaussian_for
    )
    assert float(gain_over_plain(split, plain)) == pytest.approx(0.46627 / 0.38402, rel=1e-4)


def test_theorem_2_and_what_replaces_it() -> None:
    for one in single.false_theorem_2():
        assert one.true > 1.3 * one.stated
    kernel, rate = LaplaceKernel(0.82595410018882, 1.0), 0.99
    e = float(total_epsilon(kernel_epsilon=1.0, rate=rate))
    holds = delta_that_always_holds(kernel, delta=0.1, lower=-0.087, upper=0.087, rate=rate)
    exact = float(curve_of(kernel, lower=-0.087, upper=0.087, rate=rate).delta(epsilon=e))
    assert exact <= float(holds)
    assert float(
        recycling_loss(rate=baseline_rate(epsilon=3.0, kernel_epsilon=1.0))
    ) == pytest.approx(2.0)


def test_weight_is_the_smaller_region_for_lopsided_bounds() -> None:
    kernel = LaplaceKernel(1 / 2.7, 1.0)
    printed = float(recycling_weight(kernel, lower=-10.0, upper=1.0))
    meant = float(recycling_weight_by_definition(kernel, lower=-10.0, upper=1.0))
    assert meant / printed > 14
    for theta in (0.3, 1.0, 4.0):  # symmetric bounds lose nothing
        a = float(recycling_weight(kernel, lower=-theta, upper=theta))
        b = float(recycling_weight_by_definition(kernel, lower=-theta, upper=theta))
        assert a == pytest.approx(b, rel=1e-12)


def test_algorithm_2_prefers_splits_without_privacy() -> None:
    for one in single.no_privacy():
        assert one.true > 0.49
        assert one.stated <= 0.01


def test_largest_safe_rate_is_safe_and_largest() -> None:
    kernel = gaussian_for(*(np.asarray(x) for x in (1.8, 1e-5, 1.0)))
    rate = largest_safe_rate(kernel, epsilon=3.0, delta=1e-5, lower=-1.0, upper=1.0)

    def delta(q: float) -> float:
        return float(curve_of(kernel, lower=-1.0, upper=1.0, rate=q).delta(epsilon=3.0))

    assert delta(rate) <= 1e-5
    assert delta(rate + 1e-7) > 1e-5 * (1 + ROUNDING)
