"""Counterexamples about many releases: Theorem 3, Algorithm 3, Remark 4, Table 1, Figure 5."""

from __future__ import annotations

import itertools

import numpy as np

from brdp.paper.accountants import (
    ClassicConversion,
    ImprovedConversion,
    calibrated_gaussian,
    calibrated_laplace,
    composed_gaussian,
    epsilon_of,
    renyi_profile,
)
from brdp.paper.errata.erratum import Evidence, Frequency
from brdp.paper.errata.grid import ROUNDING
from brdp.paper.formulas.budget import gaussian_for, objective_as_printed, optimal_split
from brdp.paper.formulas.composition import (
    advanced_composition_as_printed,
    composed_profile,
)
from brdp.paper.formulas.kernel import GaussianKernel, gaussian_profile
from brdp.paper.formulas.leakage import recycling_loss, recycling_weight
from brdp.paper.truth import curve_of, exact_plan, split_curve
from brdp.planning import plan
from brdp.privacy.compose import compose

_DELTA = 1e-5


def theorem_3_epsilon(
    kernel: GaussianKernel, *, within: float, rate: float, count: int, delta: float, first: int = 0
) -> float:
    """The epsilon Theorem 3 states for a Gaussian kernel (first=1: Algorithm 3's loop)."""
    profile = composed_profile(
        composed_gaussian(kernel, count=count),
        weight=float(recycling_weight(kernel, lower=-within, upper=within)),
        loss=float(recycling_loss(rate=rate)),
        count=count,
        first=first,
    )
    return float(epsilon_of(profile, delta=np.array([delta]))[0])


def theorem_3_fails() -> tuple[Evidence, ...]:
    """Gaussian sigma = 6, theta = .5, q = .8, T = 100: what it states, and the truth."""
    kernel = GaussianKernel(6.0, 1.0)
    stated = theorem_3_epsilon(kernel, within=0.5, rate=0.8, count=100, delta=_DELTA)
    total = compose({curve_of(kernel, lower=-0.5, upper=0.5, rate=0.8): 100})
    setting = "Gaussian σ = 6, Δ = 1, θ = .5, q = .8, T = 100"
    small = optimal_split(
        epsilon=0.1, delta=_DELTA, sensitivity=1.0, lower=-1.0, upper=1.0,
        kernel_for=gaussian_for, minimise=objective_as_printed, tolerance=1e-5,
    ).at(0)  # fmt: skip
    if not isinstance(small.kernel, GaussianKernel):
        raise AssertionError("the Gaussian calibration gave another kernel")
    printed = theorem_3_epsilon(
        small.kernel, within=1.0, rate=float(small.rate), count=1000, delta=_DELTA
    )
    exact = compose({curve_of(small.kernel, lower=-1.0, upper=1.0, rate=float(small.rate)): 1000})
    return (
        Evidence(setting, "ε at δ = 1e-5", stated, float(total.epsilon(delta=_DELTA))),
        Evidence(setting, f"δ at ε = {stated:.3f}", _DELTA, float(total.delta(epsilon=stated))),
        Evidence(
            "split of (.1, 1e-5) by the printed objective (tolerance 1e-6), Δ = θ = 1, T = 1000",
            "ε at δ = 1e-5",
            printed,
            float(exact.epsilon(delta=_DELTA)),
        ),
    )


def lost_term() -> tuple[Evidence, ...]:
    """Algorithm 3's loop from k = 1 beside Theorem 3's sum from k = 0."""
    kernel = GaussianKernel(6.0, 1.0)
    weight = float(recycling_weight(kernel, lower=-0.5, upper=0.5))
    loss = float(recycling_loss(rate=0.8))
    out = []
    for count in (1, 2, 3):
        base = composed_gaussian(kernel, count=count)
        e = np.array(count * 1.5)
        with_all, without = (
            float(composed_profile(base, weight=weight, loss=loss, count=count, first=k)(e))
            for k in (0, 1)
        )
        setting = f"Gaussian σ = 6, Δ = 1, θ = .5, q = .8, T = {count}"
        out.append(
            Evidence(
                setting, f"δ at ε = {1.5 * count:g} (from k = 1; from k = 0)", without, with_all
            )
        )
    return tuple(out)


_SIGMAS = (3.0, 6.0, 12.0)
_BOUNDS = (0.5, 1.0, 3.0)
_RATES = (0.2, 0.5, 0.8, 0.95)


def theorem_3_frequency() -> tuple[Frequency, ...]:
    """How often Theorem 3's epsilon is below the certified lower bound of the truth."""
    fails = total = 0
    for sigma, within, rate in itertools.product(_SIGMAS, _BOUNDS, _RATES):
        kernel = GaussianKernel(sigma, 1.0)
        stated = theorem_3_epsilon(kernel, within=within, rate=rate, count=100, delta=_DELTA)
        curve = curve_of(kernel, lower=-within, upper=within, rate=rate)
        low, _ = compose({curve: 100}).epsilon_bounds(delta=_DELTA)
        fails += stated < low
        total += 1
    grid = "Gaussian kernel, Δ = 1, T = 100, δ = 1e-5; σ in 3, 6, 12; θ in .5, 1, 3; q in .2, .5, .8, .95"
    return (
        Frequency(
            "Theorem 3 bounds the total ε from above",
            grid,
            fails,
            total,
            "Theorem 3 too low, Gaussian",
        ),
    )


# --- Remark 4 -------------------------------------------------------------------------------

_R4_EPSILONS = (0.01, 0.05, 0.1, 0.5, 1.0)
_R4_DELTAS = (0.1, 1e-2, 1e-3, 1e-5)
_R4_COUNTS = (2, 10, 100)


def _remark_4(epsilon: float, delta: float, count: int) -> tuple[float, float]:
    """Its epsilon, and the exact delta there of `count` Gaussian releases at (epsilon, delta)."""
    kernel = calibrated_gaussian(epsilon=epsilon, delta=delta, sensitivity=1.0)
    stated, _ = advanced_composition_as_printed(epsilon=epsilon, delta=delta, count=count)
    exact = gaussian_profile(stated, np.sqrt(count) / np.asarray(kernel.sigma))
    return stated, float(exact)


def remark_4_fails() -> tuple[Evidence, ...]:
    """Gaussian releases without recycling (q = 0), which Remark 4 covers."""
    out = []
    for epsilon, delta, count in ((0.01, 1e-2, 100), (0.05, 0.1, 10)):
        stated, exact = _remark_4(epsilon, delta, count)
        setting = f"Gaussian at ({epsilon:g}, {delta:g}), q = 0, T = {count}"
        out.append(Evidence(setting, f"δ at ε = {stated:.4f}", delta, exact))
    return tuple(out)


def remark_4_frequency() -> tuple[Frequency, ...]:
    """How often the delta it states is exceeded."""
    cases = list(itertools.product(_R4_EPSILONS, _R4_DELTAS, _R4_COUNTS))
    fails = sum(_remark_4(*case)[1] > case[1] * (1 + ROUNDING) for case in cases)
    grid = "Gaussian at (ε, δ), q = 0; ε in .01, .05, .1, .5, 1; δ in .1, 1e-2, 1e-3, 1e-5; T in 2, 10, 100"
    return (Frequency("Remark 4 holds", grid, fails, len(cases), "Remark 4 broken"),)


# --- Table 1 and Figure 5 -------------------------------------------------------------------


def table_1_plain() -> tuple[Evidence, ...]:
    """The plain columns of Table 1 beside the exact composition."""
    laplace = calibrated_laplace(epsilon=0.1, sensitivity=1.0)
    gaussian = calibrated_gaussian(epsilon=0.1, delta=_DELTA, sensitivity=1.0)
    wider = calibrated_gaussian(epsilon=float(np.expm1(0.1)), delta=_DELTA, sensitivity=1.0)
    printed = {"Laplace": (18.98, 25.38), "Gaussian": (4.77, 7.17)}
    curves = {
        "Laplace": laplace.noise().privacy(sensitivity=1),
        "Gaussian": gaussian.noise().privacy(sensitivity=1),
    }
    out = []
    for word, curve in curves.items():
        total = compose({curve: 1000})
        for delta, stated in zip((1e-5, 1e-10), printed[word], strict=True):
            exact = float(total.epsilon(delta=delta))
            out.append(Evidence(f"{word}, T = 1000", f"ε at δ = {delta:g}", stated, exact))
    for name, conversion in (("classic", ClassicConversion()), ("improved", ImprovedConversion())):
        profile = renyi_profile(laplace, count=1000, conversion=conversion)
        for delta, stated in zip((1e-5, 1e-10), printed["Laplace"], strict=True):
            found = float(epsilon_of(profile, delta=np.array([delta]))[0])
            setting = f"Laplace, T = 1000, Renyi, {name} conversion"
            out.append(
                Evidence(setting, f"ε at δ = {delta:g} (printed; recomputed)", stated, found)
            )
    profile = composed_gaussian(wider, count=1000)
    for delta, stated in zip((1e-5, 1e-10), printed["Gaussian"], strict=True):
        found = float(epsilon_of(profile, delta=np.array([delta]))[0])
        setting = "Gaussian calibrated at (exp(.1) - 1, 1e-5), T = 1000"
        out.append(Evidence(setting, f"ε at δ = {delta:g} (printed; recomputed)", stated, found))
    return tuple(out)


def more_leakage() -> tuple[Evidence, ...]:
    """Composed epsilon at equal single-release promises: plain kernel, exact recycled plan."""
    out = []
    for epsilon in (0.1, 1.0, 2.0):
        plain = calibrated_gaussian(epsilon=epsilon, delta=_DELTA, sensitivity=1.0)
        found = exact_plan(
            sensitivity=1.0, within=1.0, epsilon=epsilon, delta=_DELTA, kernel="gaussian"
        )
        alone, recycled = plain.noise().privacy(sensitivity=1), found.noise.privacy(sensitivity=1)
        for count in (10, 1000):
            low = float(compose({alone: count}).epsilon(delta=_DELTA))
            high = float(compose({recycled: count}).epsilon(delta=_DELTA))
            setting = f"Gaussian, one release at ({epsilon:g}, 1e-5), Δ = θ = 1, T = {count}"
            out.append(Evidence(setting, "ε at δ = 1e-5 (plain; recycled exactly)", low, high))
    return tuple(out)


def more_leakage_by_theorem_3() -> tuple[Evidence, ...]:
    """What Theorem 3 itself says of the paper's split, beside the plain kernel, and once the truth."""
    out = []
    for epsilon, within, count in (
        (0.1, 1.0, 1000), (1.0, 1.0, 10), (1.0, 1.0, 1000), (2.0, 1.0, 1000), (3.0, 0.3, 1000),
    ):  # fmt: skip
        alone, stated, true = _totals(epsilon, within, count)
        setting = (
            f"Gaussian, split of ({epsilon:g}, 1e-5) by Algorithms 1 and 2, Δ = 1, θ = {within:g}, "
            f"T = {count}"
        )
        out.append(Evidence(setting, "ε at δ = 1e-5 (plain; Theorem 3)", alone, stated))
    out.append(Evidence(setting, "ε at δ = 1e-5 (Theorem 3; true)", stated, true))
    return tuple(out)


def _totals(epsilon: float, within: float, count: int) -> tuple[float, float, float]:
    """Total epsilon: the plain kernel; Algorithms 1 and 2 by Theorem 3; the same, a lower bound of the truth."""
    plain = calibrated_gaussian(epsilon=epsilon, delta=_DELTA, sensitivity=1.0)
    profile = composed_gaussian(plain, count=count)
    split = optimal_split(
        epsilon=epsilon, delta=_DELTA, sensitivity=1.0, lower=-within, upper=within,
        kernel_for=gaussian_for, tolerance=1e-5,
    ).at(0)  # fmt: skip
    if not isinstance(split.kernel, GaussianKernel):
        raise AssertionError("the Gaussian calibration gave another kernel")
    stated = theorem_3_epsilon(
        split.kernel, within=within, rate=float(split.rate), count=count, delta=_DELTA
    )
    low, _ = compose({split_curve(split): count}).epsilon_bounds(delta=_DELTA)
    return float(epsilon_of(profile, delta=np.array([_DELTA]))[0]), stated, float(low)


def gain_in_company() -> tuple[Evidence, ...]:
    """Acceptance at one total for T releases: the plain Gaussian, and recycled noise planned for it."""
    out = []
    for count in (1, 5, 20):
        # T Gaussian releases are one at sqrt(T) times the sensitivity
        alone = calibrated_gaussian(epsilon=3.0, delta=_DELTA, sensitivity=np.sqrt(count))
        found = plan(
            sensitivity=1.0, within=1.0, epsilon=3.0, delta=_DELTA, count=count, kernel="gaussian"
        )
        setting = f"Gaussian, T = {count} at a total of (3, 1e-5), Δ = θ = 1"
        plain = float(alone.acceptance(-1.0, 1.0))
        words = "acceptance (plain; recycled, planned for the total)"
        out.append(Evidence(setting, words, plain, float(found.acceptance)))
    return tuple(out)


_COMPANY = ((0.1, 0.5, 1.0, 2.0), (0.1, 0.3, 1.0, 3.0))


def more_leakage_frequency() -> tuple[Frequency, ...]:
    """How often recycling leaks less than its kernel alone, at equal single promises; three ways."""
    exact_fails = paper_fails = stated_fails = total = 0
    for epsilon, within in itertools.product(*_COMPANY):
        found = exact_plan(
            sensitivity=1.0, within=within, epsilon=epsilon, delta=_DELTA, kernel="gaussian"
        )
        curve = found.noise.privacy(sensitivity=1)
        for count in (10, 1000):
            alone, stated, true = _totals(epsilon, within, count)
            low, _ = compose({curve: count}).epsilon_bounds(delta=_DELTA)
            exact_fails += float(low) > alone
            paper_fails += true > alone
            stated_fails += stated > alone
            total += 1
    grid = "Gaussian kernel, Δ = 1, δ = 1e-5; ε in .1, .5, 1, 2; θ in .1, .3, 1, 3; T in 10, 1000"
    return tuple(
        Frequency(claim, grid, fails, total, short)
        for claim, fails, short in (
            (
                "recycling (exact rate) leaks no more than its kernel at equal promises",
                exact_fails,
                "recycled leaks more in total",
            ),
            (
                "recycling by Algorithms 1 and 2, which leaves δ unspent, leaks no more than its kernel",
                paper_fails,
                "it does by Algorithms 1, 2",
            ),
            (
                "Theorem 3 states no more for Algorithms 1 and 2 than their kernel leaks",
                stated_fails,
                "it does even by Theorem 3",
            ),
        )
    )
