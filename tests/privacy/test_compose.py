"""Composition: reference values, closed forms, exact sums, and what is refused."""

from __future__ import annotations

import math

import pytest

import brdp
from brdp.privacy.compose import LooseBounds

# theory.md section 3: epsilon at delta, sensitivity 1, from two independent computations of ten digits
GAUSSIAN = brdp.Recycled(brdp.Gaussian(2.5), within=1.0, rate=0.5)
LAPLACE = brdp.Recycled(brdp.Laplace(1.2), within=1.0, rate=0.5)
REFERENCES = [
    (GAUSSIAN, 1, 1e-5, 1.528575119),
    (GAUSSIAN, 10, 1e-5, 7.941200533),
    (GAUSSIAN, 1000, 1e-5, 250.9522332),
    (LAPLACE, 1, 1e-5, 1.526452827),
    (LAPLACE, 10, 1e-5, 14.95738437),
    (LAPLACE, 1000, 1e-5, 667.3694062),
    (brdp.Laplace(10.0), 1000, 1e-5, 17.4236519875),
    (brdp.Laplace(10.0), 10_000, 1e-5, 89.4289054266),
    (brdp.Laplace(10.0), 1000, 1e-10, 23.9444248502),
    (brdp.Laplace(10.0), 10_000, 1e-10, 110.0431191527),
    (brdp.Gaussian(30.7495661320), 1000, 1e-5, 4.5215532858),
    (brdp.Gaussian(30.7495661320), 10_000, 1e-5, 18.5217733280),
    (brdp.Gaussian(30.7495661320), 1000, 1e-10, 6.7523981547),
    (brdp.Gaussian(30.7495661320), 10_000, 1e-10, 25.4228781065),
]
SAMPLED_REFERENCES = [
    (1000, 1e-5, 1.8282366666),
    (10_000, 1e-5, 6.1877123899),
    (1000, 1e-10, 3.2904437509),
    (10_000, 1e-10, 9.3161385258),
]


def narrow_enough(lower, upper, noise, count):
    """The gap that is promised: 1e-8 for Gaussian kernels and 1e-7 for Laplace ones, 1e-4 for a handful."""
    kernel = type(noise.kernel).__name__
    gap = 1e-4 if count < 100 else 1e-8 if "Gaussian" in kernel else 1e-7
    return upper - lower <= max(gap * upper, 1e-9 if upper < 0.01 else 0.0)


@pytest.mark.parametrize("noise, count, delta, epsilon", REFERENCES)
def test_reference_values_lie_within_narrow_bounds(noise, count, delta, epsilon):
    lower, upper = noise.privacy(sensitivity=1).compose(count).epsilon_bounds(delta=delta)
    digits = 1e-9 * epsilon  # the references are rounded
    assert lower <= epsilon + digits
    assert epsilon - digits <= upper
    assert narrow_enough(lower, upper, noise, count)


@pytest.mark.parametrize("count, delta, epsilon", SAMPLED_REFERENCES)
def test_subsampled_reference_values_lie_within_narrow_bounds(count, delta, epsilon):
    noise = brdp.Gaussian(1.0)
    total = brdp.subsample(noise, sampling_rate=0.01).compose(count)
    lower, upper = total.epsilon_bounds(delta=delta)
    assert lower <= epsilon + 1e-10
    assert epsilon - 1e-10 <= upper
    assert narrow_enough(lower, upper, noise, count)


@pytest.mark.parametrize("delta", [1e-5, 1e-10, 1e-15, 1e-30])
@pytest.mark.parametrize(
    "kernel, within, rate, count",
    [
        (brdp.Gaussian(0.7), 0.25, 0.2, 100),
        (brdp.Gaussian(2.5), 1.0, 0.6, 1000),
        (brdp.Gaussian(30.0), 3.0, 0.9, 1_000_000),
        (brdp.Gaussian(5.0), 3.0, 0.99, 1000),
        (brdp.Laplace(3.0), 0.25, 0.99, 1000),
        (brdp.Laplace(10.0), 3.0, 0.2, 1_000_000),
    ],
)
def test_recycled_noise_is_as_narrow(kernel, within, rate, count, delta):
    noise = brdp.Recycled(kernel, within=within, rate=rate)
    lower, upper = noise.privacy().compose(count).epsilon_bounds(delta=delta)
    assert narrow_enough(lower, upper, noise, count)


@pytest.mark.parametrize(
    "sampling_rate, count", [(0.001, 1000), (0.1, 1000), (0.5, 1000), (0.001, 10**6)]
)
def test_subsampled_noise_is_as_narrow(sampling_rate, count):
    noise = brdp.Gaussian(1.0)
    total = brdp.subsample(noise, sampling_rate=sampling_rate).compose(count)
    lower, upper = total.epsilon_bounds(delta=1e-5)
    assert narrow_enough(lower, upper, noise, count)


def test_a_thousand_distinct_mechanisms():
    curves = [
        brdp.Recycled(
            (brdp.Gaussian, brdp.Laplace)[k % 2](8 + 0.01 * k), within=1 + 0.001 * k, rate=0.5
        ).privacy()
        for k in range(1000)
    ]
    lower, upper = brdp.compose(curves).epsilon_bounds(delta=1e-5)
    assert upper - lower <= 1e-8 * upper


def test_the_order_and_the_nesting_of_curves_do_not_matter():
    one, other = GAUSSIAN.privacy(), LAPLACE.privacy()
    assert brdp.compose([one, other, one]) == brdp.compose({other: 1, one: 2})
    assert brdp.compose([one.compose(2), other]) == brdp.compose({other: 1, one: 2})
    assert hash(brdp.compose([one, other])) == hash(brdp.compose([other, one]))


@pytest.mark.parametrize("bad", [{}, [], 3, {"a": 1}, {GAUSSIAN: 1}])
def test_what_is_not_a_collection_of_curves_is_refused(bad):
    with pytest.raises(brdp.errors.InvalidInput):
        brdp.compose(bad)


@pytest.mark.parametrize("count", [0, -1, 1.5, math.inf])
def test_counts_are_whole_and_positive(count):
    with pytest.raises(brdp.errors.InvalidInput):
        brdp.compose({GAUSSIAN.privacy(): count})


def test_pure_totals_are_the_sum_of_the_largest_losses():
    total = brdp.compose({brdp.Laplace(2.0).privacy(): 4, brdp.DiscreteLaplace(5.0).privacy(): 5})
    lower, upper = total.epsilon_bounds(delta=0)
    assert lower <= 3.0 <= upper
    assert upper - lower <= 1e-12
    assert GAUSSIAN.privacy().compose(3).epsilon_bounds(delta=0) == (math.inf, math.inf)


def test_a_million_costly_releases_of_two_sides_are_answered_however_loosely():
    """A step of their lattice is beyond exp's range: coarser ones say nothing, finer ones something."""
    noise = brdp.Recycled(brdp.DiscreteGaussian(1.5), within=(-1, 3), rate=0.6)
    total = noise.privacy(sensitivity=2).compose(10**6)
    with pytest.warns(LooseBounds):
        lower, upper = total.epsilon_bounds(delta=1e-5)
    assert 1e6 < lower <= upper < 1e7
