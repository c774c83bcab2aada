"""The noise of the mechanism: Proposition 1 and the acceptance rate of eq. (eq:post)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brdp.paper.formulas.kernel import Floats, PaperKernel


def recycled_density(
    kernel: PaperKernel, x: ArrayLike, *, lower: ArrayLike, upper: ArrayLike, rate: ArrayLike
) -> Floats:
    """Proposition 1, eq. (noise_dist): the density of the released noise. It is right."""
    n, q = np.asarray(x, float), np.asarray(rate, float)
    outside = 1.0 - kernel.acceptance(lower, upper)
    weight = np.where((n >= lower) & (n <= upper), 1.0, 1.0 - q)
    return np.asarray(kernel.pdf(n) * weight / (1.0 - outside * q))


def acceptance_rate(
    kernel: PaperKernel, *, lower: ArrayLike, upper: ArrayLike, rate: ArrayLike
) -> Floats:
    """eq. (eq:post), the probability of eq. (eq:utility): p / (1 - (1 - p) q).

    It is right; the chain that follows it is not.
    """
    p, q = kernel.acceptance(lower, upper), np.asarray(rate, float)
    return np.asarray(p / (1.0 - (1.0 - p) * q))


def expected_rounds(
    kernel: PaperKernel, *, lower: ArrayLike, upper: ArrayLike, rate: ArrayLike
) -> Floats:
    """1 / (1 - (1 - p) q): how many draws a release takes on average (implied by Appendix A)."""
    p, q = kernel.acceptance(lower, upper), np.asarray(rate, float)
    return np.asarray(1.0 / (1.0 - (1.0 - p) * q))


def unacceptable_density_sum_as_printed(
    *, outside: ArrayLike, rate: ArrayLike, rounds: int
) -> Floats:
    """Appendix A, second display, first two lines: (1-q) + the sum of outside^k (1-q)^k, 1 <= k < rounds.

    The third line replaces it by (1-q) times the sum of outside^k q^k, which is the right sum and
    another number. At q = 0 the printed terms add up to 1/(1 - outside), not to 1.
    """
    p, q = np.asarray(outside, float)[..., None], np.asarray(rate, float)[..., None]
    k = np.arange(1, rounds)
    return np.asarray(1.0 - q[..., 0] + np.sum((p * (1.0 - q)) ** k, axis=-1))


def unacceptable_density_sum(*, outside: ArrayLike, rate: ArrayLike, rounds: int) -> Floats:
    """The sum that Appendix A needs: (1-q) times the sum of (outside q)^k, k < rounds."""
    p, q = np.asarray(outside, float)[..., None], np.asarray(rate, float)[..., None]
    k = np.arange(rounds)
    return np.asarray((1.0 - q[..., 0]) * np.sum((p * q) ** k, axis=-1))
