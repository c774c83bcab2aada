"""Subsampling in the paper: Theorem 4, Propositions 6 and 7, Algorithm 4.

The paper counts its propositions differently in places: Appendix G and Algorithm 4 call
"proposition 7" what is the sixth. *Guarantee:* none: the sensitivity of the rescaled answer is
Delta/p, the paper keeps Delta (docs/errata.md, E3).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from brdp.paper.accountants import composed_gaussian, epsilon_of
from brdp.paper.formulas.budget import Objective, Split, gaussian_for, objective, optimal_split
from brdp.paper.formulas.kernel import Floats, GaussianKernel

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)


def amplified(
    *, epsilon: ArrayLike, delta: ArrayLike, sampling_rate: ArrayLike
) -> tuple[Floats, Floats]:
    """Theorem 4: (log(1 + p (exp(epsilon) - 1)), p delta)."""
    e, p = np.asarray(epsilon, float), np.asarray(sampling_rate, float)
    # log(1 + p(exp(e)-1)) = e + log(p + (1-p) exp(-e)), which does not overflow
    return np.asarray(e + np.log(p + (1.0 - p) * np.exp(-e))), np.asarray(
        p * np.asarray(delta, float)
    )


def before_amplification(
    *, epsilon: ArrayLike, delta: ArrayLike, sampling_rate: ArrayLike
) -> tuple[Floats, Floats]:
    """Theorem 4 solved for the budget of the mechanism that sees the sample."""
    e, p = np.asarray(epsilon, float), np.asarray(sampling_rate, float)
    return np.asarray(np.log1p(np.expm1(e) / p)), np.asarray(np.asarray(delta, float) / p)


class Query(ABC):
    """One of the paper's three queries, for Proposition 6."""

    @abstractmethod
    def sampling_deviation(self, *, population: ArrayLike, sampling_rate: ArrayLike) -> Floats:
        """The standard deviation of the error that sampling makes, as printed."""


@final
@dataclass(frozen=True)
class SumQuery(Query):
    """Summation: sigma_x sqrt(N (1-p)/p)."""

    deviation: float

    def sampling_deviation(self, *, population: ArrayLike, sampling_rate: ArrayLike) -> Floats:
        n, p = np.asarray(population, float), np.asarray(sampling_rate, float)
        return np.asarray(self.deviation * np.sqrt(n * (1 - p) / p))


@final
@dataclass(frozen=True)
class AverageQuery(Query):
    """Average: sigma_x sqrt((1-p)/(p N))."""

    deviation: float

    def sampling_deviation(self, *, population: ArrayLike, sampling_rate: ArrayLike) -> Floats:
        n, p = np.asarray(population, float), np.asarray(sampling_rate, float)
        return np.asarray(self.deviation * np.sqrt((1 - p) / (p * n)))


@final
@dataclass(frozen=True)
class CountQuery(Query):
    """Count: sqrt(N (1-p) p_c (1-p_c)/p), p_c the share of people counted."""

    share: float | Floats

    def sampling_deviation(self, *, population: ArrayLike, sampling_rate: ArrayLike) -> Floats:
        n, p = np.asarray(population, float), np.asarray(sampling_rate, float)
        return np.asarray(np.sqrt(n * (1 - p) * self.share * (1 - self.share) / p))


def sum_variance_as_derived(*, population: float, sampling_rate: float, deviation: float) -> float:
    """Appendix G's second line for the sum: (1-p) N V + (1-p)^2/p V. The last term lacks N."""
    p, v = sampling_rate, deviation**2
    return (1 - p) * population * v + (1 - p) ** 2 / p * v


def average_variance_as_derived(
    *, population: float, sampling_rate: float, deviation: float
) -> float:
    """Appendix G's second line for the average, whose last divisor is |X_s|^2 instead of |X|^2."""
    sample, v = sampling_rate * population, deviation**2
    first = (1 / population - 1 / sample) ** 2 * sample
    return (first + (population - sample) / sample**2) * v


def poisson_sum_variance(
    *, population: float, sampling_rate: float, deviation: float, mean: float
) -> float:
    """What the error of the rescaled sum is under Poisson sampling: N (1-p)/p (V + mean^2).

    Proposition 6 lacks the mean: it holds for samples of a fixed size, Theorem 4 (with
    neighbours by adding or removing) for Poisson samples.
    """
    p = sampling_rate
    return population * (1 - p) / p * (deviation**2 + mean**2)


def convolved_acceptance(split: Split, sampling_deviation: ArrayLike) -> Floats:
    """p in eq. (eq:budget2): a Gaussian of the added variances, put where p_theta stood.

    Proposition 7's claim. The recycler cannot see the sampling error, so the acceptance of the
    sum is a convolution of the recycled law with it, not this (docs/errata.md, E14).
    """
    kernel = split.kernel
    if not isinstance(kernel, GaussianKernel):
        raise TypeError(f"expected a Gaussian kernel, got {type(kernel).__name__}")
    spread = np.hypot(np.asarray(kernel.sigma, float), sampling_deviation)
    return GaussianKernel(spread).mass(split.lower, split.upper)


@final
@dataclass(frozen=True, eq=False)
class Subsampled:
    """What Algorithm 4 returns, with the split of the mechanism that sees the sample."""

    sampling_rate: Floats
    sample_epsilon: Floats
    sample_delta: Floats
    calibrated_epsilon: Floats
    split: Split
    sampling_deviation: Floats
    acceptance: Floats


def subsampled_split(
    sampling_rate: ArrayLike,
    *,
    epsilon: ArrayLike,
    delta: ArrayLike,
    sensitivity: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    population: ArrayLike,
    query: Query,
    minimise: Objective = objective,
    tolerance: float = 1e-4,
) -> Subsampled:
    """One pass of Algorithm 4's loop at the sampling rate p.

    Line 7 "calibrates" (epsilon_1, delta_1) to (epsilon'_1, delta) and the primes are never used
    again; they are computed here (`calibrated_epsilon`) and used no further either.
    """
    p = np.asarray(sampling_rate, float)
    e1, d1 = before_amplification(epsilon=epsilon, delta=delta, sampling_rate=p)
    d1 = np.minimum(d1, 1.0 - 1e-9)  # delta/p may pass 1, where the kernel needs no noise at all
    spread = query.sampling_deviation(population=population, sampling_rate=p)
    split = optimal_split(
        epsilon=e1,
        delta=d1,
        sensitivity=sensitivity,
        lower=lower,
        upper=upper,
        kernel_for=gaussian_for,
        minimise=minimise,
        tolerance=tolerance,
        rate_tolerance=1e-9,
        acceptance=lambda at: convolved_acceptance(at, spread),
    )
    plain = gaussian_for(*np.broadcast_arrays(e1, d1, np.asarray(sensitivity, float)))
    if not isinstance(plain, GaussianKernel):
        raise TypeError("expected a Gaussian kernel")
    calibrated = epsilon_of(
        composed_gaussian(plain, count=1), delta=np.broadcast_to(delta, e1.shape)
    )
    value = np.maximum(convolved_acceptance(split, spread), 1e-300)
    reached = 1.0 / objective(value, split.rate)
    return Subsampled(p, e1, d1, calibrated, split, spread, reached)


def optimal_sampling_rate(
    *,
    epsilon: ArrayLike,
    delta: ArrayLike,
    sensitivity: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    population: ArrayLike,
    query: Query,
    minimise: Objective = objective,
    tolerance: float = 1e-4,
    least: float = 0.0,
) -> Subsampled:
    """Algorithm 4: the sampling rate by ternary search on eq. (eq:budget2), for a whole grid.

    It searches from p = 0, as printed; `least` starts it higher (docs/errata.md, E16).
    """
    n = np.asarray(population, float)
    low, high = np.full(n.shape, least), np.ones(n.shape)

    def at(p: Floats) -> Subsampled:
        return subsampled_split(
            p,
            epsilon=epsilon,
            delta=delta,
            sensitivity=sensitivity,
            lower=lower,
            upper=upper,
            population=n,
            query=query,
            minimise=minimise,
        )

    def value(one: Subsampled) -> Floats:
        p = np.maximum(convolved_acceptance(one.split, one.sampling_deviation), 1e-300)
        return minimise(p, one.split.rate)

    while np.max(high - low, initial=0.0) > tolerance:
        first, second = low + (high - low) / 3.0, high - (high - low) / 3.0
        right = value(at(first)) > value(at(second))
        low = np.where(right, first, low)
        high = np.where(right, high, second)
    return at(0.5 * (low + high))


def acceptance_of_the_sum(split: Split, sampling_deviation: ArrayLike) -> Floats:
    """What replaces Proposition 7: P(|E + N| <= theta) for Gaussian E and recycled Gaussian N.

    With w = 1 within the bounds and 1-q outside, it is (1-q) P(|E+K| <= theta) +
    q P(|E+K| <= theta, |K| <= theta) over Z, K the kernel alone. The first is a Gaussian of added
    variances; the second is an integral over the bounds.
    """
    kernel = split.kernel
    if not isinstance(kernel, GaussianKernel):
        raise TypeError(f"expected a Gaussian kernel, got {type(kernel).__name__}")
    sigma, spread, low, high, q = np.broadcast_arrays(
        kernel.sigma, sampling_deviation, split.lower, split.upper, split.rate
    )
    x, weights = _NODES, _WEIGHTS
    half = 0.5 * (high - low)[..., None]
    n = 0.5 * (high + low)[..., None] + half * x
    s = np.maximum(spread, 1e-300)[..., None]
    stays = ndtr((high[..., None] - n) / s) - ndtr((low[..., None] - n) / s)
    density = np.exp(-0.5 * (n / sigma[..., None]) ** 2) / (np.sqrt(2 * np.pi) * sigma[..., None])
    both = np.sum(half * weights * density * stays, axis=-1)
    alone = convolved_acceptance(split, sampling_deviation)
    p = kernel.acceptance(low, high)
    return np.asarray(((1 - q) * alone + q * both) / (p + (1 - q) * (1 - p)))
