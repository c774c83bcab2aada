"""Counterexamples about subsampling: the sensitivity Delta/p, Proposition 7, Proposition 6."""

from __future__ import annotations

import numpy as np

from brdp.noise import Noise
from brdp.paper.errata.erratum import Evidence, Frequency
from brdp.paper.formulas.budget import gaussian_for, split_at
from brdp.paper.formulas.kernel import GaussianKernel
from brdp.paper.formulas.noise import acceptance_rate
from brdp.paper.formulas.subsampling import (
    CountQuery,
    Query,
    Subsampled,
    SumQuery,
    acceptance_of_the_sum,
    average_variance_as_derived,
    before_amplification,
    convolved_acceptance,
    optimal_sampling_rate,
    poisson_sum_variance,
    subsampled_split,
    sum_variance_as_derived,
)
from brdp.paper.truth import split_noise
from brdp.privacy.subsample import subsample

_RATES = (0.5, 0.1, 0.01)


def growing_scale() -> tuple[Evidence, ...]:
    """The Laplace scale of one rescaled release at epsilon = .1, Delta = 1."""
    out = []
    for p in _RATES:
        inner, _ = before_amplification(epsilon=0.1, delta=0.0, sampling_rate=p)
        setting = f"Laplace, ε = .1, Δ = 1, p = {p:g}"
        stated, right = 1.0 / float(inner), 1.0 / (p * float(inner))
        out.append(Evidence(setting, "scale (Δ kept; Δ/p; 10 at p = 1)", stated, right))
    return tuple(out)


def sampled_cost() -> tuple[Evidence, ...]:
    """What the sampled count of the paper's experiment truly costs at several sampling rates."""
    out = []
    for p in (0.5, 0.3, 0.1):
        found = subsampled_split(
            np.array([p]), epsilon=0.1, delta=1e-5, sensitivity=1.0, lower=-3.0, upper=3.0,
            population=1000.0, query=CountQuery(0.1),
        )  # fmt: skip
        curve = subsample(split_noise(found.split.at(0)), sensitivity=1.0 / p, sampling_rate=p)
        setting = f"count, (.1, 1e-5), Δ = 1, θ = 3, N = 1000, p_c = .1, p = {p:g}"
        out.append(Evidence(setting, "ε at δ = 1e-5", 0.1, float(curve.epsilon(delta=1e-5))))
    return tuple(out)


def added_variances() -> tuple[Evidence, ...]:
    """Proposition 7's acceptance beside the convolution of the recycled noise with the error."""
    out = []
    for share, spread in ((0.4, 1.0), (0.4, 5.0), (0.6, 5.0)):
        split = split_at(
            3.0 * share, epsilon=3.0, delta=1e-5, sensitivity=1.0, lower=-1.0, upper=1.0,
            kernel_for=gaussian_for,
        )  # fmt: skip
        p, q = float(convolved_acceptance(split, spread)), float(split.rate)
        stated = p / (1.0 - (1.0 - p) * q)
        true = float(acceptance_of_the_sum(split, spread))
        alone = float(acceptance_rate(split.kernel, lower=-1.0, upper=1.0, rate=q))
        setting = (
            f"Gaussian, (3, 1e-5), Δ = θ = 1, ε_y = {3 * share:g}, q = {q:.4f}, σ_E = {spread:g} "
            f"(without sampling {alone:.4f})"
        )
        out.append(Evidence(setting, "acceptance", stated, true))
    return tuple(out)


def added_variances_frequency() -> tuple[Frequency, ...]:
    """How often Proposition 7's acceptance is more than 1 % too large."""
    share, epsilon, spread = (
        x.ravel()
        for x in np.meshgrid((0.2, 0.4, 0.6, 0.8), (0.5, 1.0, 2.0, 3.0), (0.1, 0.5, 1.0, 2.0, 5.0))
    )
    split = split_at(
        epsilon * share, epsilon=epsilon, delta=1e-5, sensitivity=1.0, lower=-1.0, upper=1.0,
        kernel_for=gaussian_for,
    )  # fmt: skip
    p = convolved_acceptance(split, spread)
    stated = p / (1.0 - (1.0 - p) * split.rate)
    fails = int(np.sum(stated > 1.01 * acceptance_of_the_sum(split, spread)))
    grid = "Gaussian, Δ = θ = 1, δ = 1e-5; ε in .5, 1, 2, 3; ε_y/ε in .2, .4, .6, .8; σ_E in .1, .5, 1, 2, 5"
    return (
        Frequency(
            "Proposition 7's acceptance is at most 1 % above the truth",
            grid,
            fails,
            p.size,
            "Proposition 7 too high",
        ),
    )


def wrong_variances() -> tuple[Evidence, ...]:
    """Proposition 6: its derivation, and its range."""
    n, p, deviation, mean = 1000.0, 0.3, 1.0, 1.0
    total = deviation**2 * n * (1 - p) / p
    average = deviation**2 / n * (1 - p) / p
    derived = sum_variance_as_derived(population=n, sampling_rate=p, deviation=deviation)
    derived_average = average_variance_as_derived(
        population=n, sampling_rate=p, deviation=deviation
    )
    poisson = poisson_sum_variance(population=n, sampling_rate=p, deviation=deviation, mean=mean)
    setting = "N = 1000, p = .3, σ_x = 1"
    return (
        Evidence(setting, "variance of the sum's error (second line; result)", derived, total),
        Evidence(setting, "variance of the average's error (second line; result)", derived_average, average),
        Evidence(
            f"{setting}, mean 1, Poisson sample", "variance of the sum's error", total, poisson
        ),
    )  # fmt: skip


def sampling_frequency() -> tuple[Frequency, ...]:
    """How often the sampled mechanism costs more than it promises: as the paper builds it, and plain.

    The plain kernel, without a recycler, shows the sensitivity's part alone.
    """
    fails = plain_fails = total = 0
    for epsilon in (0.1, 0.5, 1.0):
        for delta in (1e-3, 1e-5):
            for p in (0.9, 0.5, 0.3, 0.1):
                found = subsampled_split(
                    np.array([p]), epsilon=epsilon, delta=delta, sensitivity=1.0, lower=-3.0,
                    upper=3.0, population=1000.0, query=CountQuery(0.1),
                )  # fmt: skip
                inner = before_amplification(epsilon=epsilon, delta=delta, sampling_rate=p)
                plain = gaussian_for(*inner, np.asarray(1.0))
                promise = (epsilon, delta, p)
                fails += _costs_more(split_noise(found.split.at(0)), *promise)
                plain_fails += _costs_more(plain.noise(), *promise)
                total += 1
    grid = "count, Δ = 1, θ = 3, N = 1000, p_c = .1; ε in .1, .5, 1; δ in 1e-3, 1e-5; p in .9, .5, .3, .1"
    return (
        Frequency(
            "the sampled mechanism keeps (ε, δ)",
            grid,
            fails,
            total,
            "sampled mechanism breaks (ε, δ)",
        ),
        Frequency(
            "the plain Gaussian kernel on the sample (no recycler) keeps (ε, δ)",
            grid,
            plain_fails,
            total,
            "the same, plain Gaussian",
        ),
    )


def _costs_more(noise: Noise, epsilon: float, delta: float, p: float) -> bool:
    """Whether a lower bound of the true delta at the rescaled sensitivity is above the promise."""
    curve = subsample(noise, sensitivity=1.0 / p, sampling_rate=p)
    low, _ = curve.delta_bounds(epsilon=epsilon)
    return float(low) > delta


# --- Algorithm 4 ----------------------------------------------------------------------------

_SCAN = np.geomspace(1e-3, 0.999, 60)


def _best_sample(
    *, epsilon: float, sensitivity: float, within: float, population: float, query: Query
) -> Subsampled:
    """The sampling rate that eq. (eq:budget2), corrected, likes best among a scan."""
    found = subsampled_split(
        _SCAN, epsilon=np.full(_SCAN.shape, epsilon), delta=1e-5, sensitivity=sensitivity,
        lower=-within, upper=within, population=np.full(_SCAN.shape, population), query=query,
        tolerance=1e-3,
    )  # fmt: skip
    best = int(np.argmax(found.acceptance))
    p = _SCAN[best : best + 1]
    return subsampled_split(
        p, epsilon=np.array([epsilon]), delta=1e-5, sensitivity=sensitivity, lower=-within,
        upper=within, population=np.array([population]), query=query, tolerance=1e-3,
    )  # fmt: skip


def tiny_samples() -> tuple[Evidence, ...]:
    """What Algorithm 4's objective likes best, and how often those answers are truly within."""
    out = []
    for epsilon, sensitivity, within, query, word in (
        (0.1, 1.0, 3.0, CountQuery(0.1), "count, p_c = .1"),
        (0.5, 22.0, 5.0, SumQuery(3.0), "sum, σ_x = 3"),
    ):
        best = _best_sample(
            epsilon=epsilon, sensitivity=sensitivity, within=within, population=1000.0, query=query
        )
        p = float(best.sampling_rate[0])
        true = float(acceptance_of_the_sum(best.split, best.sampling_deviation)[0])
        setting = (
            f"{word}, ({epsilon:g}, 1e-5), Δ = {sensitivity:g}, θ = {within:g}, N = 1000: best "
            f"p = {p:.3g}, {p * 1000:.0f} people"
        )
        out.append(Evidence(setting, "acceptance", float(best.acceptance[0]), true))
    return tuple(out)


def tiny_samples_frequency() -> tuple[Frequency, ...]:
    """How often the best sampling rate by Algorithm 4's own objective is below 1 %."""
    fails = total = 0
    for epsilon in (0.1, 0.5, 1.0):
        for population in (1000.0, 10_000.0):
            for sensitivity, within, query in (
                (1.0, 3.0, CountQuery(0.1)),
                (22.0, 5.0, SumQuery(3.0)),
                (12.0, 10.0, SumQuery(3.0)),
            ):
                best = _best_sample(
                    epsilon=epsilon, sensitivity=sensitivity, within=within,
                    population=population, query=query,
                )  # fmt: skip
                fails += float(best.sampling_rate[0]) < 0.01
                total += 1
    grid = (
        "δ = 1e-5; ε in .1, .5, 1; N in 1000, 10,000; count (Δ 1, θ 3, p_c .1), sums (Δ 22, θ 5 and "
        "Δ 12, θ 10, σ_x 3); p from .001"
    )
    return (
        Frequency(
            "the sampling rate Algorithm 4's objective likes best is at least 1 %", grid, fails, total,
            "Algorithm 4 wants tiny samples",
        ),
    )  # fmt: skip


def private_rate() -> tuple[Evidence, ...]:
    """What Algorithm 4 answers for two neighbouring data sets that differ in one counted person."""
    found = optimal_sampling_rate(
        epsilon=np.full(2, 0.1), delta=1e-5, sensitivity=1.0, lower=-3.0, upper=3.0,
        population=np.full(2, 1000.0), query=CountQuery(np.array([0.1, 0.101])), tolerance=1e-6,
    )  # fmt: skip
    kernel = found.split.kernel
    if not isinstance(kernel, GaussianKernel):
        raise TypeError("expected a Gaussian kernel")
    setting = "count, (.1, 1e-5), Δ = 1, θ = 3, N = 1000: 100 counted; 101 counted"
    (p, other), (sigma, another) = found.sampling_rate, np.asarray(kernel.sigma)
    return (
        Evidence(setting, "Algorithm 4's p (one; its neighbour)", float(p), float(other)),
        Evidence(setting, "the kernel's σ (one; its neighbour)", float(sigma), float(another)),
    )
