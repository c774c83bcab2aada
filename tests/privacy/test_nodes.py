"""Moments of samples, and how fast they fade: sums over nodes against 30-digit quadrature."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import special

import brdp
from brdp.privacy import nodes_on_line, solve
from brdp.privacy.transform_sampled import SampledTransform, lay


def law_of(sigma, rate, *, added, floor=None):
    curve = brdp.subsample(brdp.Gaussian(sigma), sampling_rate=rate)
    law = solve.sides(((curve, 1),))[int(added)][0][0][0]
    return law if floor is None else law.cut(floor)


def true_moment(sigma, rate, s, *, added, end=math.inf):
    """The integral of normal(z) exp(order * m(z)), z up to `end`."""
    step, p = 1 / mp.mpf(sigma), mp.mpf(rate)
    order = -s if added else 1 + s

    def integrand(z):
        return mp.npdf(z) * mp.exp(order * mp.log(1 - p + p * mp.exp(step * z - step**2 / 2)))

    low = -13 - float(step) * (abs(s.real) if added else 0)
    high = min(13 + float(step) * (0 if added else abs(float(s.real)) + 1), end)
    pieces = int(high - low + abs(float(s.imag)) * float(step))
    return mp.quad(integrand, mp.linspace(low, high, pieces + 2))


CASES = [
    # sigma, rate, added, floor, tilt, frequency
    (1.0, 0.01, False, None, 6.5, 20.0),
    (1.0, 0.001, True, None, 12.0, 8.0),
    (4.0, 0.1, False, None, 20.0, 60.0),
    (0.5, 0.5, True, None, 3.0, 5.0),
    (1.0, 0.01, False, -80.0, 9.0, 15.0),
]


@pytest.mark.parametrize("sigma, rate, added, floor, tilt, frequency", CASES)
def test_moments_are_within_their_stated_error(sigma, rate, added, floor, tilt, frequency):
    law = law_of(sigma, rate, added=added, floor=floor)
    end = math.inf if floor is None else math.sqrt(-2 * floor) + 1 / sigma
    s = np.array([[tilt, tilt + 1j * frequency]])
    logs, errors = SampledTransform([law]).log_moments(s)
    assert np.all(errors < 1e-10)
    with mp.workdps(30):
        for log, error, one in zip(logs[0], errors[0], s[0], strict=True):
            truth = true_moment(sigma, rate, mp.mpc(one), added=added, end=end)
            assert abs(mp.exp(mp.mpc(log)) / truth - 1) <= error


def test_control_wider_spacing_is_noticed(monkeypatch):
    """With a tenth of the digits asked for, and said to be had, the same comparison fails."""
    law = law_of(1.0, 0.01, added=False)
    monkeypatch.setattr(nodes_on_line, "GOAL", 3.0)
    nodes = lay(law, np.array([6.5]), 20.0)
    total = np.exp(nodes.log_masses + (6.5 + 20j) * nodes.losses).sum()
    with mp.workdps(30):
        truth = true_moment(1.0, 0.01, mp.mpc(6.5, 20.0), added=False)
        assert abs(mp.mpc(total) / truth - 1) > 1e-10


@pytest.mark.parametrize("sigma, rate, tilt", [(1.0, 0.01, 6.5), (0.5, 0.05, 1.0), (4.0, 0.3, 9.0)])
@pytest.mark.parametrize("added", [False, True])
def test_moments_fade_at_least_as_fast_as_stated(sigma, rate, tilt, added):
    transform = SampledTransform([law_of(sigma, rate, added=added)])
    frequency = np.geomspace(0.01, 300.0, 400)
    logs, _ = transform.log_moments((tilt + 1j * np.append(0.0, frequency))[None])
    share = np.exp(logs[0, 1:].real - logs[0, 0].real)
    bound = transform.fading(np.array([1000.0]), tilt).suprema(frequency)[0]
    # from each frequency on, so the largest that is still to come
    to_come = np.maximum.accumulate(share[::-1])[::-1]
    assert np.all(to_come <= bound * (1 + 1e-9))
    # and not idle: most of the way it says something
    assert np.mean(bound < 1) > 0.9


def test_the_bound_of_the_faddeeva_function():
    """Where the closed form of `GaussianTransform.tails` uses it: the right half of the plane, turned by i."""
    radius, angle = np.geomspace(1e-3, 1e4, 300)[:, None], np.linspace(0, math.pi, 201)
    z = radius * np.exp(1j * angle)
    size = np.abs(special.wofz(z))
    bound = np.minimum(1.0, (1 + np.minimum(1.0, 0.858 / radius)) / (math.sqrt(math.pi) * radius))
    assert np.all(size <= bound * (1 + 1e-9))
