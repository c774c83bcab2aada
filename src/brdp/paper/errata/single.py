"""Counterexamples about one release: Theorem 1, Algorithms 1 and 2, Theorem 2, the appendix."""

from __future__ import annotations

import itertools

import numpy as np

from brdp.paper.accountants import (
    calibrated_gaussian,
    calibrated_laplace,
    calibrated_laplace_with_delta,
)
from brdp.paper.errata.erratum import Evidence, Frequency
from brdp.paper.errata.grid import EPSILONS, NEARLY_ONE, SENSITIVITIES
from brdp.paper.formulas.budget import (
    KernelFor,
    Objective,
    Split,
    gaussian_for,
    laplace_for,
    objective,
    objective_as_printed,
    optimal_split,
    split_at,
)
from brdp.paper.formulas.leakage import (
    baseline_rate,
    mass_of_the_printed_loss_under_the_neighbour,
    privacy_profile,
    recycling_weight,
    recycling_weight_by_definition,
    total_epsilon,
)
from brdp.paper.formulas.noise import (
    unacceptable_density_sum,
    unacceptable_density_sum_as_printed,
)
from brdp.paper.truth import curve_of, exact_plan, split_curve, split_noise

WRONG_RATES: tuple[tuple[str, KernelFor, float, float, float, float, float], ...] = (
    ("Gaussian", gaussian_for, 3.0, 1e-8, 1.0, 10.0, 2.1),
    ("Gaussian", gaussian_for, 0.1, 1e-3, 22.0, 1.0, 0.05),
    ("Laplace", laplace_for, 3.0, 1e-5, 5.0, 1.0, 1.1),
    ("Laplace", laplace_for, 1.0, 1e-5, 1.0, 1.0, 0.9),
    ("Gaussian", gaussian_for, 2.0, 1e-5, 1.0, 1.0, 1.2),
)


def wrong_rates() -> tuple[Evidence, ...]:
    """Algorithm 1's rate and what it truly costs, in five telling settings."""
    out = []
    for word, kernel_for, epsilon, delta, sensitivity, within, kernel_epsilon in WRONG_RATES:
        split = split_at(
            kernel_epsilon, epsilon=epsilon, delta=delta, sensitivity=sensitivity,
            lower=-within, upper=within, kernel_for=kernel_for,
        )  # fmt: skip
        exact = float(split_curve(split.at(0)).delta(epsilon=epsilon))
        setting = (
            f"{word}, ε = {epsilon:g}, δ = {delta:g}, Δ = {sensitivity:g}, θ = {within:g}, "
            f"ε_y = {kernel_epsilon:g}: q = {float(split.rate):.8g}"
        )
        out.append(Evidence(setting, "δ at ε", delta, exact))
    return tuple(out)


def impossible_loss() -> tuple[Evidence, ...]:
    """Theorem 1's law is no privacy loss: the neighbour's mass does not come to 1."""
    kernel = calibrated_gaussian(epsilon=1.0, delta=1e-5, sensitivity=1.0)
    out = []
    for rate in (0.5, 0.9):
        mass = float(
            mass_of_the_printed_loss_under_the_neighbour(kernel, lower=-1.0, upper=1.0, rate=rate)
        )
        setting = f"Gaussian at (1, 1e-5), Δ = θ = 1, q = {rate:g}"
        out.append(Evidence(setting, "total mass of the neighbour's law", mass, 1.0))
    printed = float(privacy_profile(kernel, 1.0, lower=-1.0, upper=1.0, rate=0.9))
    exact = float(curve_of(kernel, lower=-1.0, upper=1.0, rate=0.9).delta(epsilon=1.0))
    out.append(Evidence("the same kernel, q = 0.9", "δ at ε = 1 (Proposition 2)", printed, exact))
    return tuple(out)


def wrong_objective() -> tuple[Evidence, ...]:
    """What minimising the printed objective returns, beside the corrected one."""

    def split(epsilon: float, delta: float, minimise: Objective = objective) -> Split:
        return optimal_split(
            epsilon=epsilon, delta=delta, sensitivity=1.0, lower=-1.0, upper=1.0,
            kernel_for=gaussian_for, minimise=minimise,
        )  # fmt: skip

    printed, right = split(2.0, 1e-5, objective_as_printed), split(2.0, 1e-5)
    setting = "Gaussian, ε = 2, δ = 1e-5, Δ = θ = 1"
    claim = split(4.5, 1e-6)
    return (
        Evidence(
            setting, "q (printed objective; corrected)", float(printed.rate), float(right.rate)
        ),
        Evidence(
            setting,
            "acceptance (printed objective; corrected)",
            float(printed.acceptance),
            float(right.acceptance),
        ),
        Evidence(
            "Gaussian, ε = 4.5, δ = 1e-6, Δ = θ = 1",
            "acceptance (the paper's words; corrected objective)",
            0.9,
            float(claim.acceptance),
        ),
    )


def no_privacy() -> tuple[Evidence, ...]:
    """Splits that Algorithm 2's objective prefers to every other, and their exact delta."""
    out = []
    for word, kernel_for, epsilon, delta, sensitivity, within in (
        ("Laplace", laplace_for, 0.1, 1e-5, 1.0, 1.0),
        ("Laplace", laplace_for, 3.0, 1e-8, 5.0, 1.0),
        ("Gaussian", gaussian_for, 0.1, 1e-5, 5.0, 1.0),
    ):
        kernel_epsilon = np.geomspace(1e-9, 1.0, 2000) * epsilon
        scan = split_at(
            kernel_epsilon, epsilon=epsilon, delta=delta, sensitivity=sensitivity,
            lower=-within, upper=within, kernel_for=kernel_for,
        )  # fmt: skip
        best = scan.at(int(np.argmax(scan.acceptance)))
        if float(best.rate) < NEARLY_ONE:
            raise AssertionError("the counterexample no longer is one")
        exact = float(split_curve(best).delta(epsilon=epsilon))
        setting = (
            f"{word}, ε = {epsilon:g}, δ = {delta:g}, Δ = {sensitivity:g}, θ = {within:g}: best at "
            f"ε_y = {float(best.kernel_epsilon):.3g}, q = 1 - {1 - float(best.rate):.1g}"
        )
        out.append(Evidence(setting, "δ at ε", delta, exact))
    for word, kernel_for in (("Gaussian", gaussian_for), ("Laplace", laplace_for)):
        ends = optimal_split(
            epsilon=0.1, delta=0.01, sensitivity=22.0, lower=-1.0, upper=1.0, kernel_for=kernel_for
        )
        exact = float(split_curve(ends.at(0)).delta(epsilon=0.1))
        setting = (
            f"{word}, ε = 0.1, δ = 0.01, Δ = 22, θ = 1: the ternary search itself ends at "
            f"ε_y = {float(ends.kernel_epsilon):.8g}, q = 1 - {1 - float(ends.rate):.1g}"
        )
        out.append(Evidence(setting, "δ at ε", 0.01, exact))
    return tuple(out)


def false_theorem_2() -> tuple[Evidence, ...]:
    """Narrow bounds under a Laplace kernel, lopsided bounds under a Gaussian one."""
    laplace = calibrated_laplace_with_delta(epsilon=1.0, delta=0.1, sensitivity=1.0)
    total = float(total_epsilon(kernel_epsilon=1.0, rate=0.99))
    first = float(curve_of(laplace, lower=-0.087, upper=0.087, rate=0.99).delta(epsilon=total))
    gaussian = calibrated_gaussian(epsilon=20.0, delta=1e-5, sensitivity=1.0)
    rate = float(baseline_rate(epsilon=24.0, kernel_epsilon=20.0))
    second = float(curve_of(gaussian, lower=-2.0, upper=0.0, rate=rate).delta(epsilon=24.0))
    return (
        Evidence(
            f"Laplace at (1, .1), b = {float(laplace.scale):.6f}, Δ = 1, θ = .087, q = .99",
            f"δ at ε = {total:.4f}",
            0.1,
            first,
        ),
        Evidence(
            f"Gaussian at (20, 1e-5), σ = {float(gaussian.sigma):.6f}, Δ = 1, bounds [-2, 0], "
            f"q = {rate:.4f}",
            "δ at ε = 24",
            1e-5,
            second,
        ),
    )


def wrong_region() -> tuple[Evidence, ...]:
    """eq. (eq:W) for bounds [-10, 1], and what Algorithm 1 makes of it."""
    out = []
    for word, kernel_for, epsilon, share in (
        ("Laplace", laplace_for, 3.0, 0.9),
        ("Gaussian", gaussian_for, 2.0, 0.7),
    ):
        split = split_at(
            epsilon * share, epsilon=epsilon, delta=1e-5, sensitivity=1.0, lower=-10.0, upper=1.0,
            kernel_for=kernel_for,
        )  # fmt: skip
        printed = float(recycling_weight(split.kernel, lower=-10.0, upper=1.0))
        meant = float(recycling_weight_by_definition(split.kernel, lower=-10.0, upper=1.0))
        setting = f"{word}, bounds [-10, 1], Δ = 1, ε = {epsilon:g}, ε_y = {epsilon * share:g}"
        out.append(Evidence(setting, "W (printed; by its definition)", printed, meant))
        exact = float(split_curve(split.at(0)).delta(epsilon=epsilon))
        out.append(Evidence(f"{setting}, q = {float(split.rate):.6f}", "δ at ε", 1e-5, exact))
    return tuple(out)


def wrong_series() -> tuple[Evidence, ...]:
    """Appendix A's second series, summed as printed and as it must be."""
    out = []
    for outside, rate in ((0.5, 0.25), (0.8, 0.2), (0.8, 0.9)):
        printed = float(
            unacceptable_density_sum_as_printed(outside=outside, rate=rate, rounds=4000)
        )
        right = float(unacceptable_density_sum(outside=outside, rate=rate, rounds=4000))
        out.append(Evidence(f"p̄ = {outside:g}, q = {rate:g}", "factor of f_N", printed, right))
    return tuple(out)


def lost_acceptance() -> tuple[Evidence, ...]:
    """Acceptance of the paper's split and of the exact plan, same kernel and promise."""
    out = []
    for epsilon, sensitivity in ((1.0, 1.0), (2.0, 1.0), (3.0, 1.0), (3.0, 5.0)):
        split = optimal_split(
            epsilon=epsilon, delta=1e-5, sensitivity=sensitivity, lower=-1.0, upper=1.0,
            kernel_for=gaussian_for,
        )  # fmt: skip
        found = exact_plan(
            sensitivity=sensitivity, within=1.0, epsilon=epsilon, delta=1e-5, kernel="gaussian"
        )
        setting = f"Gaussian, ε = {epsilon:g}, δ = 1e-5, Δ = {sensitivity:g}, θ = 1"
        out.append(
            Evidence(setting, "acceptance", float(split.acceptance), float(found.acceptance))
        )
    return tuple(out)


def laplace_without_gain() -> tuple[Evidence, ...]:
    """Acceptance of plain Laplace noise beside the paper's split of it at theta = Delta."""
    plain = calibrated_laplace(epsilon=0.1, sensitivity=1.0)
    split = optimal_split(
        epsilon=0.1, delta=1e-5, sensitivity=1.0, lower=-1.0, upper=1.0, kernel_for=laplace_for
    )
    alone = float(plain.acceptance(-1.0, 1.0))
    return (
        Evidence(
            "Laplace, ε = .1, δ = 1e-5, Δ = θ = 1", "acceptance", float(split.acceptance), alone
        ),
    )


# --- the spread of recycled noise -----------------------------------------------------------

_SPREAD_BOUNDS = (0.1, 0.5, 1.0, 3.0, 10.0)


def _spreads(epsilon: float, sensitivity: float, within: float) -> tuple[float, float, float]:
    """Standard deviations at (epsilon, 1e-5): the plain Gaussian, the paper's split, the exact plan."""
    plain = calibrated_gaussian(epsilon=epsilon, delta=1e-5, sensitivity=sensitivity)
    split = optimal_split(
        epsilon=epsilon, delta=1e-5, sensitivity=sensitivity, lower=-within, upper=within,
        kernel_for=gaussian_for,
    )  # fmt: skip
    found = exact_plan(
        sensitivity=sensitivity, within=within, epsilon=epsilon, delta=1e-5, kernel="gaussian"
    )
    return float(plain.sigma), float(split_noise(split.at(0)).std), float(found.noise.std)


def smaller_spread() -> tuple[Evidence, ...]:
    """The paper's recycled noise is wider than the plain kernel at one promise, the exact one narrower."""
    out = []
    for epsilon, sensitivity in ((1.0, 1.0), (2.0, 1.0), (3.0, 1.0), (3.0, 5.0)):
        plain, paper, exact = _spreads(epsilon, sensitivity, 1.0)
        setting = (
            f"Gaussian, ε = {epsilon:g}, δ = 1e-5, Δ = {sensitivity:g}, θ = 1; plain {plain:.4g}"
        )
        out.append(
            Evidence(setting, "standard deviation (the paper's split; exact plan)", paper, exact)
        )
    return tuple(out)


def smaller_spread_frequency() -> tuple[Frequency, ...]:
    """How often the exact plan's noise is narrower than the plain kernel's."""
    cases = list(itertools.product(EPSILONS, SENSITIVITIES, _SPREAD_BOUNDS))
    narrower = 0
    for case in cases:
        plain, _, exact = _spreads(*case)
        narrower += exact < plain
    grid = (
        "Gaussian kernel, δ = 1e-5; ε in .1, .5, 1, 2, 3, 5; Δ in 1, 5, 22; θ in .1, .5, 1, 3, 10"
    )
    claim = "the exact plan has a larger standard deviation than the plain kernel"
    return (Frequency(claim, grid, narrower, len(cases), "recycled noise is narrower"),)
