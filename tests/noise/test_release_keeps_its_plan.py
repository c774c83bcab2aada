"""From a plan to the law that is really drawn: read back from the tables, judged in integers.

No statistics and none of brdp's own masses, curves or acceptances: counts out of 2^128 (or 2^256), sums of whole
numbers, and e^epsilon at 60 digits.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from mpmath import mp, mpf

import brdp
from brdp.noise.release.one_table import OneTable
from brdp.noise.release.two_stage import TwoStage
from brdp.noise.sampler import sampler_for


def exponential(epsilon: float) -> Fraction:
    """e^epsilon as a fraction, right to 60 digits."""
    with mp.workdps(80):
        return Fraction(int(mp.exp(mpf(epsilon)) * mpf(10) ** 60), 10**60)


def law_of(noise: brdp.Noise) -> tuple[dict[int, Fraction], Fraction]:
    """The probabilities drawn, and how far they may be from those stated."""
    sampler = sampler_for(noise)
    assert isinstance(sampler.tables, OneTable | TwoStage)
    return sampler.tables.law(), sampler.total_variation


def delta_of(law: dict[int, Fraction], *, shift: int, epsilon: float) -> Fraction:
    """The sum of what exceeds e^epsilon times the neighbour's, in whole numbers."""
    unit = max(mass.denominator for mass in law.values())
    masses = {k: int(mass * unit) for k, mass in law.items()}
    ratio = exponential(epsilon)
    excess = sum(
        max(0, mass * ratio.denominator - masses.get(k - shift, 0) * ratio.numerator)
        for k, mass in masses.items()
    )
    return Fraction(excess, unit * ratio.denominator)


PLANS = [
    # sensitivity, within, epsilon, delta, kernel
    (1, 1, 2.0, 1e-5, "gaussian"),
    (1, 3, 1.0, 1e-5, "laplace"),
    (1, 3, 1.0, 0.0, "staircase"),
    (7, 20, 0.5, 1e-3, "gaussian"),
    (5, 4, 3.0, 1e-8, "laplace"),
    (12, 5, 2.0, 0.0, "staircase"),
    (64, 200, 3.0, 1e-6, "gaussian"),
]


def planned(sensitivity: int, within: int, epsilon: float, delta: float, kernel: str) -> brdp.Plan:
    return brdp.plan(
        sensitivity=sensitivity,
        within=within,
        epsilon=epsilon,
        delta=delta,
        kernel=kernel,
        integer=True,
    )


@pytest.mark.parametrize("asked", PLANS, ids=str)
def test_the_law_drawn_keeps_what_the_plan_promises(
    asked: tuple[int, int, float, float, str],
) -> None:
    sensitivity, within, epsilon, delta, _ = asked
    found = planned(*asked)
    law, tau = law_of(found.noise)
    allowed = Fraction(delta) + (1 + exponential(epsilon)) * tau
    for shift in {1, 2, sensitivity // 2, sensitivity}:
        if not 0 < shift <= sensitivity:
            continue
        for direction in (shift, -shift):
            assert delta_of(law, shift=direction, epsilon=epsilon) <= allowed
    inside = sum(mass for k, mass in law.items() if abs(k) <= within)
    assert inside >= Fraction(found.acceptance) * (1 - Fraction(1, 10**12)) - tau
    assert math.isclose(inside, found.acceptance, rel_tol=1e-9)


@pytest.mark.parametrize("asked", PLANS, ids=str)
def test_control_a_step_more_of_sensitivity_breaks_it(
    asked: tuple[int, int, float, float, str],
) -> None:
    """Plans use their budget up: the same law does not hold for one step more, so the check above can fail."""
    sensitivity, _, epsilon, delta, _ = asked
    law, tau = law_of(planned(*asked).noise)
    allowed = Fraction(delta) + (1 + exponential(epsilon)) * tau
    assert delta_of(law, shift=sensitivity + 1, epsilon=epsilon) > allowed
