"""The bound on every noise's acceptance, and when recycling helps a Laplace kernel (erratum E19)."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import brdp
from brdp.paper.accountants import calibrated_laplace
from brdp.paper.errata import possible
from brdp.paper.formulas.budget import laplace_for, optimal_split
from brdp.paper.formulas.leakage import baseline_rate
from brdp.paper.truth import curve_of, largest_acceptance

SETTINGS = list(itertools.product((0.1, 1.0, 3.0), (1e-2, 1e-5), (0.5, 1.0, 3.0)))


@pytest.mark.parametrize("epsilon, delta, within", SETTINGS)
def test_no_plan_is_above_the_bound(epsilon: float, delta: float, within: float) -> None:
    most = float(largest_acceptance(epsilon=epsilon, delta=delta, sensitivity=1.0, within=within))
    plan = brdp.plan(sensitivity=1.0, within=within, epsilon=epsilon, delta=delta)
    assert plan.acceptance <= most * (1 + 1e-12)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_the_plain_laplace_meets_the_bound_at_multiples(steps: int) -> None:
    most = largest_acceptance(epsilon=0.7, delta=0.0, sensitivity=2.0, within=2.0 * steps)
    plain = calibrated_laplace(epsilon=0.7, sensitivity=2.0)
    assert float(plain.acceptance(-2.0 * steps, 2.0 * steps)) == pytest.approx(
        float(most), rel=1e-12
    )


def test_control_a_split_above_the_bound_breaks_its_promise() -> None:
    split = optimal_split(
        epsilon=0.1, delta=1e-3, sensitivity=1.0, lower=-3.0, upper=3.0, kernel_for=laplace_for
    )
    most = largest_acceptance(epsilon=0.1, delta=1e-3, sensitivity=1.0, within=3.0)
    assert float(split.acceptance) > 1.01 * float(most)
    curve = curve_of(split.kernel, lower=-3.0, upper=3.0, rate=float(split.rate))
    assert float(curve.delta(epsilon=0.1)) > 1.5e-3


@pytest.mark.parametrize(
    "epsilon, sensitivity, within",
    list(
        itertools.product((0.1, 0.5, 1.0, 2.0, 3.0, 5.0), (1.0, 5.0, 22.0), (0.5, 1.0, 3.0, 10.0))
    ),
)
def test_pure_laplace_gains_where_the_rule_says(
    epsilon: float, sensitivity: float, within: float
) -> None:
    ratio = within / sensitivity
    rule = ratio < 1 and epsilon > -math.log1p(-ratio) / ratio
    plain, best = possible._pure_laplace(epsilon, sensitivity, within)
    assert (best > plain * (1 + 1e-9)) == rule


@pytest.mark.parametrize("within", [0.3, 1.0, 2.5])
def test_remark_1_is_exact_for_a_laplace_kernel_at_delta_zero(within: float) -> None:
    """Nothing lies above epsilon, and something lies just below it: no larger rate would do."""
    kernel = calibrated_laplace(epsilon=0.4, sensitivity=1.0)
    rate = float(baseline_rate(epsilon=1.0, kernel_epsilon=0.4))
    curve = curve_of(kernel, lower=-within, upper=within, rate=rate)
    assert float(curve.delta(epsilon=1.0 + 1e-9)) == 0.0
    assert float(curve.delta(epsilon=1.0 - 1e-6)) > 1e-9


@pytest.mark.parametrize("epsilon, delta", [(0.1, 1e-3), (1.0, 1e-8), (3.0, 1e-5)])
def test_truncated_laplace_noise_meets_any_budget(epsilon: float, delta: float) -> None:
    """Erratum E20 (u): q = 1 on the bound of Geng and others; on nine tenths of it, no longer."""
    bound = math.log1p(math.expm1(epsilon) / (2 * delta)) / epsilon

    def reached(within: float) -> float:
        noise = brdp.Recycled(brdp.Laplace(1 / epsilon), within=within, rate=1.0)
        return float(noise.privacy(sensitivity=1).delta(epsilon=epsilon))

    assert reached(bound) == pytest.approx(delta, rel=1e-9)
    assert reached(0.9 * bound) > 1.1 * delta


def test_the_evidence_is_above_what_is_possible() -> None:
    for one in possible.impossible_acceptance()[:3]:
        assert one.stated > one.true
    gaussian, laplace, pure = possible.impossible_frequency()
    assert (gaussian.broken, laplace.broken, pure.broken) == (20, 74, 48)


def test_the_bound_is_for_noise_with_a_density_of_any_shape() -> None:
    """Random noises made (epsilon, 0)-DP by their own exact epsilon stay under it."""
    rng = np.random.default_rng(19)
    for _ in range(20):
        low, high = -rng.uniform(0.2, 3.0), rng.uniform(0.2, 3.0)
        noise = brdp.Recycled(
            brdp.Laplace(rng.uniform(0.5, 3.0)), within=(low, high), rate=rng.uniform(0.1, 0.9)
        )
        delta = 10.0 ** -rng.uniform(2, 6)
        epsilon = float(noise.privacy(sensitivity=1).epsilon(delta=delta))
        within = rng.uniform(0.3, 4.0)
        most = largest_acceptance(epsilon=epsilon, delta=delta, sensitivity=1.0, within=within)
        assert noise.acceptance(within=within) <= float(most) * (1 + 1e-9)
