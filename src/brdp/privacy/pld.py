"""Privacy losses on a lattice: 'connect the dots', an upper bound of every curve above it.

A cell of losses [u, u + step] in which P has mass p and Q has mass q is split between its two ends so
that both masses are kept. In exp(epsilon) the curve of the split is the chord of the exact curve, which
is convex: it lies above, and composition preserves that. Proofs: docs/theory/composition.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from brdp.noise.base import Floats
from brdp.privacy.loss import LossLaw

# Two curves this close count as equal where the larger is taken; the larger one is inflated by it.
TIE = 1e-12
# Masses below exp(LIGHTEST) count as lost, so floors of mass must stay above it.
LIGHTEST = -680.0


@final
@dataclass(frozen=True, slots=True, eq=False)
class LatticeLoss:
    """Masses of P on the losses offset + step * (first + k), an upper bound of a law of losses."""

    step: float
    offset: float
    first: int
    log_masses: Floats
    # the mass that Q never shows, and the part of it that the law itself has (the rest is rounding up)
    log_infinite: float
    log_infinite_least: float
    # what the split may add to delta where the rest of the composition puts the kink of the payoff
    # into the cell above each lattice point
    errors: Floats
    # the largest share that any cell moves by a whole step
    share: float
    # relative error of the masses and absolute error of the losses by rounding
    rounding: float

    @property
    def losses(self) -> Floats:
        places = self.first + np.arange(len(self.log_masses), dtype=np.float64)
        return self.offset + self.step * places


def connect(law: LossLaw, *, step: float, offset: float, log_floor: float) -> LatticeLoss:
    """Split the law's cells between lattice points; what lies beyond its support counts as lost."""
    losses, log_masses = law.atoms
    low, high = law.support(log_floor)
    spread = low <= high
    least = min(low, losses.min(initial=math.inf))
    most = max(high, losses.max(initial=-math.inf))
    if not least <= most:
        nothing = np.full(2, -np.inf)
        return LatticeLoss(
            step,
            offset,
            0,
            nothing,
            law.log_infinite,
            law.log_infinite_least,
            np.zeros(2),
            0.0,
            law.mass_error(log_floor),
        )
    # one more cell on either side, lest rounding put a loss outside
    first = math.floor((least - offset) / step) - 1
    cells = math.floor((most - offset) / step) + 2 - first
    edges = offset + step * (first + np.arange(cells + 1))
    up, down, errors = np.zeros((3, cells + 1))
    share = 0.0
    log_infinite = law.log_infinite
    if spread or (log_masses < LIGHTEST).any():
        # beyond the support, and what is too light to be a float
        log_infinite = float(np.logaddexp(log_infinite, log_floor))
    if spread:
        log_p, log_q = law.cells(edges, np.full(cells, step))
        with np.errstate(invalid="ignore"):  # an empty cell has no mean
            fraction = _fraction(edges[:-1] + log_q - log_p, step)
        p = np.exp(log_p)
        down[:-1] += p * (1 - fraction)
        up[1:] += p * fraction
        errors[:-1] += p * fraction * (1 - fraction) * math.expm1(step)
        share = 0.5
    if len(losses):
        cell = np.clip(np.floor((losses - offset) / step).astype(np.int64) - first, 0, cells - 1)
        fraction = _fraction(edges[cell] - losses, step)
        p = np.exp(log_masses)
        down += np.bincount(cell, p * (1 - fraction), cells + 1)
        up += np.bincount(cell + 1, p * fraction, cells + 1)
        errors += np.bincount(cell, p * fraction * (1 - fraction) * math.expm1(step), cells + 1)
        share = max(share, float(np.minimum(fraction, 1 - fraction).max()))
    with np.errstate(divide="ignore"):
        return LatticeLoss(
            step,
            offset,
            first,
            np.log(up + down),
            log_infinite,
            law.log_infinite_least,
            errors,
            share,
            law.mass_error(log_floor),
        )


def _fraction(minus_height: Floats, step: float) -> Floats:
    """Which share of a cell's mass goes to its upper end: the mean loss lies -minus_height above."""
    with np.errstate(invalid="ignore", over="ignore"):
        fraction = np.expm1(minus_height) / math.expm1(-step)
    return np.clip(np.where(np.isnan(fraction), 0.0, fraction), 0.0, 1.0)


def larger(one: LatticeLoss, other: LatticeLoss) -> LatticeLoss:
    """The law whose curve is the pointwise larger one, on the same lattice.

    Where one curve is above at three points running, the mass at the middle one is its own; where the
    lead changes, the mass is a second difference of the larger curve, rounded up.
    """
    # two empty cells on either side: the lead does not change there
    first = min(one.first, other.first) - 2
    size = max(x.first + len(x.log_masses) for x in (one, other)) + 2 - first
    step = one.step
    # the sums of a curve are of positive terms, one after the other
    wrong = 8 * float(np.finfo(float).eps) + 2 * size * float(np.finfo(np.longdouble).eps)
    tie = TIE + 2 * wrong
    masses, curves = np.zeros((2, size)), np.empty((2, size), dtype=np.longdouble)
    log_infinite = max(one.log_infinite, other.log_infinite)
    for row, law in enumerate((one, other)):
        start = law.first - first
        masses[row, start : start + len(law.log_masses)] = np.exp(law.log_masses)
        curves[row] = _curve(masses[row], math.exp(law.log_infinite), step)
    best = curves.max(axis=0)
    # where they are close the lead stays with who has it, from the top down
    apart = (np.abs(curves[1] - curves[0]) > tie * best)[::-1]
    holder = np.maximum.accumulate(np.where(apart, np.arange(size), -1))
    leads = one.log_infinite < other.log_infinite
    winner = np.where(holder >= 0, (curves[1] > curves[0])[::-1][holder], leads)[::-1].astype(int)
    winner[:2] = winner[2]
    mass = masses[winner, np.arange(size)]
    changes = np.flatnonzero(np.diff(winner))
    for at in np.unique(np.concatenate([changes, changes + 1])):
        # second difference in exp(epsilon)
        before = (best[at - 1] - best[at]) / -math.expm1(-step)
        after = (best[at] - best[at + 1]) / math.expm1(step)
        slack = 4 * wrong * best[at - 1] / -math.expm1(-step)
        mass[at] = float(max(before - after, 0.0) + slack)
    with np.errstate(divide="ignore"):
        log_masses = np.log(mass)
    return LatticeLoss(
        step,
        one.offset,
        first,
        log_masses,
        log_infinite,
        max(one.log_infinite_least, other.log_infinite_least),
        np.zeros(size),
        max(one.share, other.share),
        max(one.rounding, other.rounding) + 2 * tie,
    )


def _curve(masses: Floats, infinite: float, step: float) -> NDArray[np.longdouble]:
    """delta at each lattice point, by sums of positive terms.

    delta(u) = exp(-step) delta(u + step) + (1 - exp(-step)) P(loss > u), scaled by exp(-u).
    """
    extended = masses.astype(np.longdouble)
    tails = np.append(np.cumsum(extended[:0:-1])[::-1], np.longdouble(0.0)) + infinite
    size = len(masses)
    # in blocks, so that exp(-u) stays in range
    curve = np.empty(size, dtype=np.longdouble)
    after = np.longdouble(infinite)
    block = max(1, int(500 / step))
    for end in range(size, 0, -block):
        start = max(0, end - block)
        distance = step * np.arange(end - start)
        terms = tails[start:end] * np.exp(-distance) * -math.expm1(-step)
        sums = np.cumsum(terms[::-1])[::-1] + after * math.exp(-step * (end - start))
        curve[start:end] = sums * np.exp(distance)
        after = curve[start]
    return curve
