"""Sums of exponentials by fast transforms: against sums in 30 digits, and a control with too short a series."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

import brdp
from brdp.privacy import circle, engines, solve

FREQUENCIES = 0.3 * np.arange(4000)


def drawn(count, seed):
    rng = np.random.default_rng(seed)
    # in clusters, far apart, of very different weights
    losses = rng.choice([-3.0, 0.001, 40.0], count) + 1e-3 * rng.standard_normal(count)
    return circle.Exponentials(losses, -np.abs(rng.normal(0, 8, count)), np.zeros(count), -math.inf)


def worst(law, tilt):
    """The largest error found, as a share of the stated one."""
    found = circle.around(law, tilt, FREQUENCIES)
    shares = []
    with mp.workdps(30):
        for k in (0, 1, 2, 77, 1999, 3999):
            s = mp.mpc(tilt, float(FREQUENCIES[k]))
            terms = zip(law.log_masses, law.losses, strict=True)
            truth = mp.fsum(mp.exp(mp.mpf(m) + s * mp.mpf(x)) for m, x in terms)
            mine = mp.mpc(complex(found.values[k])) * mp.exp(mp.mpf(found.log_scale))
            error = abs(mine - truth) / mp.exp(mp.mpf(found.log_scale))
            shares.append(float(error) / float(found.errors[k]))
    return max(shares)


@pytest.mark.parametrize("tilt", [0.0, 1.5, 20.0])
@pytest.mark.parametrize("count", [1, 3, 500])
def test_sums_are_within_their_stated_error(count, tilt):
    assert worst(drawn(count, seed=count), tilt) <= 1
    assert circle.around(drawn(count, seed=count), tilt, FREQUENCIES).errors[0] < 1e-10


def test_control_a_series_that_is_too_short_is_noticed(monkeypatch):
    monkeypatch.setattr(circle, "TERMS", 6)
    assert worst(drawn(500, seed=1), 1.5) > 1


@pytest.mark.parametrize("smoothed", [False, True])
def test_every_node_at_once_agrees_with_nodes_one_by_one(smoothed):
    curve = brdp.subsample(
        brdp.Recycled(brdp.Gaussian(2.5), within=1.0, rate=0.5), sampling_rate=0.1
    )
    laws, log_delta = solve.sides(((curve, 300),))[0], math.log(1e-10)
    saddles = engines.saddles_of(laws)
    tilt, epsilon = saddles.for_delta(log_delta)
    near = {"tilt": tilt, "epsilon": epsilon, "log_delta": log_delta}
    more = {"smoothing": 1e-8 * epsilon / (1 + tilt)} if smoothed else {}
    one = engines.by_contour(laws, saddles, **near, effort=engines.EFFORTS[0])
    other = engines.by_sweep(laws, saddles, **near, **more, most_nodes=1 << 20)
    for x in (0.98 * epsilon, epsilon, 1.02 * epsilon):
        assert max(one.log_lower(x), other.log_lower(x)) <= min(
            one.log_upper(x), other.log_upper(x)
        )
        assert other.log_upper(x) - other.log_lower(x) < 1e-6
