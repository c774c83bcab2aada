"""Algorithm 1: the recycling rate by binary search on the paper's profile."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brdp.paper.formulas.kernel import Floats, PaperKernel
from brdp.paper.formulas.leakage import recycling_loss, recycling_weight


def recycling_rate(
    kernel: PaperKernel,
    *,
    epsilon: ArrayLike,
    delta: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    tolerance: float = 1e-12,
) -> Floats:
    """Algorithm 1 (Find q with binary search), as printed, for a whole grid at once.

    *Guarantee:* none (Proposition 3 is false; docs/errata.md, E1). Where even q -> 1 keeps the
    printed profile under delta, the search climbs to 1 - tolerance.
    """
    e, d, low, high = np.broadcast_arrays(
        np.asarray(epsilon, float), np.asarray(delta, float), lower, upper
    )
    weight = recycling_weight(kernel, lower=low, upper=high)
    # delta_Z(epsilon) does not move with q: the loop of the paper needs only the second term.
    still = (1.0 - weight) * kernel.profile(e)
    shape = np.broadcast_shapes(still.shape, weight.shape)
    q_low, q_up = np.zeros(shape), np.ones(shape)
    while np.max(q_up - q_low, initial=0.0) > tolerance:
        q_middle = 0.5 * (q_up + q_low)
        leak = still + weight * kernel.profile(e - recycling_loss(rate=q_middle))
        fits = leak <= d
        q_low = np.where(fits, q_middle, q_low)
        q_up = np.where(fits, q_up, q_middle)
    return q_low[()]
