"""Composition: reference values, closed forms, exact sums, and what is refused."""

from __future__ import annotations

import math

import pytest

import brdp

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


@pytest.mark.parametrize("noise, count, delta, epsilon", REFERENCES)
def test_reference_values_lie_within_narrow_bounds(noise, count, delta, epsilon):
    lower, upper = noise.privacy(sensitivity=1).compose(count).epsilon_bounds(delta=delta)
    digits = 1e-9 * epsilon  # the references are rounded
    assert lower <= epsilon + digits
    assert epsilon - digits <= upper
    assert upper - lower <= 2e-4 * epsilon


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
