"""Acceptances that no noise can have, whatever the account, and when a Laplace kernel can gain."""

from __future__ import annotations

import itertools

import numpy as np

from brdp.paper.accountants import calibrated_laplace
from brdp.paper.errata import grid
from brdp.paper.errata.erratum import Evidence, Frequency
from brdp.paper.formulas.budget import laplace_for, optimal_split, split_at
from brdp.paper.formulas.kernel import Floats
from brdp.paper.formulas.leakage import baseline_rate
from brdp.paper.formulas.noise import acceptance_rate
from brdp.paper.formulas.subsampling import CountQuery, optimal_sampling_rate
from brdp.paper.truth import exact_plan, largest_acceptance, split_curve

_SPLITS = np.linspace(0.001, 1.0, 1000)
_PURE_EPSILONS = (0.1, 0.5, 1.0, 2.0, 3.0, 5.0)


def impossible_acceptance() -> tuple[Evidence, ...]:
    """What Algorithms 1 and 2 say a Laplace kernel reaches, and the most that any noise can."""
    out = []
    for epsilon, delta, within in ((0.1, 1e-2, 3.0), (0.1, 1e-3, 3.0), (0.1, 1e-5, 3.0)):
        split = optimal_split(
            epsilon=epsilon, delta=delta, sensitivity=1.0, lower=-within, upper=within,
            kernel_for=laplace_for,
        )  # fmt: skip
        most = largest_acceptance(epsilon=epsilon, delta=delta, sensitivity=1.0, within=within)
        setting = f"Laplace, ε = {epsilon:g}, δ = {delta:g}, Δ = 1, θ = {within:g}"
        words = "acceptance (Algorithms 1 and 2; the bound for every density)"
        out.append(Evidence(setting, words, float(split.acceptance), float(most)))
    for epsilon, sensitivity, within in ((0.5, 22.0, 5.0), (3.0, 22.0, 5.0)):
        plain, best = _pure_laplace(epsilon, sensitivity, within)
        setting = f"Laplace, ε = {epsilon:g}, δ = 0, Δ = {sensitivity:g}, θ = {within:g}"
        out.append(Evidence(setting, "acceptance (plain; best recycled)", plain, best))
    return tuple(out)


def impossible_frequency() -> tuple[Frequency, ...]:
    """How often Algorithms 1 and 2 claim more than any noise can have; how often pure Laplace gains."""
    e, d, s, t = grid.budgets()
    most = largest_acceptance(epsilon=e, delta=d, sensitivity=s, within=t)
    out = []
    for word, kernel_for in grid.KERNELS:
        split = optimal_split(
            epsilon=e, delta=d, sensitivity=s, lower=-t, upper=t, kernel_for=kernel_for
        )
        over = int(np.sum(split.acceptance > most * (1 + grid.ROUNDING)))
        claim = f"some noise with a density has the acceptance of Algorithms 1 and 2 at (ε, δ), {word} kernel"
        out.append(
            Frequency(claim, grid.BUDGET_GRID, over, e.size, f"impossible acceptance, {word}")
        )
    cases = list(itertools.product(_PURE_EPSILONS, grid.SENSITIVITIES, grid.BOUNDS))
    gains = 0
    for case in cases:
        plain, best = _pure_laplace(*case)
        gains += best > plain * (1 + grid.ROUNDING)
    out.append(
        Frequency(
            "recycling raises the acceptance of a Laplace kernel at δ = 0",
            "ε in .1, .5, 1, 2, 3, 5; Δ in 1, 5, 22; θ in .5, 1, 3, 10",
            len(cases) - gains,
            len(cases),
            "no gain for Laplace, pure",
        )
    )
    return tuple(out)


def _pure_laplace(epsilon: float, sensitivity: float, within: float) -> tuple[float, float]:
    """Acceptance at (epsilon, 0): the plain Laplace kernel, and the best recycled one.

    At delta = 0 Remark 1's rate is the largest that keeps epsilon: the added loss meets the
    kernel's largest one at the lower bound, whatever the bounds.
    """
    kernel_epsilon = _SPLITS * epsilon
    kernel = calibrated_laplace(epsilon=kernel_epsilon, sensitivity=sensitivity)
    rate = baseline_rate(epsilon=epsilon, kernel_epsilon=kernel_epsilon)
    reached: Floats = acceptance_rate(kernel, lower=-within, upper=within, rate=rate)
    return float(reached[-1]), float(np.max(reached))


def small_claims() -> tuple[Evidence, ...]:
    """The smaller slips that have a number."""
    found = optimal_sampling_rate(
        epsilon=np.full(2, 0.1), delta=1e-5, sensitivity=1.0, lower=-3.0, upper=3.0,
        population=np.array([1e3, 1e5]), query=CountQuery(0.1), tolerance=1e-3,
    )  # fmt: skip
    few, many = found.acceptance
    split = optimal_split(
        epsilon=2.0, delta=1e-5, sensitivity=1.0, lower=-1.0, upper=1.0,
        kernel_for=grid.KERNELS[0][1],
    )  # fmt: skip
    costly = split_at(
        2.0, epsilon=1.0, delta=1e-5, sensitivity=1.0, lower=-1.0, upper=1.0,
        kernel_for=grid.KERNELS[0][1],
    )  # fmt: skip
    laplace, gaussian = (
        exact_plan(sensitivity=22.0, within=5.0, epsilon=3.0, delta=1e-5, kernel=kernel).acceptance
        for kernel in ("laplace", "gaussian")
    )
    return (
        Evidence(
            "(r) count, (.1, 1e-5), Δ = 1, θ = 3, p_c = .1, Algorithm 4: N = 1,000; N = 100,000",
            "acceptance (one; the other)",
            float(few),
            float(many),
        ),
        Evidence(
            "(t) Gaussian, ε = 2, δ = 1e-5, Δ = θ = 1, Algorithms 1 and 2",
            "acceptance ('most': at least .5; its own formulas)",
            0.5,
            float(split.acceptance),
        ),
        Evidence(
            "(z) (3, 1e-5), Δ = 22, θ = 5, exact plans: Laplace kernel; Gaussian kernel",
            "acceptance (one; the other)",
            float(laplace),
            float(gaussian),
        ),
        Evidence(
            f"(cc) Gaussian kernel at (2, 1e-5), (1, 1e-5) asked for, Δ = θ = 1: q = {float(costly.rate):g}",
            "δ at ε = 1",
            1e-5,
            float(split_curve(costly.at(0)).delta(epsilon=1.0)),
        ),
    )
