"""Composition by the inversion integral: delta as a sum over nodes on a line in the complex plane.

    delta(epsilon) = (1 / 2 pi i) * integral of prod M_i(s)^T_i exp(-s epsilon) / (s (s + 1)) ds

over Re s = tilt > 0. The trapezoid rule with step 2 pi / period is the truth plus aliases that are all
positive and bounded by Chernoff; what lies past the last node is bounded by a majorant of |M|. Nothing
depends on the counts but exponents, so a million releases cost what ten do. Proofs:
docs/theory/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from brdp.noise.base import Floats
from brdp.privacy.majorant import lively_nodes
from brdp.privacy.transform import UNIT, Complexes, Transform

# (transforms of laws of one kind, their counts)
Batch = tuple[Transform, Floats]

MOST_CELLS = 1 << 21
# Where the nodes may end, relative to where they could for a normal law.
NORMAL = np.array([0.9, 1.0, 1.1, 1.25, 1.5])
FURTHER = np.geomspace(1.8, 1e5, 60)
# Where Chernoff's bounds of the aliases are tried, relative to the tilt.
BELOW = (0.02, 0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.9, 0.96)
ABOVE = (1.04, 1.1, 1.17, 1.25, 1.4, 1.6, 1.9, 2.4, 3.2, 5.0, 10.0)
NEAR = np.array((*BELOW, *ABOVE))
NEARER = np.array((0.4, 0.7, 0.9, 1.1, 1.25, 1.6, 2.4))


@final
@dataclass(frozen=True, slots=True, eq=False)
class ContourSum:
    """Nodes, their weights, and what bounds the errors of their sum."""

    tilt: float
    period: float
    # log of the product of moments at the tilt, and the error of that log
    log_scale: float
    scale_error: float
    frequencies: Floats
    # product of moments relative to the tilt's, over s (s + 1); the first one halved
    weights: Complexes
    errors: Floats
    # log of the bound on what lies past the last node, relative to the scale
    log_beyond: float
    # Chernoff's bounds: log k + log of the product of moments, at tilts below and above
    tilts: Floats
    log_bounds: Floats
    # P(some release has an infinite loss), with and without what was cut off
    infinite: float
    infinite_least: float
    # variance of the normal loss that was added, and the log of what its density lacks past the nodes
    smoothing: float
    log_density_beyond: float

    def log_upper(self, epsilon: float) -> float:
        """Upper bound of log delta(epsilon): aliases only add."""
        value, wrong = self._sum(epsilon)
        log = self._log(value + wrong, epsilon, self.scale_error + 1e-15)
        # what could not be computed promises nothing
        return log if log <= 0 else 0.0

    def log_lower(self, epsilon: float) -> float:
        """Lower bound of log delta(epsilon)."""
        value, wrong = self._sum(epsilon)
        excess = self.smoothing * math.exp(self.smoothing / 8) * self._density(epsilon)
        value -= wrong + self._aliases(epsilon) + excess
        log = self._log(value, epsilon, -self.scale_error - 1e-15)
        return log if log <= 0 else -math.inf

    def _log(self, value: float, epsilon: float, slack: float) -> float:
        finite = -math.inf if value <= 0 else math.nan
        if value > 0:
            finite = math.log(value) + self.log_scale - self.tilt * epsilon + slack
            finite += math.copysign(4 * UNIT * (abs(self.log_scale) + self.tilt * epsilon), slack)
        share = self.infinite if slack > 0 else self.infinite_least
        infinite = math.log(share) + math.copysign(1e-13, slack) if share > 0 else -math.inf
        return float(np.logaddexp(finite, infinite))

    def _sum(self, epsilon: float) -> tuple[float, float]:
        """The trapezoid sum relative to exp(log_scale - tilt * epsilon), and its error but aliases."""
        value, wrong = self._weighted(self.weights, epsilon)
        return value, wrong + _exp(self.log_beyond)

    def _density(self, epsilon: float) -> float:
        """Upper bound of the density of the smoothed sum at epsilon, relative to the same."""
        if self.smoothing == 0:
            return 0.0
        s = self.tilt + 1j * self.frequencies
        value, wrong = self._weighted(self.weights * s * (s + 1), epsilon)
        return max(0.0, value) + wrong + _exp(self.log_density_beyond)

    def _weighted(self, weights: Complexes, epsilon: float) -> tuple[float, float]:
        angle = self.frequencies * epsilon
        terms = weights.real * np.cos(angle) + weights.imag * np.sin(angle)
        size = np.abs(weights)
        wrong = float(self.errors @ size) + 4 * UNIT * float(size @ (12.0 + np.abs(angle)))
        share = 2 / self.period
        return share * float(terms.sum()), share * wrong

    def _aliases(self, epsilon: float) -> float:
        """Upper bound of all aliases, relative to exp(log_scale - tilt * epsilon)."""
        away = self.tilts - self.tilt
        logs = self.log_bounds - self.log_scale - away * epsilon
        # a geometric series of ratio exp(-|away| period)
        series = logs - np.abs(away) * self.period - np.log(-np.expm1(-np.abs(away) * self.period))
        above, below = series[away > 0], series[away < 0]
        # delta is at most 1: the series of exp(-tilt * period)
        sure = self.tilt * (epsilon - self.period) - self.log_scale
        sure -= math.log(-math.expm1(-self.tilt * self.period))
        return _exp(float(above.min(initial=math.inf))) + _exp(float(below.min(initial=sure)))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Where the nodes of a contour lie, and how accurate their sum has to be."""

    tilt: float
    period: float
    # log of the product of moments at the tilt, and its error
    log_scale: float
    scale_error: float
    # log of what may be neglected, relative to exp(log_scale - tilt * epsilon)
    floor: float
    # Chernoff's bounds: log k + log of the product of moments, at tilts below and above
    tilts: Floats
    log_bounds: Floats
    # logs of the probability that no loss is infinite, at least and at most
    log_finite: tuple[float, float]
    smoothing: float

    def sum_of(
        self,
        frequencies: Floats,
        weights: Complexes,
        errors: Floats,
        *,
        log_beyond: float,
        log_density_beyond: float,
    ) -> ContourSum:
        """The sum over these nodes."""
        return ContourSum(
            tilt=self.tilt,
            period=self.period,
            log_scale=self.log_scale,
            scale_error=self.scale_error,
            frequencies=frequencies,
            weights=weights,
            errors=errors,
            log_beyond=log_beyond,
            tilts=self.tilts,
            log_bounds=self.log_bounds,
            infinite=-math.expm1(self.log_finite[0]),
            infinite_least=-math.expm1(self.log_finite[1]),
            smoothing=self.smoothing,
            log_density_beyond=log_density_beyond,
        )


def framed(
    batches: Sequence[Batch],
    *,
    tilt: float,
    epsilon: float,
    log_delta: float,
    log_finite: tuple[float, float],
    tolerance: float,
    smoothing: float = 0.0,
) -> Frame | None:
    """The frame for delta near epsilon; None where the moments are not known."""
    tilts = tilt * NEAR
    log_bounds, bound_error = product(batches, tilts.astype(np.complex128), smoothing)
    if not np.isfinite(log_bounds + bound_error).any():
        # what one order needs may be too much for all of them
        tilts = tilt * NEARER
        each = [product(batches, one, smoothing) for one in tilts.astype(np.complex128)[:, None]]
        log_bounds, bound_error = (np.concatenate(x) for x in zip(*each, strict=True))
    k = tilts * np.log(tilts / (1 + tilts)) - np.log1p(tilts)
    bounds = log_bounds.real + bound_error + k
    log_scale, scale_error = (
        float(x.real[0]) for x in product(batches, np.array([tilt], dtype=np.complex128), smoothing)
    )
    if not math.isfinite(log_scale + scale_error):
        return None
    finite = np.isfinite(bounds)
    tilts, bounds = tilts[finite], bounds[finite]
    # what delta is, in units of exp(log_scale - tilt * epsilon)
    floor = log_delta - log_scale + tilt * epsilon - tolerance
    period = _period(tilts, bounds, tilt, epsilon, log_scale, floor)
    if not math.isfinite(period):
        return None
    return Frame(tilt, period, log_scale, scale_error, floor, tilts, bounds, log_finite, smoothing)


def contour(
    batches: Sequence[Batch], frame: Frame, *, variance: float, most_nodes: int
) -> ContourSum | None:
    """Lay the nodes for delta near the frame's epsilon; None where they would be too many.

    With smoothing a normal loss of that variance is added: the integral then ends however little the
    moments fade, and what it adds to delta is bounded (log_lower).
    """
    tilt, smoothing = frame.tilt, frame.smoothing
    step = 2 * math.pi / frame.period
    rows = sum(len(counts) for _, counts in batches)
    most_nodes = min(most_nodes, MOST_CELLS // rows)
    log_density_beyond = -math.inf
    if smoothing == 0:
        found = _last_frequency(
            batches,
            tilt=tilt,
            floor=frame.floor,
            variance=variance,
            step=step,
            most_nodes=most_nodes,
        )
        if found is None:
            return None
        last, log_beyond = found
        count = max(8, math.ceil(last / step))
        if count >= most_nodes:
            return None
        nodes = np.arange(count + 1)
    else:
        lively = lively_nodes(batches, tilt=tilt, step=step, floor=frame.floor, smoothing=smoothing)
        if lively is None:
            return None
        nodes, log_beyond, log_density_beyond = lively
    if len(nodes) > most_nodes:
        return None
    frequencies = step * nodes.astype(np.float64)
    s = np.asarray(tilt + 1j * frequencies, dtype=np.complex128)
    logs, errors = product(batches, s, smoothing)
    weights = np.asarray(np.exp(logs - frame.log_scale) / (s * (s + 1)), dtype=np.complex128)
    weights[0] *= 0.5
    errors = np.where(weights == 0, 0.0, errors)
    # where a moment is not known nothing is
    if not (np.isfinite(weights).all() and np.all(errors < 1)):
        return None
    return frame.sum_of(
        frequencies,
        weights,
        np.expm1(errors),
        log_beyond=log_beyond,
        log_density_beyond=log_density_beyond,
    )


def product(
    batches: Sequence[Batch], s: Complexes, smoothing: float = 0.0
) -> tuple[Complexes, Floats]:
    """log of the product of all moments to their counts, and its absolute error."""
    logs = np.asarray(0.5 * smoothing * s * (s + 1), dtype=np.complex128)
    errors = 8 * UNIT * np.abs(logs)
    for transform, counts in batches:
        values, wrong = transform.log_moments(s[None])
        # the imaginary part is defined up to whole turns, which whole counts keep; a moment that is 0 has no
        # log: what comes of it is not a number, of infinite error, and nothing is then promised
        with np.errstate(invalid="ignore"):
            logs += (counts[:, None] * values).sum(axis=0)
        bends = np.abs(values.real) + np.abs(values.imag)
        errors += (counts[:, None] * (wrong + (4 + len(counts)) * UNIT * bends)).sum(axis=0)
    return logs, errors


def _period(
    tilts: Floats, bounds: Floats, tilt: float, epsilon: float, log_scale: float, floor: float
) -> float:
    """The least period whose aliases stay below exp(floor)."""
    away = tilts - tilt
    logs = bounds - log_scale - away * epsilon
    needed = (logs - floor + 0.7) / np.abs(away)
    above = float(needed[away > 0].min(initial=math.inf))
    sure = (tilt * epsilon - log_scale - floor + 0.7) / tilt
    below = float(needed[away < 0].min(initial=sure))
    return max(above, below, 1.0 / tilt, 1e-9)


def _last_frequency(
    batches: Sequence[Batch],
    *,
    tilt: float,
    floor: float,
    variance: float,
    step: float,
    most_nodes: int,
) -> tuple[float, float] | None:
    """Where the majorant has fallen far enough to stop, and the log of the bound on the rest."""
    majorants = [(transform.fading(counts, tilt), counts) for transform, counts in batches]
    # what a normal law of that variance needs, and then further and further out
    normal = math.sqrt(2 * max(1.0, -floor) / variance)
    for candidates in (normal * NORMAL, normal * FURTHER):
        if candidates[0] > most_nodes * step:
            return None
        ends = np.maximum(candidates, 4 * step)
        beyond = -np.log(math.pi * ends)
        for majorant, counts in majorants:
            beyond = beyond + counts @ np.log(majorant.suprema(ends))
        enough = np.flatnonzero(beyond <= floor)
        if len(enough):
            return float(ends[enough[0]]), float(beyond[enough[0]])
    return None


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf
