"""How far apart the two ends of a composed epsilon are: an even sample of a wide grid, held to the stated limits.

A point that falls short is listed with the gap that was seen. It is held to that gap, and a strict xfail says
that it misses its limit: whoever improves the accountant is told to strike it off the list.
"""

from __future__ import annotations

import itertools
import math
import warnings

import pytest

import brdp
from brdp.privacy import LooseBounds

pytestmark = pytest.mark.slow

KERNELS = (brdp.Gaussian, brdp.Laplace, brdp.DiscreteGaussian, brdp.DiscreteLaplace)
SCALES = (1.5, 15.0)
RECYCLING = (0.2, 0.6, 0.9, 0.99)
SAMPLING = (1.0, 0.5, 0.1, 0.01, 0.001)
COUNTS = (1, 10, 100, 1000, 10**4, 10**6)
DELTAS = (1e-5, 1e-10, 1e-15, 1e-30)
# below, at and above the sensitivity, which is 1 on the line and 2 on the integers
WITHIN = {1: (0.4, 1.0, 3.0), 2: (1.0, 2.0, 5.0)}
ASYMMETRIC = (((-1.0, 3.0), 0.6), ((-1.0, 3.0), 0.99), ((0.0, 2.0), 0.2))
LEVELS = (
    ((1.0, 1.0), (3.0, 0.5), (math.inf, 0.2)),
    ((2.0, 1.0), (4.0, 0.1), (math.inf, 0.01)),
)
# shares no factor with the length of any axis, so that every setting turns up beside every other
STRIDE = 43

# The relative gaps seen where they exceed the limit.
SHORTFALLS = {
    "Gaussian 1.5 within (-1.0, 3.0) rate 0.99, sampled 0.5, 10000 times, delta 1e-05": 0.096,
    "Laplace 1.5 within (-1.0, 3.0) rate 0.6, sampled 0.1, 10000 times, delta 1e-05": 0.64,
    "Laplace 1.5 within (0.0, 2.0) rate 0.2, sampled 0.01, 100 times, delta 1e-15": 0.0044,
    "DiscreteGaussian 1.5 within 5.0 rate 0.2, sampled 0.001, 100 times, delta 1e-05": 1.9e-08,
    "DiscreteGaussian 1.5 within (-1.0, 3.0) rate 0.99, sampled 0.001, 100 times, delta 1e-15": 0.0035,
    "DiscreteGaussian 1.5 within (0.0, 2.0) rate 0.2, sampled 0.001, 10000 times, delta 1e-30": 0.071,
    "DiscreteLaplace 1.5 within (-1.0, 3.0) rate 0.6, sampled 0.01, 1000 times, delta 1e-30": 0.18,
    "DiscreteLaplace 1.5 within (0.0, 2.0) rate 0.2, sampled 0.001, 100 times, delta 1e-10": 0.016,
    "Gaussian 15 within (0.0, 2.0) rate 0.2, sampled 1, 100 times, delta 1e-10": 0.0029,
    "Laplace 15 within (-1.0, 3.0) rate 0.99, sampled 0.5, 100 times, delta 1e-10": 0.05,
    "Laplace 15 within (0.0, 2.0) rate 0.2, sampled 0.5, 10000 times, delta 1e-15": 0.06,
    "DiscreteGaussian 15 within (-1.0, 3.0) rate 0.6, sampled 0.1, 100 times, delta 1e-10": 0.018,
    "DiscreteGaussian 15 within (-1.0, 3.0) rate 0.99, sampled 0.1, 10000 times, delta 1e-15": 0.11,
    "DiscreteLaplace 15 within (-1.0, 3.0) rate 0.99, sampled 0.1, 100 times, delta 1e-05": 0.062,
    "DiscreteLaplace 15 within (0.0, 2.0) rate 0.2, sampled 0.1, 10000 times, delta 1e-10": 0.048,
    "DiscreteLaplace 15 within (-1.0, 3.0) rate 0.6, sampled 0.5, 1000000 times, delta 1e-30": 0.87,
}


def noises():
    """Each noise with its name, its sensitivity and whether its two sides differ."""
    for scale, kind in itertools.product(SCALES, KERNELS):
        kernel, name = kind(scale), f"{kind.__name__} {scale:g}"
        sensitivity = 2 if kernel.lattice else 1
        yield kernel, name, sensitivity, False
        for within, rate in (*itertools.product(WITHIN[sensitivity], RECYCLING), *ASYMMETRIC):
            noise = brdp.Recycled(kernel, within=within, rate=rate)
            yield (
                noise,
                f"{name} within {within} rate {rate}",
                sensitivity,
                isinstance(within, tuple),
            )
        for levels in LEVELS:
            noise = brdp.Recycled(kernel, levels=levels)
            yield noise, f"{name} to {levels[0][0]} keeping {levels[-1][1]}", sensitivity, False


def points():
    """Name, noise, composed curve, count and delta; one in three of those whose sides differ."""
    grid = itertools.product(noises(), SAMPLING, COUNTS, DELTAS)
    lopsided = itertools.count()
    for (noise, name, sensitivity, differ), rate, count, delta in itertools.islice(
        grid, 0, None, STRIDE
    ):
        if not (differ and next(lopsided) % 3):
            curve = brdp.subsample(noise, sensitivity=sensitivity, sampling_rate=rate)
            whole = f"{name}, sampled {rate:g}, {count} times, delta {delta:g}"
            yield whole, noise, curve.compose(count), count, delta


POINTS = {whole: rest for whole, *rest in points()}


def measured(curve, delta):
    """The relative gap, none where it is within 1e-9 of an epsilon below 0.01, and the warnings given."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        lower, upper = curve.epsilon_bounds(delta=delta)
        assert curve.epsilon(delta=delta) == upper
    assert 0 <= lower <= upper
    small = lower == upper or (upper < 0.01 and upper - lower <= 1e-9)
    gap = 0.0 if small else (upper - lower) / upper if upper < math.inf else math.inf
    return gap, {one.category for one in heard}


def limit(noise, count):
    if count < 100:
        return 1e-4
    return 1e-8 if "Gaussian" in type(noise.kernel).__name__ else 1e-7


def marked(whole, known, **why):
    return pytest.param(
        whole, marks=pytest.mark.xfail(strict=True, **why) if whole in known else ()
    )


@pytest.mark.parametrize(
    "whole",
    [
        marked(whole, SHORTFALLS, raises=AssertionError, reason=f"gap {SHORTFALLS.get(whole)}")
        for whole in POINTS
    ],
)
def test_gaps_are_within_the_limits(whole):
    noise, curve, count, delta = POINTS[whole]
    gap, _ = measured(curve, delta)
    assert gap <= limit(noise, count)


@pytest.mark.parametrize("whole", POINTS)
def test_shortfalls_do_not_grow_and_what_is_loose_says_so(whole):
    noise, curve, count, delta = POINTS[whole]
    gap, warned = measured(curve, delta)
    assert gap <= max(1.25 * SHORTFALLS.get(whole, 0.0), limit(noise, count))
    assert warned == ({LooseBounds} if gap > 1e-4 else set())


def test_every_listed_point_is_one_of_the_sample():
    assert SHORTFALLS.keys() <= POINTS.keys()
    assert len(POINTS) > 300


@pytest.mark.parametrize("sampling", [1.0, 0.01])
@pytest.mark.parametrize("delta", DELTAS)
def test_a_thousand_distinct_mechanisms(delta, sampling):
    noises = [
        brdp.Recycled(KERNELS[k % 4](8 + 0.01 * k), within=1 + k % 5, rate=RECYCLING[k % 3])
        for k in range(1000)
    ]
    curves = [brdp.subsample(noise, sampling_rate=sampling) for noise in noises]
    gap, warned = measured(brdp.compose(curves), delta)
    assert gap <= 1e-8
    assert not warned
