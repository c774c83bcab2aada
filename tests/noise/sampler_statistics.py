"""Tests of draws against a law on the integers: chi-square, Kolmogorov-Smirnov, exact tails.

Each returns a p-value that is at most uniform when the draws follow the law: KS by the
Dvoretzky-Kiefer-Wolfowitz bound, which holds for lattice laws too; tails by exact binomial tests and Bonferroni;
chi-square by its limit, which cells of 20 expected draws or more come so near that an alarm of 1e-7 stays below 2e-7.
The expected masses come from brdp's own log_mass, which tests/noise holds against many digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import brdp

# Tails beyond these probabilities are counted exactly, on either side.
TAILS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
CELLS = 400
LEAST_EXPECTED = 20.0
PART = 10_000_000


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


def counted(draw: Callable[[int], NDArray[np.int64]], size: int, noise: brdp.Noise) -> Counted:
    """Draw, a part at a time, and count beside the law of `noise`."""
    edges = edges_of(noise)
    cells = np.zeros(len(edges) + 1, dtype=np.int64)
    for start in range(0, size, PART):
        values = draw(min(PART, size - start))
        cells += np.bincount(np.searchsorted(edges, values, side="left"), minlength=len(cells))
    cdf = np.exp(noise.log_mass(-np.inf, edges))
    above = np.exp(noise.log_mass(edges + 1, np.inf))
    return Counted(size, edges, np.cumsum(cells)[:-1], cdf, above)


def masses(cdf: NDArray[np.float64], above: NDArray[np.float64]) -> NDArray[np.float64]:
    """Masses between edges, each from the lighter tail."""
    from_left = np.diff(np.concatenate([[0.0], cdf, [1.0]]))
    from_right = -np.diff(np.concatenate([[1.0], above, [0.0]]))
    return np.where(np.concatenate([cdf, [1.0]]) < 0.5, from_left, from_right)


def merged(
    expected: NDArray[np.float64], *others: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Join neighbouring cells until each expects LEAST_EXPECTED draws; the others are joined alike."""
    ends, held = [0], 0.0
    for index, one in enumerate(expected):
        held += one
        if held >= LEAST_EXPECTED:
            ends.append(index + 1)
            held = 0.0
    # what is left over at the end goes to the last cell
    starts = ends[:-1] if len(ends) > 1 else [0]
    return [np.add.reduceat(cells, starts) for cells in (expected, *others)]


def chi_square(drawn: Counted) -> float:
    found = np.diff(np.concatenate([[0], drawn.at_most, [drawn.size]]))
    e, f = merged(drawn.size * masses(drawn.cdf, drawn.above), found.astype(np.float64))
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


def visible(
    noise: brdp.Noise, other: brdp.Noise, size: int, *, alarm: float, missed: float = 1e-9
) -> dict[str, bool]:
    """Whether `size` draws of the other law raise each check's alarm, but for a chance of `missed`.

    From the laws alone, by the power of each check: chi-square's non-central law, a KS distance and a tail that
    hold their threshold although they deviate as far as a binomial does with that chance.
    """
    edges = edges_of(noise)
    cdf, above = np.exp(noise.log_mass(-np.inf, edges)), np.exp(noise.log_mass(edges + 1, np.inf))
    cdf_other = np.exp(other.log_mass(-np.inf, edges))
    above_other = np.exp(other.log_mass(edges + 1, np.inf))
    far = stats.norm.isf(missed) + 0.5  # half a deviation for what binomials are not normal
    return {
        "chi-square": _chi_square_sees(
            size * masses(cdf, above), size * masses(cdf_other, above_other), alarm, missed
        ),
        "Kolmogorov-Smirnov": bool(
            np.max(
                np.abs(cdf - cdf_other) - far * np.sqrt(cdf_other * above_other / size), initial=0.0
            )
            > math.sqrt(math.log(2 / alarm) / (2 * size))
        ),
        "tails": _tails_see(cdf, cdf_other, above, above_other, size, alarm, far),
    }


def _chi_square_sees(
    p: NDArray[np.float64], q: NDArray[np.float64], alarm: float, missed: float
) -> bool:
    e, f = merged(p, q)
    if len(e) < 2:
        return False
    # a tenth less than it is: cells of the other law vary by f, not by e
    excess = 0.9 * float(np.sum((f - e) ** 2 / e))
    needed = stats.chi2.isf(alarm, len(e) - 1)
    return bool(stats.ncx2.cdf(needed, len(e) - 1, excess) < missed)


def _tails_see(
    cdf: NDArray[np.float64],
    cdf_other: NDArray[np.float64],
    above: NDArray[np.float64],
    above_other: NDArray[np.float64],
    size: int,
    alarm: float,
    far: float,
) -> bool:
    needed = stats.norm.isf(alarm / (4 * len(TAILS))) + 1  # the skewed side of a rare tail
    for one, other in ((cdf, cdf_other), (above, above_other)):
        for share in TAILS:
            at = np.flatnonzero(one <= share * 1.000001)
            for i in at[-1:] if one is cdf else at[:1]:
                reach = needed * np.sqrt(size * one[i]) + far * np.sqrt(size * other[i]) + 1
                if abs(one[i] - other[i]) * size > reach:
                    return True
    return False
