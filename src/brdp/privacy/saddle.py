"""Where to put the tilt: the saddle point of delta's integral, found on a grid.

Nothing here is certified and nothing needs to be: any tilt gives true bounds, a good one narrow ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from brdp.noise.base import Floats
from brdp.privacy.loss import LossLaw

TILTS = np.geomspace(1e-4, 1e6, 151)
# Where the variance grows by this factor within two steps the grid is refined, with so many points.
ROUGH, FINER = 3.0, 26


@final
@dataclass(frozen=True, slots=True, eq=False)
class Saddles:
    """The cumulants of the summed loss at every tilt of the grid."""

    tilts: Floats
    cumulant: Floats
    mean: Floats
    variance: Floats
    # the epsilon whose saddle point each tilt is, and delta there
    epsilons: Floats
    log_deltas: Floats

    @classmethod
    def of(cls, parts: Sequence[tuple[Sequence[LossLaw], int]]) -> Saddles:
        return cls.from_cumulant(TILTS, cumulant_of(parts, TILTS))

    @classmethod
    def from_cumulant(cls, tilts: Floats, cumulant: Floats) -> Saddles:
        # far out some moments are beyond floating point
        known = np.isfinite(cumulant)
        tilts, cumulant = tilts[known], cumulant[known]
        mean = np.gradient(cumulant, tilts)
        variance = np.maximum(np.gradient(mean, tilts), 1e-300)
        epsilons = mean - 1 / tilts - 1 / (1 + tilts)
        log_deltas = cumulant - tilts * epsilons - np.log(tilts * (tilts + 1))
        bend = variance + tilts**-2.0 + (1 + tilts) ** -2.0
        log_deltas = log_deltas - 0.5 * np.log(2 * math.pi * bend)
        return cls(tilts, cumulant, mean, variance, epsilons, np.minimum.accumulate(log_deltas))

    def rough(self, tilt: float) -> bool:
        """Whether the tilted law changes much between this tilt's neighbours on the grid."""
        i = int(np.clip(np.searchsorted(self.tilts, tilt), 1, len(self.tilts) - 2))
        near = self.variance[i - 1 : i + 2]
        return float(near.max()) > ROUGH * float(near.min())

    def between(self, tilt: float) -> Floats:
        """A finer grid around a tilt."""
        i = int(np.clip(np.searchsorted(self.tilts, tilt), 1, len(self.tilts) - 2))
        return np.geomspace(self.tilts[max(i - 2, 0)], self.tilts[i + 1], FINER)[1:-1]

    def with_points(self, tilts: Floats, cumulant: Floats) -> Saddles:
        """The same with more points of the grid."""
        # without the old ones among them: differences need even distances
        kept = (self.tilts < tilts[0]) | (self.tilts > tilts[-1])
        every = np.concatenate([self.tilts[kept], tilts])
        order = np.argsort(every)
        values = np.concatenate([self.cumulant[kept], cumulant])
        return Saddles.from_cumulant(every[order], values[order])

    def for_delta(self, log_delta: float) -> tuple[float, float]:
        """(tilt, epsilon) near the point of the curve where delta is this."""
        position = float(
            np.interp(-log_delta, -self.log_deltas, np.arange(len(self.tilts), dtype=float))
        )
        tilt = math.exp(self._at(np.log(self.tilts), position))
        return tilt, max(0.0, self._at(self.epsilons, position))

    def for_epsilon(self, epsilon: float, *, enough: float = -math.inf) -> float:
        """The tilt for this epsilon, or the least one that shows that log delta is below `enough`."""
        exponent = self.cumulant - self.tilts * epsilon - np.log(self.tilts * (1 + self.tilts))
        below = np.flatnonzero(exponent < enough)
        return float(self.tilts[below[0] if len(below) else int(np.argmin(exponent))])

    def log_delta(self, tilt: float) -> float:
        """About log delta at the epsilon whose saddle point this tilt is."""
        return float(np.interp(math.log(tilt), np.log(self.tilts), self.log_deltas))

    def variance_at(self, tilt: float) -> float:
        """About the variance of the tilted sum."""
        return float(np.interp(math.log(tilt), np.log(self.tilts), self.variance))

    def window(self, tilt: float, *, decay: float) -> tuple[float, float]:
        """Losses outside of which the tilted sum has less than about exp(-decay)."""
        at = math.log(tilt)
        logs = np.log(self.tilts)
        cumulant, mean, variance = (
            float(np.interp(at, logs, y)) for y in (self.cumulant, self.mean, self.variance)
        )
        cumulant = self._cumulant(tilt)
        above, below = self.tilts > 1.02 * tilt, self.tilts < 0.98 * tilt
        normal = math.sqrt(2 * decay * variance)
        high = (self.cumulant - cumulant + decay)[above] / (self.tilts - tilt)[above]
        low = (cumulant - self.cumulant - decay)[below] / (tilt - self.tilts)[below]
        return (
            float(low.max(initial=mean - 1.3 * normal)),
            max(float(high.min(initial=math.inf)), mean) if len(high) else mean + 2 * normal,
        )

    def _cumulant(self, tilt: float) -> float:
        """Interpolated by the tangent parabola of the nearest tilt."""
        i = int(np.argmin(np.abs(np.log(self.tilts) - math.log(tilt))))
        away = tilt - self.tilts[i]
        return float(self.cumulant[i] + away * self.mean[i] + 0.5 * away**2 * self.variance[i])

    def _at(self, values: Floats, position: float) -> float:
        return float(np.interp(position, np.arange(len(values), dtype=float), values))


def cumulant_of(parts: Sequence[tuple[Sequence[LossLaw], int]], tilts: Floats) -> Floats:
    """log of the product of all moments; the largest of those laws of which any may be the worst."""
    total = np.zeros(len(tilts))
    for laws, count in parts:
        total += count * np.maximum.reduce([law.log_moments(tilts) for law in laws])
    return total
