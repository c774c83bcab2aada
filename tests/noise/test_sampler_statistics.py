"""Draws of both samplers against the lattice law they state.

False alarms: every check of an honest sampler raises one with probability below 2e-7. The long tests make
30 settings x 3 checks for the fast sampler, as many for the exact one, and 9 more; the quick ones 18 and 36: a
whole run of this file raises a false alarm with probability below 5e-5.

Controls: every check has to reject the same kernel with a scale off by 1 %, and the same recycler with q (or every
weight but the innermost) off by .01. That takes more draws the less a law is changed by it, so how many is worked
out from the two laws: each rejection demanded fails to come with probability below 1e-9.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

import brdp
from brdp.noise.sampler import exact_sampler_for, sampler_for
from tests.noise.sampler_statistics import CHECKS, Counted, counted, visible

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
# The quick tests' settings, with as many draws as each needs to be a control of something.
QUICK = {5: 4_000_000, 10: 4_000_000, 13: 4_000_000, 16: 6_000_000, 17: 5_000_000, 29: 8_000_000}
DRAWS = 10_000_000
MORE = [k * DRAWS for k in (1, 2, 3, 6, 20)]
# A scale of .1 puts 1e-4 of the law outside 0: chi-square alone sees 1 % of that in 200 million draws.
UNSEEN = {(0, "scale"): {"Kolmogorov-Smirnov", "tails"}}


def of(setting: Setting, *, scale: float = 1.0, rate: float = 0.0) -> brdp.Noise:
    """The noise of a setting, its scale multiplied and its rate (all weights but the first) moved."""
    kernel, width, within, q, levels = setting
    if levels is not None and rate:
        levels = [levels[0], *((bound, abs(keep - rate)) for bound, keep in levels[1:])]
    moved = q - rate if q + rate > 1 else q + rate
    return law(kernel, width * scale, within=within, rate=moved, levels=levels)


def changes_of(setting: Setting) -> dict[str, brdp.Noise]:
    """The noises that no check may take for the setting's."""
    changed = {"scale": of(setting, scale=1.01)}
    if setting[2] is not None or setting[4] is not None:
        changed["rate"] = of(setting, rate=0.01)
    return changed


def failing(drawn: Counted) -> set[str]:
    return {name for name, check in CHECKS.items() if check(drawn) < ALARM}


def seen(noise: brdp.Noise, wrong: brdp.Noise, draws: int) -> set[str]:
    """The checks that are bound to reject draws of the wrong law."""
    return {name for name, sees in visible(noise, wrong, draws, alarm=ALARM).items() if sees}


def rejected(noise: brdp.Noise, wrong: brdp.Noise, draws: int) -> set[str]:
    return failing(counted(sampler_for(wrong).draw, draws, noise))


@pytest.mark.parametrize("index", QUICK)
def test_fast_sampler_quick(index: int) -> None:
    setting, draws = SETTINGS[index], QUICK[index]
    noise = of(setting)
    assert failing(counted(sampler_for(noise).draw, draws, noise)) == set()
    for wrong in changes_of(setting).values():
        expected = seen(noise, wrong, draws)
        assert expected <= rejected(noise, wrong, draws), f"{wrong} passed for {noise}"


def test_the_quick_controls_ask_something_of_every_check() -> None:
    asked: Counter[tuple[str, str]] = Counter()
    for index, draws in QUICK.items():
        for change, wrong in changes_of(SETTINGS[index]).items():
            asked.update((check, change) for check in seen(of(SETTINGS[index]), wrong, draws))
    assert all(asked[check, change] >= 2 for check in CHECKS for change in ("scale", "rate")), asked


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("index", range(len(SETTINGS)))
def test_fast_sampler_at_ten_million_draws(index: int) -> None:
    """The honest law passes; every check rejects a scale off by 1 % and a q off by .01."""
    setting = SETTINGS[index]
    noise = of(setting)
    assert failing(counted(sampler_for(noise).draw, DRAWS, noise)) == set()
    for change, wrong in changes_of(setting).items():
        wanted = set(CHECKS) - UNSEEN.get((index, change), set())
        enough = next(draws for draws in MORE if wanted <= seen(noise, wrong, draws))
        assert wanted <= rejected(noise, wrong, enough), f"{wrong} passed for {noise}"


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


@pytest.mark.parametrize("noise", EXACT, ids=repr)
def test_exact_sampler_quick(noise: brdp.Noise) -> None:
    assert failing(counted(exact_sampler_for(noise).draw, 60_000, noise)) == set()


@pytest.mark.parametrize(
    "wrong",
    [
        brdp.Recycled(brdp.DiscreteLaplace(6.0), within=3, rate=0.9),
        brdp.Recycled(brdp.DiscreteLaplace(4.0), within=3, rate=0.8),
    ],
    ids=repr,
)
def test_control_exact_sampler_of_another_law(wrong: brdp.Noise) -> None:
    stated = brdp.Recycled(brdp.DiscreteLaplace(4.0), within=3, rate=0.9)
    assert seen(stated, wrong, 60_000) == set(CHECKS)
    assert failing(counted(exact_sampler_for(wrong).draw, 60_000, stated)) == set(CHECKS)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("index", range(len(SETTINGS)))
def test_exact_sampler_in_thirty_settings(index: int) -> None:
    noise = of(SETTINGS[index])
    assert failing(counted(exact_sampler_for(noise).draw, 200_000, noise)) == set()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("index, change, draws", [(16, "scale", 5_000_000), (4, "rate", 2_000_000)])
def test_the_exact_sampler_is_held_as_sharply(index: int, change: str, draws: int) -> None:
    """The same draws of the exact sampler pass for its own law, and no check takes them for the changed one."""
    noise = of(SETTINGS[index])
    other = changes_of(SETTINGS[index])[change]
    values = exact_sampler_for(noise).draw(draws)
    assert failing(counted(lambda _: values, draws, noise)) == set()
    assert seen(other, noise, draws) == set(CHECKS)
    assert failing(counted(lambda _: values, draws, other)) == set(CHECKS)


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
