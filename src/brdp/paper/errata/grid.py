"""How often the single-release claims fail: counts over stated grids of settings.

A promise counts as broken when the exact delta is above the promised one by more than one part
in 1e9, which is above the rounding of the curve and far below any effect of interest.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import final

import numpy as np

from brdp.paper.accountants import calibrated_gaussian, calibrated_laplace_with_delta
from brdp.paper.errata.erratum import Frequency
from brdp.paper.formulas.budget import (
    KernelFor,
    Split,
    gain_over_plain,
    gaussian_for,
    laplace_for,
    laplace_with_delta_for,
    objective_as_printed,
    optimal_split,
    split_at,
)
from brdp.paper.formulas.kernel import Floats
from brdp.paper.formulas.leakage import (
    baseline_rate,
    recycling_weight,
    recycling_weight_by_definition,
)
from brdp.paper.truth import curve_of, split_curve

ROUNDING = 1e-9

EPSILONS = (0.1, 0.5, 1.0, 2.0, 3.0, 5.0)
DELTAS = (1e-2, 1e-3, 1e-5, 1e-8)
SENSITIVITIES = (1.0, 5.0, 22.0)
BOUNDS = (0.5, 1.0, 3.0, 10.0)
SHARES = (0.2, 0.35, 0.5, 0.7, 0.9)

_AXES = (
    "ε in .1, .5, 1, 2, 3, 5; δ in 1e-2, 1e-3, 1e-5, 1e-8; Δ in 1, 5, 22; θ in .5, 1, 3, 10; "
    "ε_y/ε in .2, .35, .5, .7, .9"
)
GRID = f"{_AXES}; Gaussian at (ε_y, δ), Laplace at (ε_y, 0)"
BUDGET_GRID = (
    "ε in .1, .5, 1, 2, 3, 5; δ in 1e-2, 1e-3, 1e-5, 1e-8; Δ in 1, 5, 22; θ in .5, 1, 3, 10"
)

KERNELS: tuple[tuple[str, KernelFor], ...] = (("Gaussian", gaussian_for), ("Laplace", laplace_for))


@final
@dataclass(frozen=True, eq=False)
class Settings:
    """The stated grid as columns."""

    epsilon: Floats
    delta: Floats
    sensitivity: Floats
    within: Floats
    share: Floats


def settings() -> Settings:
    """All 1,440 settings of the stated grid."""
    axes = (EPSILONS, DELTAS, SENSITIVITIES, BOUNDS, SHARES)
    return Settings(*np.array(list(itertools.product(*axes))).T)


def algorithm_1_deltas(kernel_for: KernelFor) -> tuple[Floats, Floats]:
    """Promised and exact delta of Algorithm 1's rate over the grid."""
    at = settings()
    split = split_at(
        at.epsilon * at.share,
        epsilon=at.epsilon,
        delta=at.delta,
        sensitivity=at.sensitivity,
        lower=-at.within,
        upper=at.within,
        kernel_for=kernel_for,
    )
    return at.delta, _deltas(split, at.epsilon)


def _deltas(split: Split, epsilon: Floats) -> Floats:
    return np.array(
        [
            float(split_curve(split.at(i)).delta(epsilon=float(epsilon[i])))
            for i in range(epsilon.size)
        ]
    )


def broken(promised: Floats, exact: Floats) -> int:
    """How many exact deltas are above the promised ones."""
    return int(np.sum(exact > promised * (1 + ROUNDING)))


def algorithm_1_frequency() -> tuple[Frequency, ...]:
    """Proposition 3 over the grid, for both kernels."""
    out = []
    for word, kernel_for in KERNELS:
        promised, exact = algorithm_1_deltas(kernel_for)
        claim = f"Algorithm 1's rate keeps (ε, δ), {word} kernel"
        out.append(
            Frequency(
                claim, GRID, broken(promised, exact), exact.size, f"Algorithm 1 breaks δ, {word}"
            )
        )
    promised, exact = algorithm_1_deltas(laplace_with_delta_for)
    out.append(
        Frequency(
            "Algorithm 1's rate keeps (ε, δ), Laplace kernel as the paper's experiments calibrate it",
            f"{_AXES}; Laplace at (ε_y, δ)",
            broken(promised, exact),
            exact.size,
            "Algorithm 1 breaks δ, Laplace at δ",
        )
    )
    return tuple(out)


def algorithm_1_wasted() -> tuple[Frequency, ...]:
    """How often Algorithm 1 leaves more than 99 % of delta unspent."""
    out = []
    for word, kernel_for in KERNELS:
        promised, exact = algorithm_1_deltas(kernel_for)
        claim = f"Algorithm 1 spends at least 1 % of δ, {word} kernel"
        out.append(
            Frequency(
                claim,
                GRID,
                int(np.sum(exact < 0.01 * promised)),
                exact.size,
                f"Algorithm 1 wastes 99 %, {word}",
            )
        )
    return tuple(out)


# --- Theorem 2 ------------------------------------------------------------------------------

_T2_EPSILONS = (0.5, 1.0, 2.0)
_T2_DELTAS = (0.01, 0.05, 0.1, 0.2)
_T2_BOUNDS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_T2_RATES = (0.5, 0.9, 0.99)
_T2_GAUSS_EPSILONS = (5.0, 10.0, 20.0)
_T2_GAUSS_DELTAS = (1e-2, 1e-3, 1e-5)
_T2_GAUSS_BOUNDS = ((-2.0, 0.0), (-2.0, 0.2), (-1.0, 0.0), (-1.0, 0.5))
_T2_GAUSS_GAPS = (1.0, 2.0, 4.0)


def theorem_2_frequency() -> tuple[Frequency, ...]:
    """Theorem 2 on the main grid, and on two grids where its proof's gap opens."""
    at = settings()
    out = []
    for word, kernel in (
        ("Gaussian", gaussian_for(at.epsilon * at.share, at.delta, at.sensitivity)),
        ("Laplace", laplace_with_delta_for(at.epsilon * at.share, at.delta, at.sensitivity)),
    ):
        rate = baseline_rate(epsilon=at.epsilon, kernel_epsilon=at.epsilon * at.share)
        exact = _deltas(
            Split(at.epsilon * at.share, kernel, rate, -at.within, at.within), at.epsilon
        )
        claim = f"Theorem 2, {word} kernel at (ε_y, δ), symmetric bounds"
        out.append(
            Frequency(claim, _AXES, broken(at.delta, exact), exact.size, f"Theorem 2, {word}")
        )
    out.append(_theorem_2_narrow())
    out.append(_theorem_2_lopsided())
    return tuple(out)


def _theorem_2_narrow() -> Frequency:
    fails = total = 0
    for e_y, delta, theta, rate in itertools.product(
        _T2_EPSILONS, _T2_DELTAS, _T2_BOUNDS, _T2_RATES
    ):
        kernel = calibrated_laplace_with_delta(epsilon=e_y, delta=delta, sensitivity=1.0)
        curve = curve_of(kernel, lower=-theta, upper=theta, rate=rate)
        exact = float(curve.delta(epsilon=e_y - float(np.log1p(-rate))))
        fails += exact > delta * (1 + ROUNDING)
        total += 1
    grid = "Δ = 1; ε_y in .5, 1, 2; δ in .01, .05, .1, .2; θ in .02, .05, .1, .2, .5, 1; q in .5, .9, .99"
    return Frequency(
        "Theorem 2, Laplace kernel at (ε_y, δ), narrow bounds",
        grid,
        fails,
        total,
        "Theorem 2, Laplace, narrow",
    )


def _theorem_2_lopsided() -> Frequency:
    fails = total = 0
    for e_y, delta, (low, high), gap in itertools.product(
        _T2_GAUSS_EPSILONS, _T2_GAUSS_DELTAS, _T2_GAUSS_BOUNDS, _T2_GAUSS_GAPS
    ):
        kernel = calibrated_gaussian(epsilon=e_y, delta=delta, sensitivity=1.0)
        rate = float(baseline_rate(epsilon=e_y + gap, kernel_epsilon=e_y))
        curve = curve_of(kernel, lower=low, upper=high, rate=rate)
        fails += float(curve.delta(epsilon=e_y + gap)) > delta * (1 + ROUNDING)
        total += 1
    grid = (
        "Δ = 1; ε_y in 5, 10, 20; δ in 1e-2, 1e-3, 1e-5; bounds [-2, 0], [-2, .2], [-1, 0], "
        "[-1, .5]; ε - ε_y in 1, 2, 4"
    )
    return Frequency(
        "Theorem 2, Gaussian kernel, bounds that are not symmetric",
        grid,
        fails,
        total,
        "Theorem 2, Gaussian, lopsided",
    )


# --- eq. (eq:W) for bounds that are not symmetric -------------------------------------------

_W_EPSILONS = (0.5, 1.0, 2.0, 3.0)
_W_DELTAS = (1e-3, 1e-5)
_W_SENSITIVITIES = (1.0, 5.0)
_W_LEFT = ((-3.0, 0.5), (-3.0, 0.0), (-10.0, 0.0), (-10.0, 1.0))
_W_BOUNDS = (*_W_LEFT, *((-high, -low) for low, high in _W_LEFT))
_W_SHARES = (0.2, 0.5, 0.7, 0.9)
_W_GRID = (
    "ε in .5, 1, 2, 3; δ in 1e-3, 1e-5; Δ in 1, 5; bounds [-3, .5], [-3, 0], [-10, 0], [-10, 1] and "
    "their mirror images; ε_y/ε in .2, .5, .7, .9"
)


def lopsided_frequency() -> tuple[Frequency, ...]:
    """eq. (eq:W) against its own definition, and Algorithm 1's promise, for lopsided bounds."""
    out = []
    for word, kernel_for in KERNELS:
        short = fails = total = 0
        for e, d, s, (low, high), share in itertools.product(
            _W_EPSILONS, _W_DELTAS, _W_SENSITIVITIES, _W_BOUNDS, _W_SHARES
        ):
            split = split_at(
                e * share, epsilon=e, delta=d, sensitivity=s, lower=low, upper=high, kernel_for=kernel_for
            )  # fmt: skip
            printed = float(recycling_weight(split.kernel, lower=low, upper=high))
            meant = float(recycling_weight_by_definition(split.kernel, lower=low, upper=high))
            exact = float(split_curve(split.at(0)).delta(epsilon=e))
            short += printed < meant * (1 - ROUNDING)
            fails += exact > d * (1 + ROUNDING)
            total += 1
        claim = f"eq:W is at least the probability it stands for, {word} kernel"
        out.append(Frequency(claim, _W_GRID, short, total, f"eq:W too small, {word}"))
        claim = f"Algorithm 1's rate keeps (ε, δ), {word} kernel, lopsided bounds"
        out.append(Frequency(claim, _W_GRID, fails, total, f"Alg. 1 breaks δ, {word}, lopsided"))
    return tuple(out)


# --- Algorithm 2 ----------------------------------------------------------------------------

NEARLY_ONE = 1.0 - 1e-9
_SEARCH = np.geomspace(1e-9, 1.0, 400)
_SEARCH_END = 1e-5
"""The search stops within one part in a million of epsilon, so short of its end by that much."""


def budgets() -> tuple[Floats, Floats, Floats, Floats]:
    """The grid of 288 budgets: epsilon, delta, sensitivity, bound."""
    grid = np.array(list(itertools.product(EPSILONS, DELTAS, SENSITIVITIES, BOUNDS))).T
    return grid[0], grid[1], grid[2], grid[3]


def objective_frequency() -> tuple[Frequency, ...]:
    """What minimising the printed objective returns over the grid of budgets: no recycling."""
    e, d, s, t = budgets()
    out = []
    for word, kernel_for in KERNELS:
        found = optimal_split(
            epsilon=e, delta=d, sensitivity=s, lower=-t, upper=t, kernel_for=kernel_for,
            minimise=objective_as_printed,
        )  # fmt: skip
        plain = kernel_for(e, d, s).acceptance(-t, t)
        gains = np.sum(found.acceptance > 1.001 * plain)
        claim = (
            f"the printed objective leads to 0.1 % more acceptance than no recycling, {word} kernel"
        )
        out.append(
            Frequency(
                claim, BUDGET_GRID, int(e.size - gains), e.size, f"eq:budget finds no gain, {word}"
            )
        )
    return tuple(out)


def no_privacy_frequency() -> tuple[Frequency, ...]:
    """Where Algorithm 2's own best split has q above 1 - 1e-9, and where its search returns one."""
    e, d, s, t = budgets()
    out = []
    for word, kernel_for in KERNELS:
        scan = split_at(
            _SEARCH[:, None] * e, epsilon=e, delta=d, sensitivity=s, lower=-t, upper=t,
            kernel_for=kernel_for,
        )  # fmt: skip
        best = np.take_along_axis(scan.rate, np.argmax(scan.acceptance, axis=0)[None], axis=0)[0]
        ends = optimal_split(
            epsilon=e, delta=d, sensitivity=s, lower=-t, upper=t, kernel_for=kernel_for
        )
        claim = f"the best split by Algorithm 2's own objective has q below 1 - 1e-9, {word} kernel"
        out.append(
            Frequency(
                claim,
                BUDGET_GRID,
                int(np.sum(best > NEARLY_ONE)),
                e.size,
                f"best split has no privacy, {word}",
            )
        )
        claim = f"the split Algorithm 2's search returns has q below 1 - 1e-9, {word} kernel"
        out.append(
            Frequency(
                claim,
                BUDGET_GRID,
                int(np.sum(ends.rate > NEARLY_ONE)),
                e.size,
                f"returned split has none, {word}",
            )
        )
        short = np.sum(ends.acceptance < 0.99 * np.max(scan.acceptance, axis=0))
        claim = f"the ternary search comes within 1 % of its own objective's best, {word} kernel"
        out.append(
            Frequency(claim, BUDGET_GRID, int(short), e.size, f"search misses its best, {word}")
        )
        less = np.sum(gain_over_plain(ends, kernel_for(e, d, s)) < 1 - _SEARCH_END)
        claim = f"Proposition 4 holds for the split the ternary search returns, {word} kernel"
        out.append(
            Frequency(claim, BUDGET_GRID, int(less), e.size, f"Proposition 4 broken, {word}")
        )
    return tuple(out)
