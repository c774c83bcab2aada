"""Draws of both samplers against the lattice law they state.

False alarms: every check of an honest sampler raises one with probability at most 1e-7. There are 30 settings with
3 checks for the fast sampler at 10 million draws, 3 checks for each quick setting and each exact one: about 150
in all, so a whole run of this file raises a false alarm with probability at most 2e-5.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import brdp
from brdp.noise.sampler import exact_sampler_for, sampler_for
from tests.noise.sampler_statistics import CHECKS, counted, visible

ALARM = 1e-7
Levels = list[tuple[float, float]]


def staircase(scale: float) -> brdp.Kernel:
    return brdp.Staircase(
        core=round(scale / 2),
        step=max(1, round(scale)),
        drop=1.01 * max(1, round(scale)) / scale,
        integer=True,
    )


def law(
    kernel: type[brdp.Kernel] | object,
    scale: float,
    *,
    within: float | tuple[float, float] | None = None,
    rate: float = 0.0,
    levels: Levels | None = None,
) -> brdp.Noise:
    made: brdp.Kernel = kernel(scale)  # type: ignore[operator]
    if levels is not None:
        return brdp.Recycled(made, levels=levels)
    return made if within is None else brdp.Recycled(made, within=within, rate=rate)


L, G = brdp.DiscreteLaplace, brdp.DiscreteGaussian
# kernel, scale, within, rate, levels
Setting = tuple[object, float, float | tuple[float, float] | None, float, Levels | None]
SETTINGS: list[Setting] = [
    (L, 0.1, None, 0.0, None),
    (L, 0.5, 0, 0.5, None),
    (L, 1.0, None, 0.0, None),
    (L, 4.0, 3, 0.4, None),
    (L, 4.0, (-6, 2), 0.9, None),
    (L, 25.0, None, 0.0, [(20, 1.0), (50, 0.5), (math.inf, 0.1)]),
    (L, 100.0, 100, 0.9, None),
    (L, 1e3, 800, 0.99, None),
    (L, 1e4, None, 0.0, None),
    (L, 1e4, 12_000, 0.5, None),
    (L, 1e5, (-1e5, 5e4), 0.8, None),
    (L, 1e6, None, 0.0, None),
    (L, 1e6, 3e6, 1 - 1e-6, None),
    (L, 1e6, None, 0.0, [(1e5, 1.0), (1e6, 0.9), (3e6, 0.5), (math.inf, 0.01)]),
    (G, 0.4, None, 0.0, None),
    (G, 1.0, 1, 0.5, None),
    (G, 2.5, None, 0.0, None),
    (G, 10.0, 10, 0.9, None),
    (G, 10.0, (-4, 15), 1 - 1e-6, None),
    (G, 77.7, None, 0.0, [(50, 1.0), (100, 0.6), (math.inf, 0.2)]),
    (G, 1e3, 900, 0.5, None),
    (G, 3e4, None, 0.0, None),
    (G, 3e4, 3e4, 0.95, None),
    (G, 1e6, None, 0.0, None),
    (G, 1e6, 1e6, 0.5, None),
    (G, 1e6, None, 0.0, [(5e5, 1.0), (2e6, 0.75), (math.inf, 0.0)]),
    (staircase, 8.0, None, 0.0, None),
    (staircase, 50.0, 40, 0.5, None),
    (staircase, 1e4, 1e4, 0.9, None),
    (staircase, 1e5, None, 0.0, [(5e4, 1.0), (math.inf, 0.4)]),
]
QUICK = [3, 5, 10, 13, 17, 24, 27, 29]


def of(setting: Setting, *, scale: float = 1.0, rate: float = 0.0) -> brdp.Noise:
    """The noise of a setting, its scale multiplied and its rate (all weights but the first) moved."""
    kernel, width, within, q, levels = setting
    if levels is not None and rate:
        levels = [levels[0], *((bound, abs(keep - rate)) for bound, keep in levels[1:])]
    moved = q - rate if q + rate > 1 else q + rate
    return law(kernel, width * scale, within=within, rate=moved, levels=levels)


def failing(values: NDArray[np.int64], noise: brdp.Noise) -> set[str]:
    drawn = counted(values, noise)
    return {name for name, check in CHECKS.items() if check(drawn) < ALARM}


def accuses(setting: Setting, draws: int) -> dict[str, int]:
    """Holds the honest sampler to its law, and counts the checks that see one off by 1 % or by .01."""
    noise = of(setting)
    assert failing(sampler_for(noise).draw(draws), noise) == set()
    seen = dict.fromkeys(CHECKS, 0)
    changes = [{"scale": 1.01}]
    if setting[2] is not None or setting[4] is not None:
        changes.append({"rate": 0.01})
    for change in changes:
        wrong = of(setting, **change)
        expected = {name for name, can in visible(noise, wrong, draws).items() if can}
        found = failing(sampler_for(wrong).draw(draws), noise)
        assert expected <= found, f"{wrong} passed for {noise}"
        for name in found:
            seen[name] += 1
    return seen


@pytest.mark.parametrize("index", QUICK)
def test_fast_sampler_quick(index: int) -> None:
    seen = accuses(SETTINGS[index], 4_000_000)
    assert sum(seen.values()) >= 1


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_fast_sampler_in_thirty_settings_at_ten_million_draws() -> None:
    totals = dict.fromkeys(CHECKS, 0)
    cases = 0
    for setting in SETTINGS:
        for name, count in accuses(setting, 10_000_000).items():
            totals[name] += count
        cases += 1 + (setting[2] is not None or setting[4] is not None)
    # a scale of 0.1 puts 1e-4 of the law outside 0, and bounds far out hide a rate: no check can see all
    assert cases >= 50
    assert all(count >= 0.8 * cases for count in totals.values()), (totals, cases)


EXACT: list[brdp.Noise] = [
    brdp.DiscreteLaplace(0.3),
    brdp.DiscreteLaplace(2.0),
    brdp.DiscreteLaplace(123.456),
    brdp.DiscreteGaussian(0.7),
    brdp.DiscreteGaussian(5.5),
    brdp.DiscreteGaussian(1e5),
    brdp.Staircase(core=2, step=5, drop=0.8, integer=True),
    brdp.Staircase(core=0, step=1, drop=0.5, integer=True),
    brdp.Staircase(core=9, step=2, drop=0.3, integer=True),
    brdp.Recycled(brdp.DiscreteLaplace(4.0), within=3, rate=0.9),
    brdp.Recycled(brdp.DiscreteGaussian(4.0), within=(-1, 5), rate=0.5),
    brdp.Recycled(brdp.DiscreteLaplace(6.0), levels=[(2, 1.0), (9, 0.4), (math.inf, 0.1)]),
]


def exact_holds(noise: brdp.Noise, draws: int) -> None:
    assert failing(exact_sampler_for(noise).draw(draws), noise) == set()


@pytest.mark.parametrize("noise", EXACT, ids=repr)
def test_exact_sampler_quick(noise: brdp.Noise) -> None:
    exact_holds(noise, 60_000)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("noise", EXACT, ids=repr)
def test_exact_sampler_at_400_000_draws(noise: brdp.Noise) -> None:
    exact_holds(noise, 400_000)


@pytest.mark.parametrize(
    "wrong",
    [
        brdp.Recycled(brdp.DiscreteLaplace(4.8), within=3, rate=0.9),
        brdp.Recycled(brdp.DiscreteLaplace(4.0), within=3, rate=0.85),
    ],
    ids=repr,
)
def test_control_exact_sampler_of_another_law(wrong: brdp.Noise) -> None:
    stated = brdp.Recycled(brdp.DiscreteLaplace(4.0), within=3, rate=0.9)
    assert failing(exact_sampler_for(wrong).draw(60_000), stated)


def test_both_samplers_agree() -> None:
    """Two ways to one law, against each other: two samples of a chi-square each within its alarm."""
    noise = EXACT[-1]
    fast, exact = sampler_for(noise).draw(100_000), exact_sampler_for(noise).draw(100_000)
    assert abs(fast.mean() - exact.mean()) < 6 * noise.std * math.sqrt(2e-5)  # 2e-9


def test_draws_are_independent_across_columns_of_a_chunk() -> None:
    """Neighbouring draws: 1 million pairs, correlation below 6 / sqrt(1e6); alarm 2e-9 each."""
    values = sampler_for(brdp.DiscreteGaussian(1000.0)).draw(1_000_000).astype(np.float64)
    for lag in (1, 2, 1 << 14):
        pairs = np.corrcoef(values[:-lag], values[lag:])[0, 1]
        assert abs(pairs) < 6 / math.sqrt(len(values) - lag)
