"""Several releases of one sample, against the neighbours' own output laws: every sample of a tiny table by itself.

The law of an answer is a sum over all samples of its table, point by point of the lattice; no
amplification theorem and none of brdp's curves takes part.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import brdp
from brdp.errors import InvalidInput
from brdp.privacy import compose, sample_together
from brdp.privacy.filters import PureFilter, RenyiFilter, SumFilter
from brdp.privacy.subsample_together import SampledTogether

REACH = 50  # beyond it every law here has less than e^-30 of its mass
EPSILONS = (0.0, 0.1, 0.5, 2.0)
ORDERS = (1.5, 2.0, 3.7, 12.0)
LAPLACE = brdp.DiscreteLaplace(1.6)
RECYCLED = brdp.Recycled(brdp.DiscreteLaplace(1.3), within=2, rate=0.4)
CASES = [
    # noise of a count, noise of a sum, what one unit adds to each, the rate
    (LAPLACE, RECYCLED, (1, 2), 0.25),
    (LAPLACE, LAPLACE, (1, 1), 0.5),
    (RECYCLED, brdp.DiscreteGaussian(2.0), (2, 1), 0.1),
]
TABLES = [(), ((1, 2), (0, -1))]


def masses(noise):
    """P(N = k) for all |k| <= REACH, by the definition of the recycler."""
    kernel, k = noise.kernel, np.arange(-REACH, REACH + 1, dtype=np.longdouble)
    if isinstance(kernel, brdp.DiscreteLaplace):
        shape = np.exp(-np.abs(k) / np.longdouble(kernel.scale))
    else:
        shape = np.exp(-(k**2) / (2 * np.longdouble(kernel.sigma) ** 2))
    if noise is not kernel:
        shape = np.where(np.abs(k) <= 2, shape, shape * np.longdouble("0.6"))
    return shape / shape.sum()


def law(first, second, units, rate):
    """The law of the pair of noisy totals, over every sample of the units; its far edge left out."""
    p, found = np.longdouble(rate), 0
    for chosen in itertools.product([False, True], repeat=len(units)):
        weight = np.prod([p if taken else 1 - p for taken in chosen], dtype=np.longdouble)
        a, b = (
            sum(unit[i] for unit, taken in zip(units, chosen, strict=True) if taken) for i in (0, 1)
        )
        found = found + weight * np.outer(np.roll(first, a)[4:-4], np.roll(second, b)[4:-4])
    return found


def hockey_stick(p, q, epsilon):
    return np.maximum(p - np.exp(np.longdouble(epsilon)) * q, 0).sum()


def log_moment(p, q, order):
    return np.log((p**order * q ** (1 - np.longdouble(order))).sum())


def curve_of(case):
    first, second, moved, rate = case
    parts = {}
    for noise, steps in zip((first, second), moved, strict=True):
        one = noise.privacy(sensitivity=steps)
        parts[one] = parts.get(one, 0) + 1
    return sample_together(parts, sampling_rate=rate)


@pytest.mark.parametrize("case", CASES)
def test_no_table_does_worse_and_the_empty_one_does_as_badly(case):
    first, second, moved, rate = case
    masses_of = masses(first), masses(second)
    joint = curve_of(case)
    assert isinstance(joint, SampledTogether)
    for others in TABLES:
        without, having = (law(*masses_of, units, rate) for units in (others, (*others, moved)))
        for epsilon in EPSILONS:
            true = max(
                hockey_stick(having, without, epsilon), hockey_stick(without, having, epsilon)
            )
            lower, upper = (float(x) for x in joint.delta_bounds(epsilon=epsilon))
            assert true <= upper * (1 + 1e-12)
            if not others:
                assert lower * (1 - 1e-12) <= true
                assert upper <= true * (1 + 1e-4)
        for order in ORDERS:
            true = max(log_moment(having, without, order), log_moment(without, having, order))
            stated = (order - 1) * joint.renyi(order=order)
            assert true <= stated
            if not others:
                # an upper bound between whole orders, and close
                assert stated <= (1 + 1e-9 if order in (2.0, 12.0) else 1.6) * true


@pytest.mark.parametrize("case", CASES)
def test_control_to_amplify_apart_and_then_compose_says_too_little(case):
    first, second, moved, rate = case
    masses_of = masses(first), masses(second)
    apart = compose(
        [
            brdp.subsample(noise, sensitivity=steps, sampling_rate=rate)
            for noise, steps in zip((first, second), moved, strict=True)
        ]
    )
    having, without = (law(*masses_of, units, rate) for units in ((moved,), ()))
    true = hockey_stick(having, without, 0.5)
    assert true > 1.05 * float(apart.delta(epsilon=0.5))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01, 0.3])
def test_inverses(case, delta):
    joint = curve_of(case)
    lower, upper = joint.epsilon_bounds(delta=delta)
    assert lower <= upper <= lower * (1 + 1e-4) + 1e-9
    assert float(joint.delta(epsilon=upper)) <= delta
    if lower > 1e-6:
        assert float(joint.delta_bounds(epsilon=lower * (1 - 1e-6))[0]) > delta * (1 - 1e-3)


def test_one_release_is_the_sampled_curve():
    one = sample_together({LAPLACE.privacy(sensitivity=1): 1}, sampling_rate=0.1)
    assert one == brdp.subsample(LAPLACE, sensitivity=1, sampling_rate=0.1)
    for wrong in (0.0, 1.0, -0.1, math.nan):
        with pytest.raises(InvalidInput):
            sample_together({LAPLACE.privacy(sensitivity=1): 1}, sampling_rate=wrong)


def test_every_filter_charges_an_upper_bound():
    case = CASES[0]
    masses_of = masses(case[0]), masses(case[1])
    having, without = (law(*masses_of, units, case[3]) for units in ((case[2],), ()))
    joint = curve_of(case)
    largest = np.abs(np.log(having / without)).max()
    assert largest <= PureFilter(50.0).epsilon_of(PureFilter(50.0).price(joint))
    plain = SumFilter.for_queries(epsilon=50.0, delta=1e-3, queries=100)
    charged = plain.epsilon_of(plain.price(joint))
    for p, q in ((having, without), (without, having)):
        assert hockey_stick(p, q, charged) <= plain.delta_each
    renyi = RenyiFilter.for_budget(epsilon=5.0, delta=1e-6)
    for order, amount in zip(renyi.orders, renyi.price(joint), strict=False):
        true = max(log_moment(having, without, order), log_moment(without, having, order))
        assert true / (order - 1) <= amount / 2**200
