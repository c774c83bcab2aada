"""Noise written down and read back is the same noise, to the last bit."""

from __future__ import annotations

import json
import math

import pytest

import brdp
from brdp.errors import InvalidInput
from brdp.noise.describe import describe_noise, read_noise

NOISES = (
    brdp.Laplace(0.1),
    brdp.Gaussian(1 / 3),
    brdp.DiscreteLaplace(6.849153889096357),
    brdp.DiscreteGaussian(1e5 + 0.1),
    brdp.Staircase(core=0.3, step=1.7, drop=0.9),
    brdp.Staircase(core=3, step=17, drop=0.1, integer=True),
    brdp.Recycled(brdp.DiscreteLaplace(4.0), within=(-4, 1), rate=0.3),
    brdp.Recycled(brdp.Gaussian(2.5), levels=[(1.0, 1.0), (6.0, 0.3), (math.inf, 0.1)]),
)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_it_comes_back_through_json(noise: brdp.Noise) -> None:
    assert read_noise(json.loads(json.dumps(describe_noise(noise)))) == noise


@pytest.mark.parametrize(
    "data",
    (
        None,
        {},
        {"kernel": "uniform"},
        {"kernel": "laplace"},
        {"kernel": "laplace", "scale": 1.0, "sigma": 2.0},
        {"kernel": "laplace", "scale": -1.0},
    ),
)
def test_what_is_not_noise_is_refused(data: object) -> None:
    with pytest.raises(InvalidInput):
        read_noise(data)
