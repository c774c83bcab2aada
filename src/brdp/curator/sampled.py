"""How far a sum of a secret sample may be off: sampling error and noise together, for the worst values there may be.

Everything is in units of the sample's own total, before it is divided by the rate p. With y_u what unit u adds to
a cell and B_u its coin, the sampling error is E = sum of (B_u - p) y_u. Whatever the signs of the y_u, if |y_u| <= C
and the |y_u| add up to at most n C, then

    P(E >= s) <= exp(-n KL(q + s / (n C) || q)),   q = min(p, 1 - p)

and the bound rises with n (docs/theory/sampling.md). Reads no data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from brdp.noise.base import Floats, Noise

BINS = 2000
# a share by which every tail is rounded up, and every distance down
UP, DOWN = 1 + 1e-9, 1 - 1e-9
HALVINGS = 60


@final
@dataclass(frozen=True, slots=True)
class Sampled:
    """The worst sampling error of a cell.

    `largest` is C, the most that one unit adds, and `sum_of_all` is n C, the most that all of them add.
    """

    rate: float
    largest: float
    sum_of_all: float

    @classmethod
    def of(cls, *, rate: Fraction, rows: Fraction, row: Fraction, rows_per_unit: int) -> Sampled:
        """For so many rows in a cell, each adding at most `row`, and so many of them of one unit."""
        return cls(float(rate), float(row * rows_per_unit) * UP, float(row * rows) * UP)

    def tail(self, off: Floats) -> Floats:
        """Upper bound of P(E >= off), and so of P(E <= -off); 1 where `off` is not above 0."""
        q = min(self.rate, 1 - self.rate)
        share = np.asarray(off, dtype=np.float64) * DOWN / self.sum_of_all
        x = np.clip(share, 0.0, (1 - q) * (1 - 1e-15))
        divergence = (q + x) * np.log1p(x / q) + (1 - q - x) * np.log1p(-x / (1 - q))
        bound = np.exp(-np.maximum(divergence, 0.0) * (self.sum_of_all / self.largest)) * UP
        return np.where(share > 1 - q, 0.0, np.minimum(bound, 1.0))

    def quantile(self, chance: float) -> float:
        """A distance that E reaches on either side with at most this chance."""
        low, high = 0.0, self.sum_of_all
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if float(self.tail(np.array(middle))) <= chance:
                high = middle
            else:
                low = middle
        return high

    def missed(self, noise: Noise, *, step: float, within: float) -> float:
        """Upper bound of P(|E + step Z| > within), Z being integer noise whose law is even.

        Given Z = z, each side is missed with at most its own tail: sums over runs of z take the end of the run
        that is nearest to the bound.
        """
        if within <= 0:
            return 1.0
        most = math.floor(within * DOWN / step)
        edges = np.unique(np.linspace(0, most, min(most, BINS) + 1).astype(np.int64)).astype(float)
        starts = np.append([0.0], edges[:-1] + 1)
        weights = np.exp(noise.log_mass(starts, edges))
        near, far = within - edges * step, within + starts * step
        each = np.minimum(self.tail(near) + self.tail(far), 1.0)
        # 0 is counted once, everything else for both signs
        total = weights[0] * each[0] + 2 * float(np.dot(weights[1:], each[1:]))
        beyond = 2 * float(np.exp(noise.log_mass(float(most + 1), math.inf)))
        return float(min(1.0, (total + beyond) * UP))
