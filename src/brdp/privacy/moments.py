"""Upper bounds of moments of a loss that has no closed form."""

from __future__ import annotations

import math

import numpy as np

from brdp.privacy.loss import atom_log_moments
from brdp.privacy.loss_sampled import SampledLoss
from brdp.privacy.pld import connect

CELLS = 1 << 14
FLOOR = -600.0
# What the moment beyond the lattice is bounded with: Chernoff at these extra orders.
EXTRA = np.geomspace(0.05, 500.0, 40)


def upper_log_moment(law: SampledLoss, order: float) -> float:
    """Upper bound of log E_P[exp(order * loss)], for order > 0.

    exp(order * loss) is convex in exp(-loss), so splitting the law between lattice points only raises
    its moments; beyond the lattice the mixture is at most the base law above 0 and bounded below.
    """
    if law.log_infinite > -math.inf:
        return math.inf
    losses, _ = law.atoms
    low, high = law.support(FLOOR)
    least, most = min(low, losses.min(initial=low)), max(high, losses.max(initial=high))
    step = max((most - least) / CELLS, 1e-9)
    lattice = connect(law, step=step, offset=float(least), log_floor=FLOOR)
    inside = float(atom_log_moments(lattice.losses, lattice.log_masses, np.array([order]))[0])
    if low > high:
        return inside * (1 + 1e-12) + 1e-12
    tails = [FLOOR + order * max(most, 0.0)]
    if not law.added:
        _, base_high = law.base.support(FLOOR - 1)
        chernoff = law.base.log_moments(order + EXTRA) - EXTRA * base_high
        tails.append(float(chernoff.min()))
    return float(np.logaddexp.reduce([inside, *tails])) + 1e-12 * (1 + abs(inside))
