"""The split of the budget: eq. (eq:budget), printed and corrected, and Algorithm 2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from brdp.paper.accountants import (
    calibrated_gaussian,
    calibrated_laplace,
    calibrated_laplace_with_delta,
)
from brdp.paper.formulas.kernel import Floats, PaperKernel
from brdp.paper.formulas.noise import acceptance_rate
from brdp.paper.formulas.rate import recycling_rate

Objective = Callable[[Floats, Floats], Floats]
"""From the kernel's acceptance p and the rate q to the number that Algorithm 2 minimises."""


def objective_as_printed(p: Floats, rate: Floats) -> Floats:
    """eq. (eq:budget): 1 - q + q/p. It is smallest at q = 0, whatever the kernel."""
    return np.asarray(1.0 - rate + rate / p)


def objective(p: Floats, rate: Floats) -> Floats:
    """eq. (eq:budget) corrected: q + (1 - q)/p, the reciprocal of the acceptance rate."""
    return np.asarray(rate + (1.0 - rate) / p)


KernelFor = Callable[[Floats, Floats, Floats], PaperKernel]
"""From (epsilon_y, delta_y, sensitivity) to a kernel that keeps that budget by itself."""


def gaussian_for(epsilon: Floats, delta: Floats, sensitivity: Floats) -> PaperKernel:
    """The Gaussian kernel at (epsilon_y, delta_y), analytically."""
    return calibrated_gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity)


def laplace_for(epsilon: Floats, delta: Floats, sensitivity: Floats) -> PaperKernel:
    """The Laplace kernel at (epsilon_y, 0): the usual one, which leaves delta to the recycler."""
    del delta
    return calibrated_laplace(epsilon=epsilon, sensitivity=sensitivity)


def laplace_with_delta_for(epsilon: Floats, delta: Floats, sensitivity: Floats) -> PaperKernel:
    """The Laplace kernel at (epsilon_y, delta_y), as Experiments calibrates it."""
    return calibrated_laplace_with_delta(epsilon=epsilon, delta=delta, sensitivity=sensitivity)


@final
@dataclass(frozen=True, eq=False)
class Split:
    """What Algorithms 1 and 2 return: the kernel's budget, the kernel, and the rate."""

    kernel_epsilon: Floats
    kernel: PaperKernel
    rate: Floats
    lower: Floats
    upper: Floats

    @property
    def acceptance(self) -> Floats:
        """eq. (eq:post) of this split."""
        return acceptance_rate(self.kernel, lower=self.lower, upper=self.upper, rate=self.rate)

    def at(self, index: int) -> Split:
        """One setting of a grid of splits."""
        e_y, q, low, high = (
            np.asarray(np.asarray(x).flat[index])
            for x in (self.kernel_epsilon, self.rate, self.lower, self.upper)
        )
        return Split(e_y, self.kernel.at(index), q, low, high)


def gain_over_plain(split: Split, plain: PaperKernel) -> Floats:
    """Proposition 4: a split's acceptance over that of the plain kernel at the whole budget.

    The paper says that it is at least 1. It is for the best split, whose range has epsilon_y = epsilon.
    """
    return split.acceptance / plain.acceptance(split.lower, split.upper)


def split_at(
    kernel_epsilon: ArrayLike,
    *,
    epsilon: ArrayLike,
    delta: ArrayLike,
    sensitivity: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    kernel_for: KernelFor,
    tolerance: float = 1e-12,
) -> Split:
    """Algorithm 1 at a given epsilon_y, with delta_y = delta as the paper fixes it."""
    e_y, e, d, s, low, high = np.broadcast_arrays(
        np.asarray(kernel_epsilon, float),
        np.asarray(epsilon, float),
        np.asarray(delta, float),
        np.asarray(sensitivity, float),
        np.asarray(lower, float),
        np.asarray(upper, float),
    )
    kernel = kernel_for(e_y, d, s)
    q = recycling_rate(kernel, epsilon=e, delta=d, lower=low, upper=high, tolerance=tolerance)
    return Split(e_y, kernel, q, low, high)


def optimal_split(
    *,
    epsilon: ArrayLike,
    delta: ArrayLike,
    sensitivity: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    kernel_for: KernelFor,
    minimise: Objective = objective,
    tolerance: float = 1e-6,
    rate_tolerance: float = 1e-12,
    acceptance: Callable[[Split], Floats] | None = None,
) -> Split:
    """Algorithm 2 (optimal epsilon_y by ternary search) for a whole grid at once, then Algorithm 1.

    `tolerance` is relative to epsilon. `minimise` is the corrected objective unless the printed
    one is asked for. `acceptance` replaces p, the kernel's acceptance, for Algorithm 4.
    """
    e = np.asarray(epsilon, float)
    common = np.broadcast_shapes(
        e.shape, *(np.shape(x) for x in (delta, sensitivity, lower, upper))
    )
    low, high = np.zeros(common), np.broadcast_to(e, common).astype(float)
    scale = high.copy()

    def split(kernel_epsilon: Floats) -> Split:
        return split_at(
            kernel_epsilon,
            epsilon=e,
            delta=delta,
            sensitivity=sensitivity,
            lower=lower,
            upper=upper,
            kernel_for=kernel_for,
            tolerance=rate_tolerance,
        )

    def value(at: Split) -> Floats:
        p = acceptance(at) if acceptance else at.kernel.acceptance(at.lower, at.upper)
        return minimise(np.maximum(p, 1e-300), at.rate)

    while np.max((high - low) / scale, initial=0.0) > tolerance:
        first, second = low + (high - low) / 3.0, high - (high - low) / 3.0
        both = value(split(np.stack([first, second])))
        right = both[0] > both[1]
        low = np.where(right, first, low)
        high = np.where(right, high, second)
    return split(0.5 * (low + high))
