"""What the paper says one release leaks: Theorem 1, Proposition 2, Theorem 2, Remark 1.

*Guarantee:* none; Theorem 1 and Proposition 2 are not bounds, and Theorem 2 is one only for
delta = 0 (docs/errata.md, E1 and E5).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brdp.paper.formulas.kernel import Floats, PaperKernel


def recycling_loss(*, rate: ArrayLike) -> Floats:
    """eq. (eq:l): L = -log(1 - q), the loss that recycling adds where it adds any."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log1p(-np.asarray(rate, float)))


def recycling_weight(kernel: PaperKernel, *, lower: ArrayLike, upper: ArrayLike) -> Floats:
    """eq. (eq:W): W, the probability the paper gives to the added loss, as printed.

    The larger of Phi(min(lower + Delta, upper)) - Phi(lower) and
    Phi(upper + Delta) - Phi(max(upper, lower + Delta)).
    """
    low, high = np.asarray(lower, float), np.asarray(upper, float)
    shift = np.asarray(kernel.sensitivity, float)
    first = kernel.mass(low, np.minimum(low + shift, high))
    second = kernel.mass(np.maximum(high, low + shift), high + shift)
    return np.maximum(first, second)


def recycling_weight_in_the_appendix(
    kernel: PaperKernel, *, lower: ArrayLike, upper: ArrayLike
) -> Floats:
    """Appendix C's W: the same without min and max, with lower' = lower + Delta, upper' likewise."""
    low, high = np.asarray(lower, float), np.asarray(upper, float)
    shift = np.asarray(kernel.sensitivity, float)
    return np.maximum(kernel.mass(low, low + shift), kernel.mass(high, high + shift))


def recycling_weight_by_definition(
    kernel: PaperKernel, *, lower: ArrayLike, upper: ArrayLike
) -> Floats:
    """What Appendix C defines W to be: Pr(N within, N' not), the larger of the two directions.

    Against a neighbour above, [lower, min(lower + Delta, upper)]; against one below,
    [max(upper - Delta, lower), upper]. For bounds that are not symmetric the second is not what
    eq. (eq:W) prints: that is the region where recycling *lowers* the loss.
    """
    low, high = np.asarray(lower, float), np.asarray(upper, float)
    shift = np.asarray(kernel.sensitivity, float)
    first = kernel.mass(low, np.minimum(low + shift, high))
    second = kernel.mass(np.maximum(high - shift, low), high)
    return np.maximum(first, second)


def recycled_loss_cdf(
    kernel: PaperKernel, loss: ArrayLike, *, lower: ArrayLike, upper: ArrayLike, rate: ArrayLike
) -> Floats:
    """Theorem 1 (PLD_BR-DP), as printed: (1 - W) F_Z(g) + W F_Z(g - L).

    The cumulative form of its density, because the Laplace's loss has atoms.
    """
    g = np.asarray(loss, float)
    weight = recycling_weight(kernel, lower=lower, upper=upper)
    shifted = kernel.loss_cdf(g - recycling_loss(rate=rate))
    return np.asarray((1.0 - weight) * kernel.loss_cdf(g) + weight * shifted)


def privacy_profile(
    kernel: PaperKernel,
    epsilon: ArrayLike,
    *,
    lower: ArrayLike,
    upper: ArrayLike,
    rate: ArrayLike,
) -> Floats:
    """Proposition 2, eq. (eq:deltaGamma): (1 - W) delta_Z(e) + W delta_Z(e - L).

    Derived from Theorem 1 in eq. (eq:delta').
    """
    e = np.asarray(epsilon, float)
    weight = recycling_weight(kernel, lower=lower, upper=upper)
    shifted = kernel.profile(e - recycling_loss(rate=rate))
    return np.asarray((1.0 - weight) * kernel.profile(e) + weight * shifted)


def mass_of_the_printed_loss_under_the_neighbour(
    kernel: PaperKernel, *, lower: ArrayLike, upper: ArrayLike, rate: ArrayLike
) -> Floats:
    """E[exp(-Gamma)] under Theorem 1: 1 - W q.

    For a loss between two laws with the same support this must be exactly 1 (it is the total mass
    of the neighbour's law). Since E[exp(-Z)] = 1, Theorem 1 gives (1 - W) + W (1 - q) < 1.
    """
    weight = recycling_weight(kernel, lower=lower, upper=upper)
    return np.asarray(1.0 - weight * np.asarray(rate, float))


def total_epsilon(*, kernel_epsilon: ArrayLike, rate: ArrayLike) -> Floats:
    """Theorem 2: epsilon = epsilon_y - log(1 - q), promised at the kernel's own delta."""
    return np.asarray(np.asarray(kernel_epsilon, float) + recycling_loss(rate=rate))


def baseline_rate(*, epsilon: ArrayLike, kernel_epsilon: ArrayLike) -> Floats:
    """Remark 1: q = 1 - exp(-(epsilon - epsilon_y))."""
    gap = np.asarray(epsilon, float) - np.asarray(kernel_epsilon, float)
    return np.asarray(-np.expm1(-gap))


def delta_that_always_holds(
    kernel: PaperKernel, *, delta: ArrayLike, lower: ArrayLike, upper: ArrayLike, rate: ArrayLike
) -> Floats:
    """What replaces Theorem 2 in general: (epsilon_y + L, delta/Z), Z = p + (1-q)(1-p)."""
    p, q = kernel.acceptance(lower, upper), np.asarray(rate, float)
    return np.asarray(np.asarray(delta, float) / (p + (1.0 - q) * (1.0 - p)))
