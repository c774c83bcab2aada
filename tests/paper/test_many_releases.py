"""Theorem 3, Algorithm 3, Remark 4 and subsampling against the numbers of theory.md."""

from __future__ import annotations

import math

import numpy as np
import pytest

from brdp.paper import transcription
from brdp.paper.accountants import composed_gaussian
from brdp.paper.errata import composed, subsampled
from brdp.paper.formulas.budget import gaussian_for, split_at
from brdp.paper.formulas.composition import (
    added_losses,
    advanced_composition,
    advanced_composition_as_printed,
    composed_delta,
    composed_profile,
    parallel_composition,
    sequential_composition,
)
from brdp.paper.formulas.kernel import GaussianKernel
from brdp.paper.formulas.leakage import privacy_profile, recycling_loss, recycling_weight
from brdp.paper.formulas.subsampling import (
    AverageQuery,
    CountQuery,
    SumQuery,
    acceptance_of_the_sum,
    amplified,
    average_variance_as_derived,
    before_amplification,
    convolved_acceptance,
    poisson_sum_variance,
    sum_variance_as_derived,
)


def test_theorem_3_states_less_than_the_truth() -> None:
    first, second, literal = composed.theorem_3_fails()
    assert first.stated == pytest.approx(32.933, abs=5e-4)
    assert first.true == pytest.approx(71.068, abs=1e-3)
    assert second.true == pytest.approx(0.562, abs=5e-4)
    assert f"{literal.stated:.4f}" == "4.5219"


def test_theorem_3_of_one_release_is_proposition_2() -> None:
    kernel, rate = GaussianKernel(2.5, 1.0), 0.6
    profile = composed_profile(
        composed_gaussian(kernel, count=1),
        weight=float(recycling_weight(kernel, lower=-1.0, upper=1.0)),
        loss=float(recycling_loss(rate=rate)),
        count=1,
    )
    e = np.array([0.1, 0.9, 2.0])
    single = privacy_profile(kernel, e, lower=-1.0, upper=1.0, rate=rate)
    assert profile(e) == pytest.approx(single, rel=1e-12)


def test_added_losses_are_a_law_and_the_loop_from_one_loses_mass() -> None:
    extra, mass = added_losses(weight=0.3, loss=0.5, count=40)
    assert mass.sum() == pytest.approx(1.0, rel=1e-12)
    assert (extra * mass).sum() == pytest.approx(40 * 0.3 * 0.5, rel=1e-12)
    _, short = added_losses(weight=0.3, loss=0.5, count=3, first=1)
    assert short.sum() == pytest.approx(1 - 0.3**3, rel=1e-12)
    assert all(one.true > 1000 * one.stated for one in composed.lost_term())


def test_transcription_of_algorithm_3() -> None:
    kernel = gaussian_for(*(np.asarray(x) for x in (0.5, 1e-5, 1.0)))
    slow = transcription.algorithm_3(0.4, 0.5, 1e-5, 1.0, 1.0, 20, 4.0)
    fast = composed_profile(
        composed_gaussian(kernel, count=20),
        weight=float(recycling_weight(kernel, lower=-1.0, upper=1.0)),
        loss=float(recycling_loss(rate=0.4)),
        count=20,
        first=1,
    )
    assert slow == pytest.approx(float(fast(np.array(4.0))), rel=1e-6)
    whole = composed_delta(
        kernel, composed_gaussian(kernel, count=20), 4.0, lower=-1.0, upper=1.0, rate=0.4, count=20
    )
    assert float(whole) == pytest.approx(float(fast(np.array(4.0))), rel=1e-14)


def test_remarks_on_composition() -> None:
    assert parallel_composition(epsilon=0.5, delta=1e-5) == (0.5, 1e-5)
    assert sequential_composition(epsilon=0.5, delta=1e-5, count=10) == pytest.approx((5.0, 1e-4))
    printed = advanced_composition_as_printed(epsilon=0.1, delta=1e-5, count=50)
    whole = advanced_composition(epsilon=0.1, delta=1e-5, count=50, slack=1e-5)
    assert whole == pytest.approx((printed[0], 51e-5))
    (count,) = composed.remark_4_frequency()
    assert 0 < count.broken < count.settings


def test_scale_of_a_rescaled_release_grows() -> None:
    scales = [one.true for one in subsampled.growing_scale()]
    assert [float(f"{x:.4g}") for x in scales] == [10.48, 13.91, 40.92]


def test_amplification_and_its_inverse() -> None:
    inner = before_amplification(epsilon=0.3, delta=1e-6, sampling_rate=0.02)
    epsilon, delta = amplified(epsilon=inner[0], delta=inner[1], sampling_rate=0.02)
    assert (float(epsilon), float(delta)) == pytest.approx((0.3, 1e-6), rel=1e-12)
    assert math.isfinite(float(amplified(epsilon=5000.0, delta=0.0, sampling_rate=0.1)[0]))


def test_proposition_6_by_drawing_samples_of_a_fixed_size() -> None:
    """A standard deviation over 20,000 draws is within 4 % unless |z| > 8: false alarms under 1e-14.

    Control: the derivation's second lines, off by far more, must not pass.
    """
    rng = np.random.default_rng(6)
    n, p, size = 200, 0.3, 60
    values = rng.normal(2.0, 3.0, n)
    spread = float(np.std(values, ddof=1))
    keys = rng.random((20_000, n)).argsort(axis=1)[:, :size]
    error = values.sum() - values[keys].sum(axis=1) / p
    drawn = float(np.std(error))
    stated = float(SumQuery(spread).sampling_deviation(population=n, sampling_rate=p))
    assert drawn == pytest.approx(stated, rel=0.04)
    derived = sum_variance_as_derived(population=n, sampling_rate=p, deviation=spread) ** 0.5
    assert drawn != pytest.approx(derived, rel=0.2)
    average = float(AverageQuery(spread).sampling_deviation(population=n, sampling_rate=p))
    assert drawn / n == pytest.approx(average, rel=0.04)
    derived = average_variance_as_derived(population=n, sampling_rate=p, deviation=spread) ** 0.5
    assert drawn / n != pytest.approx(derived, rel=0.2)


def test_poisson_samples_pay_for_the_mean() -> None:
    """The same bound on the standard deviation of 20,000 draws: false alarms under 1e-14."""
    rng = np.random.default_rng(7)
    n, p = 200, 0.3
    values = rng.normal(2.0, 3.0, n)
    error = values.sum() - (rng.random((20_000, n)) < p) @ values / p
    exact = (np.sum(values**2) * (1 - p) / p) ** 0.5
    stated = poisson_sum_variance(
        population=n, sampling_rate=p, deviation=float(np.std(values)), mean=float(np.mean(values))
    )
    assert stated**0.5 == pytest.approx(float(exact), rel=1e-12)
    assert float(np.std(error)) == pytest.approx(float(exact), rel=0.04)
    fixed = float(SumQuery(float(np.std(values))).sampling_deviation(population=n, sampling_rate=p))
    assert float(np.std(error)) != pytest.approx(fixed, rel=0.1)


def test_acceptance_under_sampling_by_drawing() -> None:
    """A share of 400,000 draws is within .004 unless |z| > 5: false alarms under 1e-6.

    Control: Proposition 7's formula is off by far more.
    """
    split = split_at(
        1.2,
        epsilon=3.0,
        delta=1e-5,
        sensitivity=1.0,
        lower=-1.0,
        upper=1.0,
        kernel_for=gaussian_for,
    )
    rng = np.random.default_rng(8)
    sigma, q, size = float(split.kernel.sigma), float(split.rate), 400_000  # type: ignore[attr-defined]
    pool = rng.normal(0.0, sigma, 12 * size)
    kept = pool[(np.abs(pool) <= 1.0) | (rng.random(pool.size) >= q)][:size]
    assert kept.size == size
    share = float(np.mean(np.abs(kept + rng.normal(0.0, 2.0, size)) <= 1.0))
    exact = float(acceptance_of_the_sum(split, 2.0))
    assert share == pytest.approx(exact, abs=0.004)
    p = float(convolved_acceptance(split, 2.0))
    assert abs(p / (1 - (1 - p) * q) - exact) > 0.1
    none = float(acceptance_of_the_sum(split, 0.0))
    assert none == pytest.approx(float(split.acceptance), rel=1e-9)


def test_count_errors_use_the_share() -> None:
    found = CountQuery(0.1).sampling_deviation(population=1000.0, sampling_rate=0.3)
    assert float(found) == pytest.approx(math.sqrt(1000 * 0.7 * 0.09 / 0.3), rel=1e-12)
