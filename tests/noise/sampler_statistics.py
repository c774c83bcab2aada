"""Tests of draws against a law on the integers: chi-square, Kolmogorov-Smirnov, exact tails.

Each returns a p-value that is at most uniform when the draws follow the law: KS by the
Dvoretzky-Kiefer-Wolfowitz bound, which holds for lattice laws too; tails by exact binomial tests and Bonferroni.
The expected masses come from brdp's own log_mass, which tests/noise holds against many digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import brdp

# Tails beyond these probabilities are counted exactly, on either side.
TAILS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
CELLS = 400
LEAST_EXPECTED = 20.0


@dataclass(frozen=True)
class Counted:
    """How many draws fell at most at each edge, and the probability of that."""

    size: int
    edges: NDArray[np.float64]
    at_most: NDArray[np.int64]
    cdf: NDArray[np.float64]
    above: NDArray[np.float64]


def edges_of(noise: brdp.Noise) -> NDArray[np.float64]:
    shares = np.concatenate([np.linspace(0, 1, CELLS + 1)[1:-1], TAILS, 1 - np.asarray(TAILS)])
    own = np.asarray(
        noise.recycler.edges
    )  # where weights jump, a law with a wrong rate jumps wrongly
    edges = np.concatenate([np.floor(noise.ppf(shares)), np.floor(own)])
    return np.unique(edges[np.isfinite(edges)])


def counted(values: NDArray[np.int64], noise: brdp.Noise) -> Counted:
    edges = edges_of(noise)
    cells = np.bincount(np.searchsorted(edges, values, side="left"), minlength=len(edges) + 1)
    cdf = np.exp(noise.log_mass(-np.inf, edges))
    above = np.exp(noise.log_mass(edges + 1, np.inf))
    return Counted(len(values), edges, np.cumsum(cells)[:-1], cdf, above)


def masses(cdf: NDArray[np.float64], above: NDArray[np.float64]) -> NDArray[np.float64]:
    """Masses between edges, each from the lighter tail."""
    from_left = np.diff(np.concatenate([[0.0], cdf, [1.0]]))
    from_right = -np.diff(np.concatenate([[1.0], above, [0.0]]))
    return np.where(np.concatenate([cdf, [1.0]]) < 0.5, from_left, from_right)


def chi_square(drawn: Counted) -> float:
    expected = drawn.size * masses(drawn.cdf, drawn.above)
    found = np.diff(np.concatenate([[0], drawn.at_most, [drawn.size]]))
    merged_expected, merged_found = [0.0], [0]
    for one, other in zip(expected, found, strict=True):
        if merged_expected[-1] >= LEAST_EXPECTED:
            merged_expected.append(0.0)
            merged_found.append(0)
        merged_expected[-1] += one
        merged_found[-1] += int(other)
    if merged_expected[-1] < LEAST_EXPECTED and len(merged_expected) > 1:
        merged_expected[-2] += merged_expected.pop()
        merged_found[-2] += merged_found.pop()
    e, f = np.asarray(merged_expected), np.asarray(merged_found)
    if len(e) < 2:
        return 1.0 if f[0] == drawn.size else 0.0
    return float(stats.chi2.sf(np.sum((f - e) ** 2 / e), len(e) - 1))


def kolmogorov_smirnov(drawn: Counted) -> float:
    distance = float(np.max(np.abs(drawn.at_most / drawn.size - drawn.cdf), initial=0.0))
    return min(1.0, 2 * math.exp(-2 * drawn.size * distance**2))


def tails(drawn: Counted) -> float:
    least, tests = 1.0, 0
    for share in TAILS:
        left = drawn.cdf <= share * 1.000001
        right = drawn.above <= share * 1.000001
        for at, probability, count in (
            (np.flatnonzero(left)[-1:], drawn.cdf, drawn.at_most),
            (np.flatnonzero(right)[:1], drawn.above, drawn.size - drawn.at_most),
        ):
            for i in at:
                p = min(1.0, float(probability[i]))
                least = min(least, stats.binomtest(int(count[i]), drawn.size, p).pvalue)
                tests += 1
    return min(1.0, least * max(1, tests))


CHECKS = {"chi-square": chi_square, "Kolmogorov-Smirnov": kolmogorov_smirnov, "tails": tails}


def visible(noise: brdp.Noise, other: brdp.Noise, size: int) -> dict[str, bool]:
    """Whether `size` draws of the other law are bound to stand out, check by check.

    From the laws alone: an expected chi-square 40 standard deviations up, a KS distance of 1.5 times what
    p = 1e-7 takes and 8 standard deviations more, a tail 12 standard deviations off.
    """
    edges = edges_of(noise)
    cdf, above = np.exp(noise.log_mass(-np.inf, edges)), np.exp(noise.log_mass(edges + 1, np.inf))
    cdf_other = np.exp(other.log_mass(-np.inf, edges))
    above_other = np.exp(other.log_mass(edges + 1, np.inf))
    p, q = masses(cdf, above), masses(cdf_other, above_other)
    solid = p * size >= LEAST_EXPECTED
    excess = size * float(np.sum((q[solid] - p[solid]) ** 2 / p[solid]))
    threshold = math.sqrt(math.log(2e7) / (2 * size))
    distance = float(np.max(np.abs(cdf - cdf_other), initial=0.0))
    far = []
    for one, other_one in ((cdf, cdf_other), (above, above_other)):
        for share in TAILS:
            at = np.flatnonzero(one <= share * 1.000001)
            at = at[-1:] if one is cdf else at[:1]
            spread = np.sqrt(size * np.maximum(one[at], other_one[at])) + 1
            far.extend(np.abs(one[at] - other_one[at]) * size / spread)
    return {
        "chi-square": excess > 40 * math.sqrt(2 * CELLS),
        "Kolmogorov-Smirnov": distance > 1.5 * threshold + 4 / math.sqrt(size),
        "tails": max(far, default=0.0) > 12,
    }
