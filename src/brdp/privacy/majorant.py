"""How far |M(tilt + i t)| must have fallen from t on: what cuts the inversion integral off.

Proofs: docs/theory/composition.md.
"""

from __future__ import annotations

import numpy as np

from brdp.noise.base import Floats
from brdp.privacy.transform import Transform

# 1 - cos y >= FIRST (cosh(y/2) - 1) - SECOND (cosh y - 1) for every real y: the series agree up to y^2,
# the right one's y^4 term is that of the left one, and all its later terms are negative.
FIRST, SECOND = 32.0 / 3.0, 5.0 / 3.0
# Grid points: a quarter further each, then a share of the inverse deviation, then an eighth further.
QUARTER, EIGHTH = 0.25, 0.12
SPACING, EVEN, POINTS = 0.4, 56, 150
# The tails of closed form are followed until this share of their way down is left.
LEFT = 0.1
# Far below any delta, in logs.
SUFFICIENT = 120.0


class Majorant:
    """Upper bounds of |M(tilt + i t)| / M(tilt) for all t from a frequency on, one row a law.

    Far out each law has a falling bound in closed form. Before that stands a grid, bridged by the curvature
    of |M|^2; near 0, where many releases need it close to 1, a bound by moments of real order.
    """

    __slots__ = ("after", "drop_near", "log_scale", "near", "points", "slack", "tilt", "transform")

    def __init__(self, transform: Transform, counts: Floats, tilt: float) -> None:
        self.transform, self.tilt = transform, tilt
        # so low that the releases of this law alone suffice to end the integral
        enough = np.exp(-SUFFICIENT / counts)[:, None]
        centre, error = transform.log_moments(np.full((1, 1), tilt, dtype=np.complex128))
        self.log_scale = centre.real
        self.slack = 8 * error + 1e-13 * (1 + np.abs(centre.real))
        variance = self._variance()
        deviation = np.sqrt(variance)
        # real orders down to tilt - near must exist: all do that are above -1/2
        self.near = np.minimum(0.75 / deviation, tilt + 0.4)
        for _ in range(60):
            # past its top the bound is of no use: laws with heavy tails allow less
            large = ~(self._drop(self.near) > self._drop(0.8 * self.near))
            if not large.any():
                break
            self.near = np.where(large, 0.8 * self.near, self.near)
        self.drop_near = self._drop(self.near)
        self._lay_grid(variance, enough)

    def _variance(self) -> Floats:
        """Upper bounds of the variance of the tilted losses, by growth(r) / r^2 for a small r."""
        rate = np.full_like(self.log_scale, 0.05 * (self.tilt + 0.4))
        growth = self._growth(rate)
        for _ in range(60):
            large = ~(growth < 0.1)
            if not large.any():
                break
            rate = np.where(large, 0.4 * rate, rate)
            growth = self._growth(rate)
        return np.maximum((growth + self.slack) / rate**2, 1e-300)

    def _lay_grid(self, variance: Floats, enough: Floats) -> None:
        spacing = SPACING / np.sqrt(variance)
        columns = [self.near]
        for place in range(POINTS):
            last = columns[-1]
            stride = np.minimum(QUARTER * last, spacing) if place < EVEN else EIGHTH * last
            columns.append(last + stride)
        points = np.concatenate(columns, axis=1)
        tails = np.minimum(1.0, self.transform.tails(self.tilt, points))
        settled = tails <= np.maximum(tails[:, -1:] + LEFT * (1 - tails[:, -1:]), enough)
        # as far as the slowest of these laws needs; wide gaps are bridged by the tails alone
        end = max(1, int(np.max(np.argmax(settled, axis=1))))
        self.points = points[:, : end + 1]
        logs, errors = self.transform.log_moments(self.tilt + 1j * self.points)
        with np.errstate(invalid="ignore", over="ignore"):
            squares = np.exp(2 * (logs.real - self.log_scale + errors + self.slack))
        squares = np.where(np.isnan(squares), 1.0, squares)
        bridged = np.maximum(squares[:, 1:], squares[:, :-1])
        bridged = bridged + np.diff(self.points, axis=1) ** 2 * variance / 4
        bridged = np.minimum(bridged, tails[:, :end] ** 2)
        rest = tails[:, end : end + 1] ** 2
        falling = np.concatenate([rest, bridged[:, ::-1]], axis=1)
        # suprema of |M|^2 from each grid point on
        self.after = np.maximum.accumulate(falling, axis=1)[:, ::-1]

    def suprema(self, frequency: Floats) -> Floats:
        """Bounds for every frequency (a row of them), one row a law."""
        t = np.broadcast_to(frequency, (len(self.near), len(frequency)))
        squares = np.minimum(1.0, self.transform.tails(self.tilt, t)) ** 2
        for row, points in enumerate(self.points):
            place = np.searchsorted(points, frequency, side="right") - 1
            squares[row] = np.minimum(squares[row], self.after[row, np.maximum(place, 0)])
        inside = t < self.near
        if inside.any():
            # 1 - |M|^2 is bounded by a function that rises and then falls: its least is at an end
            drop = np.minimum(self._drop(np.minimum(t, self.near)), self.drop_near)
            squares = np.where(inside, np.maximum(1 - drop, self.after[:, :1]), squares)
        bounds: Floats = np.sqrt(np.clip(squares, 1e-300, 1.0))
        return bounds

    def _growth(self, rates: Floats) -> Floats:
        """E[cosh(rate Y)] - 1 for the difference Y of two independent tilted losses."""
        both = np.concatenate([self.tilt + rates, self.tilt - rates], axis=1)
        logs = self.transform.log_moments(both.astype(np.complex128))[0].real
        half = rates.shape[1]
        with np.errstate(over="ignore"):
            growth: Floats = np.expm1(logs[:, :half] + logs[:, half:] - 2 * self.log_scale)
        return growth

    def _drop(self, t: Floats) -> Floats:
        """Lower bounds of 1 - |M(tilt + i t) / M(tilt)|^2."""
        with np.errstate(invalid="ignore"):
            drop = FIRST * self._growth(0.5 * t) - SECOND * self._growth(t)
            drop = drop - (FIRST + SECOND) * self.slack
        return np.where(np.isnan(drop), 0.0, drop)
