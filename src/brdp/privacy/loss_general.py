"""Losses of a kernel of your own: log-concave on the reals, given by its density and masses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from brdp.noise.base import Floats, Kernel
from brdp.privacy.general import MASS_ERROR, general_tilted, reach_of
from brdp.privacy.loss import NOTHING
from brdp.privacy.loss_pieces import PieceLoss
from brdp.privacy.pieces import Pieces

HALVINGS = 64


@final
@dataclass(frozen=True, slots=True, eq=False)
class GeneralLoss(PieceLoss):
    """On each piece the loss never rises; where it is flat its mass falls into one cell."""

    pieces: Pieces
    log_total: float
    shift: float
    kernel: Kernel

    def mass_error(self, log_floor: float) -> float:
        return 4 * MASS_ERROR + super(GeneralLoss, self).mass_error(log_floor)

    @property
    def atoms(self) -> tuple[Floats, Floats]:
        return NOTHING, NOTHING

    def log_mass(self, low: Floats, high: Floats) -> Floats:
        return self.kernel.log_mass(low, high)

    def log_tilted(self, order: Floats, low: Floats, high: Floats) -> Floats:
        parts = [
            general_tilted(self.kernel, float(one), low, high, shift=self.shift)
            for one in order.ravel()
        ]
        return np.array(parts)

    def support(self, log_floor: float) -> tuple[float, float]:
        reach = reach_of(self.kernel)
        shared = self.pieces.log_ratio < np.inf
        low = np.clip(self.pieces.low[shared], -reach, reach + self.shift)
        high = np.clip(self.pieces.high[shared], -reach, reach + self.shift)
        ratio, reached = self.pieces.log_ratio[shared], high > low
        if not reached.any():
            return np.inf, -np.inf
        least, most = ratio + self._kernel_loss(high), ratio + self._kernel_loss(low)
        # the ends themselves belong to the part: an atom may lie there
        width = 1e-9 * (1 + np.abs(np.concatenate([least, most])).max())
        return float(least[reached].min() - width), float(most[reached].max() + width)

    def _kernel_loss(self, x: Floats) -> Floats:
        return self.kernel.log_pdf(x) - self.kernel.log_pdf(x - self.shift)

    def cells(self, edges: Floats, widths: Floats) -> tuple[Floats, Floats]:
        log_p, log_q = np.full((2, len(edges) - 1), -np.inf)
        reach = reach_of(self.kernel)
        for low, high, keep, shifted in zip(
            np.clip(self.pieces.low, -reach, reach + self.shift),
            np.clip(self.pieces.high, -reach, reach + self.shift),
            self.pieces.log_keep,
            self.pieces.log_keep_shifted,
            strict=True,
        ):
            if shifted == -np.inf or not high > low:
                continue
            crossing = self._crossing(edges - (keep - shifted), low, high)
            start, end = crossing[1:], crossing[:-1]
            inside = np.flatnonzero(end > start)
            start, end = start[inside], end[inside]
            p = keep + self.kernel.log_mass(start, end) - self.log_total
            q = shifted + self.kernel.log_mass(start - self.shift, end - self.shift)
            log_p[inside] = np.logaddexp(log_p[inside], p)
            log_q[inside] = np.logaddexp(log_q[inside], q - self.log_total)
        return log_p, log_q

    def _crossing(self, losses: Floats, low: float, high: float) -> Floats:
        """Where on [low, high] the kernel's loss falls to each of these."""
        left, right = np.full(len(losses), low), np.full(len(losses), high)
        for _ in range(HALVINGS):
            middle = 0.5 * (left + right)
            above = self._kernel_loss(middle) > losses
            left, right = np.where(above, middle, left), np.where(above, right, middle)
        return right
