"""Counterexamples about subsampling: the sensitivity Delta/p, Proposition 7, Proposition 6."""

from __future__ import annotations

import numpy as np

from brdp.paper.errata.erratum import Evidence, Frequency
from brdp.paper.formulas.budget import gaussian_for, split_at
from brdp.paper.formulas.noise import acceptance_rate
from brdp.paper.formulas.subsampling import (
    CountQuery,
    acceptance_of_the_sum,
    average_variance_as_derived,
    before_amplification,
    convolved_acceptance,
    poisson_sum_variance,
    subsampled_split,
    sum_variance_as_derived,
)
from brdp.paper.truth import split_noise
from brdp.privacy import subsample

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
    return (Frequency("Proposition 7's acceptance is at most 1 % above the truth", grid, fails, p.size),)


def wrong_variances() -> tuple[Evidence, ...]:
    """Proposition 6: its derivation, and its range."""
    n, p, deviation, mean = 1000.0, 0.3, 1.0, 1.0
    total = deviation**2 * n * (1 - p) / p
    average = deviation**2 / n * (1 - p) / p
    derived = sum_variance_as_derived(population=n, sampling_rate=p, deviation=deviation)
    derived_average = average_variance_as_derived(population=n, sampling_rate=p, deviation=deviation)
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
    """How often the sampled mechanism as the paper builds it costs more than it promises."""
    fails = total = 0
    for epsilon in (0.1, 0.5, 1.0):
        for delta in (1e-3, 1e-5):
            for p in (0.9, 0.5, 0.3, 0.1):
                found = subsampled_split(
                    np.array([p]), epsilon=epsilon, delta=delta, sensitivity=1.0, lower=-3.0,
                    upper=3.0, population=1000.0, query=CountQuery(0.1),
                )  # fmt: skip
                noise = split_noise(found.split.at(0))
                curve = subsample(noise, sensitivity=1.0 / p, sampling_rate=p)
                low, _ = curve.delta_bounds(epsilon=epsilon)
                fails += float(low) > delta
                total += 1
    grid = "count, Δ = 1, θ = 3, N = 1000, p_c = .1; ε in .1, .5, 1; δ in 1e-3, 1e-5; p in .9, .5, .3, .1"
    return (Frequency("the sampled mechanism keeps (ε, δ)", grid, fails, total),)
