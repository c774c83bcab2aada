"""How far |M(tilt + i t)| must have fallen from t on: what cuts the inversion integral off.

Proofs: docs/theory/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, final

import numpy as np
from numpy.typing import NDArray

from brdp.noise.base import Floats

if TYPE_CHECKING:
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
# Nodes of a smoothed sum are looked at in so many intervals at first, down to so few nodes each.
MOST_INTERVALS, NARROWEST = 1 << 16, 16


class Fading(Protocol):
    """Upper bounds of |M(tilt + i t)| / M(tilt), for several laws at once."""

    def suprema(self, frequency: Floats) -> Floats:
        """Bounds for all t from each of these frequencies on, one row a law."""
        ...


@final
class Majorant:
    """Upper bounds of |M(tilt + i t)| / M(tilt) for all t from a frequency on, one row a law.

    Far out each law has a falling bound in closed form. Before that stands a grid, bridged by the curvature
    of |M|^2; near 0, where many releases need it close to 1, a bound by moments of real order.
    """

    __slots__ = (
        "after",
        "drop_near",
        "log_scale",
        "near",
        "points",
        "slack",
        "tilt",
        "transform",
        "variance",
    )

    def __init__(self, transform: Transform, counts: Floats, tilt: float) -> None:
        self.transform, self.tilt = transform, tilt
        # so low that the releases of this law alone suffice to end the integral
        enough = np.exp(-SUFFICIENT / counts)[:, None]
        centre, error = transform.log_moments(np.full((1, 1), tilt, dtype=np.complex128))
        self.log_scale = centre.real
        self.slack = 8 * error + 1e-13 * (1 + np.abs(centre.real))
        self.variance = variance = self._variance()
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
        growth, error = self._growth(rate)
        for _ in range(60):
            large = ~(growth < 0.1)
            if not large.any():
                break
            rate = np.where(large, 0.4 * rate, rate)
            growth, error = self._growth(rate)
        return np.maximum((growth + error) / rate**2, 1e-300)

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
        squares = self.squares(self.points)
        bridged = np.maximum(squares[:, 1:], squares[:, :-1])
        with np.errstate(invalid="ignore"):  # no bridge where the variance is not known
            bridged = bridged + np.diff(self.points, axis=1) ** 2 * variance / 4
        bridged = np.fmin(bridged, tails[:, :end] ** 2)
        rest = tails[:, end : end + 1] ** 2
        falling = np.concatenate([rest, bridged[:, ::-1]], axis=1)
        # suprema of |M|^2 from each grid point on
        self.after = np.maximum.accumulate(falling, axis=1)[:, ::-1]

    def squares(self, points: Floats) -> Floats:
        """Upper bounds of |M|^2 / M(tilt)^2 at single frequencies: one row, or one a law."""
        logs, errors = self.transform.log_moments(
            np.asarray(self.tilt + 1j * points, dtype=np.complex128)
        )
        with np.errstate(invalid="ignore", over="ignore"):
            squares = np.exp(2 * (logs.real - self.log_scale + errors + self.slack))
        return np.where(np.isnan(squares), 1.0, squares)

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

    def _growth(self, rates: Floats) -> tuple[Floats, Floats]:
        """E[cosh(rate Y)] - 1 for the difference Y of two independent tilted losses, and its error."""
        both = np.concatenate([self.tilt + rates, self.tilt - rates], axis=1)
        values, errors = self.transform.log_moments(both.astype(np.complex128))
        logs, half = values.real, rates.shape[1]
        wrong = errors[:, :half] + errors[:, half:] + self.slack
        with np.errstate(over="ignore", invalid="ignore"):
            growth = np.expm1(logs[:, :half] + logs[:, half:] - 2 * self.log_scale)
            return growth, (1 + growth) * np.expm1(wrong)

    def _drop(self, t: Floats) -> Floats:
        """Lower bounds of 1 - |M(tilt + i t) / M(tilt)|^2."""
        # where a growth overflows the bound is minus infinity, which says nothing and is true
        with np.errstate(invalid="ignore", over="ignore"):
            half, half_error = self._growth(0.5 * t)
            whole, whole_error = self._growth(t)
            drop = FIRST * (half - half_error) - SECOND * (whole + whole_error)
        return np.where(np.isnan(drop), 0.0, drop)


def lively_nodes(
    batches: Sequence[tuple[Transform, Floats]],
    *,
    tilt: float,
    step: float,
    floor: float,
    smoothing: float,
) -> tuple[NDArray[np.int64], float, float] | None:
    """The nodes that matter for a smoothed sum, and logs of what all others add at most.

    First the others' shares of delta, then of the density. An interval of nodes is quiet where the moduli at
    its ends and their curvature leave less than exp(floor); others are halved. Relative to the
    product of moments at the tilt.
    """
    end = math.sqrt(2 * max(1.0, 14 - floor) / smoothing)
    log_beyond = -0.5 * smoothing * end**2 - math.log(math.pi * end)
    log_density = -0.5 * smoothing * end**2 - math.log(math.pi * smoothing * end)
    majorants = [(Majorant(transform, counts, tilt), counts) for transform, counts in batches]
    widest = max(float(majorant.variance.max()) for majorant, _ in majorants)
    width = 1 << max(4, math.floor(math.log2(max(1.0, 0.5 / (math.sqrt(widest) * step)))))
    count = math.ceil(end / step / width) + 1
    if count > MOST_INTERVALS:
        return None

    def squares(nodes: NDArray[np.int64]) -> list[Floats]:
        return [
            majorant.squares(step * nodes[None].astype(np.float64)) for majorant, _ in majorants
        ]

    places = width * np.arange(count + 1)
    known = squares(places)
    left, lows, highs = places[:-1], [x[:, :-1] for x in known], [x[:, 1:] for x in known]
    lively = []
    while len(left):
        logs = -0.5 * smoothing * (step * left) ** 2 + math.log(width * step / math.pi)
        for (majorant, counts), low, high in zip(majorants, lows, highs, strict=True):
            between = np.maximum(low, high) + (width * step) ** 2 * majorant.variance / 4
            logs = logs + 0.5 * counts @ np.log(np.clip(between, 1e-300, 1.0))
        with np.errstate(divide="ignore"):
            shares = np.where(left > 0, logs - 2 * np.log(step * left), np.inf)
        quiet = shares < floor - 10
        log_beyond = float(np.logaddexp.reduce(shares[quiet], initial=log_beyond))
        log_density = float(np.logaddexp.reduce(logs[quiet], initial=log_density))
        left = left[~quiet]
        if width <= NARROWEST:
            lively.append((left[:, None] + np.arange(width)).ravel())
            break
        if len(left) > MOST_INTERVALS:
            return None
        lows, highs = [x[:, ~quiet] for x in lows], [x[:, ~quiet] for x in highs]
        width //= 2
        middles = squares(left + width)
        lows = [np.concatenate(x, axis=1) for x in zip(lows, middles, strict=True)]
        highs = [np.concatenate(x, axis=1) for x in zip(middles, highs, strict=True)]
        left = np.concatenate([left, left + width])
    nodes = np.sort(np.concatenate([*lively, np.zeros(0, dtype=np.int64)]))
    return nodes, log_beyond, log_density
