"""A law of losses as a finite sum that is proven close to it: what quadrature makes of a sampled release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from brdp.noise.base import Floats


@final
@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """Losses and masses whose sum of exp(order * loss) stands for a moment.

    At every real order that was asked for, and up to the frequency that was asked for, the sum is off by at
    most exp(log_missing) of the moment of that real order.
    """

    losses: Floats
    log_masses: Floats
    # absolute errors of the losses by rounding
    loss_errors: Floats
    # one for each real order
    log_missing: Floats

    def tilted(self, order: float) -> tuple[Floats, Floats]:
        """Losses in rising order, and their shares of the moment of this order."""
        rising = np.argsort(self.losses, kind="stable")
        losses = self.losses[rising]
        logs = self.log_masses[rising] + order * losses
        weights = np.exp(logs - logs.max())
        return losses, weights / weights.sum()

    def slack(self, order: float, frequency: float) -> float:
        """How far a sum of tilted(order) over frequencies up to this one is off, as a share of the moment."""
        wrong = math.exp(min(0.0, float(self.log_missing.max())))
        losses, weights = self.tilted(order)
        scale = float(np.abs(losses) @ weights)
        size = float(np.abs(self.log_masses).max()) + abs(order) * float(np.abs(losses).max())
        rounding = 2.0**-53 * (64 + 2 * len(losses) + 12 * size + 8 * frequency * scale)
        blurred = (order + frequency) * float(self.loss_errors.max())
        return 4 * (wrong + rounding + blurred)
