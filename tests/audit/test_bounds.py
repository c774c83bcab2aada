"""The confidence bounds that every accusation rests on, against exact binomial sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import stats

from brdp.audit.bounds import (
    largest_probability,
    least_delta,
    least_epsilon,
    least_probability,
)
from brdp.audit.score import codes_of, edges_of, learn

CASES = [(0, 10), (1, 10), (5, 10), (9, 10), (10, 10), (3, 1_000_000), (999_999, 1_000_000)]


@pytest.mark.parametrize("count, size", CASES)
@pytest.mark.parametrize("alarm", [0.05, 1e-6, 1e-12])
def test_clopper_pearson_inverts_the_binomial_tail(count: int, size: int, alarm: float) -> None:
    """At the lower bound, `count` or more successes have probability `alarm`; at the upper, or fewer."""
    low = least_probability(count, size, alarm=alarm)
    high = largest_probability(count, size, alarm=alarm)
    assert 0 <= low <= count / size <= high <= 1
    at_low = stats.binom.sf(count - 1, size, low) if count else 0.0
    at_high = stats.binom.cdf(count, size, high) if count < size else 0.0
    assert at_low <= alarm * (1 + 1e-9)
    assert at_high <= alarm * (1 + 1e-9)
    # and no further out than floats near 0 and 1 require
    assert count == 0 or at_low >= alarm * 0.999
    assert count >= size - 1 or at_high >= alarm * 0.999


def test_bounds_hold_as_often_as_they_say() -> None:
    """Exactly, by summing over all outcomes of a binomial: no sampling, no false alarms."""
    size, alarm = 40, 0.01
    with mp.workdps(30):
        for p in (0.02, 0.3, 0.5, 0.97):
            missed = {"low": mpf(0), "high": mpf(0)}
            for count in range(size + 1):
                mass = mp.binomial(size, count) * mpf(p) ** count * mpf(1 - p) ** (size - count)
                if least_probability(count, size, alarm=alarm) > p:
                    missed["low"] += mass
                if largest_probability(count, size, alarm=alarm) < p:
                    missed["high"] += mass
            assert missed["low"] <= alarm
            assert missed["high"] <= alarm


def test_epsilon_and_delta_from_probabilities() -> None:
    assert least_epsilon(0.5, 0.1, delta=0.1) == pytest.approx(math.log(4))
    assert least_epsilon(0.1, 0.5, delta=0.0) == 0.0
    assert least_epsilon(0.05, 0.0, delta=0.1) == 0.0
    assert least_epsilon(0.2, 0.0, delta=0.1) == math.inf
    assert least_delta(0.5, 0.1, epsilon=math.log(2)) == pytest.approx(0.3)
    assert least_delta(0.5, 0.4, epsilon=1.0) == 0.0
    assert least_delta(0.5, 0.0, epsilon=1e9) == 0.5
    assert least_delta(0.5, 1e-300, epsilon=1e9) == 0.0


def test_scores_are_log_likelihood_ratios() -> None:
    """On a Laplace pair the learnt score is the true ratio, which is 1 - 2x between 0 and 1, to within 0.1."""
    rng = np.random.default_rng(5)
    zero, one = rng.laplace(size=(400_000, 1)), 1 + rng.laplace(size=(400_000, 1))
    at = np.linspace(-3, 4, 71)[:, None]
    true = np.clip(1 - 2 * at[:, 0], -1, 1)
    # a cell holds some 300 draws of either world: ratios within 5 standard deviations of about .08
    assert np.max(np.abs(learn(zero, one).of(at) - true)) < 0.5
    assert np.mean(np.abs(learn(zero, one).of(at) - true)) < 0.1


def test_a_flag_multiplies_the_cells_of_a_number() -> None:
    """Two worlds whose columns agree one by one and differ only jointly are told apart."""
    rng = np.random.default_rng(6)
    x, flag = rng.normal(size=100_000), rng.integers(0, 2, size=100_000)
    zero = np.column_stack([np.where(flag == 1, np.abs(x), -np.abs(x)), flag])
    one = np.column_stack([np.where(flag == 1, -np.abs(x), np.abs(x)), flag])
    score = learn(zero[:50_000], one[:50_000])
    assert np.mean(score.of(zero[50_000:])) > 3
    assert np.mean(score.of(one[50_000:])) < -3


def test_values_not_seen_while_learning_have_a_code() -> None:
    categories = ((0, np.array([0.0, 1.0])),)
    assert codes_of(np.array([[0.0], [1.0], [0.5], [9.0]]), categories).tolist() == [0, 1, 2, 2]


def test_few_values_are_their_own_cells() -> None:
    values = np.repeat(np.arange(10.0), 1000)
    assert edges_of(values).tolist() == list(range(9))
