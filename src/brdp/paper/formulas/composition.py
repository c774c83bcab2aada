"""What the paper says many releases leak: Remarks 2 to 5, Proposition 5, Theorem 3, Algorithm 3.

*Guarantee:* none. Theorem 3 is not an upper bound (docs/errata.md, E4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlog1py, xlogy

from brdp.paper.accountants import Profile
from brdp.paper.formulas.kernel import Floats, PaperKernel
from brdp.paper.formulas.leakage import recycling_loss, recycling_weight


def parallel_composition(*, epsilon: float, delta: float) -> tuple[float, float]:
    """Remark 2: disjoint subsets leak what one of them leaks.

    Right when neighbours differ by adding or removing a person; when they differ by replacing
    one, that person may move between subsets and two of them pay.
    """
    return epsilon, delta


def sequential_composition(*, epsilon: float, delta: float, count: int) -> tuple[float, float]:
    """Remark 3: (T epsilon, T delta). It is right."""
    return count * epsilon, count * delta


def advanced_composition_as_printed(
    *, epsilon: float, delta: float, count: int
) -> tuple[float, float]:
    """Remark 4: (T e (exp(e) - 1) + sqrt(T) e sqrt(2 ln(1/delta)), delta), as printed.

    It drops the deltas of the parts: false for every delta > 0 (docs/errata.md, E11).
    """
    spread = np.sqrt(count) * epsilon * np.sqrt(2.0 * np.log(1.0 / delta))
    return float(count * epsilon * np.expm1(epsilon) + spread), delta


def advanced_composition(
    *, epsilon: float, delta: float, count: int, slack: float
) -> tuple[float, float]:
    """Remark 4 with what it drops: the same epsilon at slack, delta T delta + slack."""
    spread = np.sqrt(count) * epsilon * np.sqrt(2.0 * np.log(1.0 / slack))
    return float(count * epsilon * np.expm1(epsilon) + spread), count * delta + slack


def added_losses(
    *, weight: float, loss: float, count: int, first: int = 0
) -> tuple[Floats, Floats]:
    """Proposition 5: the law of the added loss, as (losses, masses), for k from `first` to T.

    k counts the releases without an added loss: mass C(T,k) (1-W)^k W^(T-k) at (T-k) L. Masses
    that underflow are left out: they are 0 in the printed sum as well.
    """
    k = np.arange(first, count + 1, dtype=float)
    binomial = gammaln(count + 1) - gammaln(k + 1) - gammaln(count - k + 1)
    logs = binomial + xlog1py(k, -weight) + xlogy(count - k, weight)
    kept = logs > -745.0
    extra = np.where(k == count, 0.0, (count - k) * loss)
    return extra[kept], np.exp(logs[kept])


def composed_profile(
    kernel_profile: Profile, *, weight: float, loss: float, count: int, first: int = 0
) -> Profile:
    """Theorem 3: the sum of C(T,k) (1-W)^k W^(T-k) delta_Z^T(e - (T-k) L) over k.

    `kernel_profile` is delta_Z^T, the kernel's profile after T releases. `first=1` is Algorithm 3
    as printed: its loop runs over 1 <= k <= T and loses the term k = 0. Its cost is linear in T
    where delta_Z^T costs the same whatever T is (Remark 5).
    """
    extra, mass = added_losses(weight=weight, loss=loss, count=count, first=first)

    def profile(epsilon: ArrayLike) -> Floats:
        e = np.asarray(epsilon, float)
        return np.asarray(np.sum(mass * kernel_profile(e[..., None] - extra), axis=-1))

    return profile


def composed_delta(
    kernel: PaperKernel,
    kernel_profile: Profile,
    epsilon: ArrayLike,
    *,
    lower: float,
    upper: float,
    rate: float,
    count: int,
) -> Floats:
    """Algorithm 3 (composition accountant), as printed: delta after T releases at a target epsilon.

    Its list of inputs lacks the bounds, which W needs, and its loop lacks k = 0.
    """
    profile = composed_profile(
        kernel_profile,
        weight=float(recycling_weight(kernel, lower=lower, upper=upper)),
        loss=float(recycling_loss(rate=rate)),
        count=count,
        first=1,
    )
    return profile(np.asarray(epsilon, float))
