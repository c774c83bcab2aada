"""Losses of Gaussian and Laplace noise under a recycler: piece by piece, in closed form."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from brdp.noise.base import Floats
from brdp.noise.gaussian import LOG_ROOT_TWO_PI, log_normal_mass
from brdp.noise.laplace import log_laplace_mass
from brdp.privacy import hinge
from brdp.privacy.loss import NOTHING, UNIT, LossLaw
from brdp.privacy.pieces import Pieces

# Gauss-Legendre nodes for cells narrow enough that exp(-x^2/2) barely bends within them: over
# width * (1 + reach) <= 1/2 six nodes are right to 1e-18.
_nodes, _weights = np.polynomial.legendre.leggauss(6)
FEW_NODES = 0.5 * (_nodes + 1.0)
FEW_WEIGHTS = 0.5 * _weights
# How much steeper a tilt may turn out to be, and how light (in logs) losses must then be to be left alone.
AHEAD, AFAR = 1.2, 20.0


class PieceLoss(LossLaw):
    """Noise with density keep * f / total on each piece, against its copy at +shift."""

    __slots__ = ()

    # where both weights are constant, and log of the probability that one round releases
    pieces: Pieces
    log_total: float

    @abc.abstractmethod
    def log_mass(self, low: Floats, high: Floats) -> Floats:
        """log of the kernel's mass over intervals."""

    @abc.abstractmethod
    def log_tilted(self, order: Floats, low: Floats, high: Floats) -> Floats:
        """log of the integral of f(x)^order f(x - shift)^(1 - order)."""

    @final
    def parted_at(self, places: Floats) -> tuple[PieceLoss, PieceLoss]:
        """What each piece that P and Q share has on the right of its place, and on its left."""
        pieces, shared = self.pieces, self.pieces.log_ratio < np.inf
        low, high = np.maximum(pieces.low, places), np.minimum(pieces.high, places)
        return (
            self._within(low, pieces.high, shared & (low < pieces.high)),
            self._within(pieces.low, high, shared & (pieces.low < high)),
        )

    @final
    def _within(self, low: Floats, high: Floats, kept: NDArray[np.bool_]) -> PieceLoss:
        """The same on a part of each piece, where anything of it is kept."""
        pieces = self.pieces
        whole = (low == pieces.low) & (high == pieces.high)
        with np.errstate(invalid="ignore"):
            width = np.where(whole, pieces.width, high - low)
        part = Pieces(
            low[kept],
            high[kept],
            pieces.log_keep[kept],
            pieces.log_keep_shifted[kept],
            width[kept],
        )
        return replace(self, pieces=part)  # type: ignore[type-var]

    @property
    def log_infinite(self) -> float:
        return self.log_infinite_least

    @property
    @final
    def log_infinite_least(self) -> float:
        alone = self.pieces.log_ratio == np.inf
        if not alone.any():
            return -math.inf
        masses = self.log_mass(self.pieces.low[alone], self.pieces.high[alone])
        masses = masses + self.pieces.log_keep[alone]
        return min(0.0, float(np.logaddexp.reduce(masses)) - self.log_total)

    @final
    def log_moments(self, orders: Floats) -> Floats:
        shared = self.pieces.log_ratio < np.inf
        keep, shifted = self.pieces.log_keep[shared], self.pieces.log_keep_shifted[shared]
        order = 1.0 + orders[:, None]
        tilted = self.log_tilted(order, self.pieces.low[shared], self.pieces.high[shared])
        parts = order * keep + (1.0 - order) * shifted + tilted
        sums: Floats = np.logaddexp.reduce(parts, axis=-1)
        return sums - self.log_total


@final
@dataclass(frozen=True, slots=True, eq=False)
class GaussianLoss(PieceLoss):
    """On each piece the loss falls along a line of slope -shift / sigma^2."""

    pieces: Pieces
    log_total: float
    shift: float
    sigma: float
    # log of the mass that was cut off and counts as lost
    log_cut: float = -math.inf

    @property
    def atoms(self) -> tuple[Floats, Floats]:
        return NOTHING, NOTHING

    def mass_error(self, log_floor: float) -> float:
        # an edge is off by a few roundings of the numbers it is the difference of, and the density there
        # changes at a rate of its distance from 0
        reach, step = self._reach(log_floor), self.shift / self.sigma
        ratios = self.pieces.log_ratio
        ratio = float(np.abs(ratios[np.isfinite(ratios)]).max(initial=0.0))
        off = 8 * UNIT * (ratio / step + reach + step)
        return 1e-14 + 8 * UNIT * abs(log_floor) + (reach + step) * off

    def _reach(self, log_floor: float) -> float:
        # P(|N| > reach) < exp(-reach^2 / 2), and the weights divided by the total are below 1/total
        return math.sqrt(2 * max(1.0, -(log_floor + self.log_total)))

    def parted(self, loss: float) -> tuple[PieceLoss, PieceLoss]:
        """The finite losses below this one, and those above: two parts of the law, with mass below 1."""
        step = self.shift / self.sigma
        return self.parted_at(self.sigma * (0.5 * step - (loss - self.pieces.log_ratio) / step))

    @property
    def log_infinite(self) -> float:
        return float(np.logaddexp(self.log_infinite_least, self.log_cut))

    def explodes(self, tilt: float, log_floor: float, log_rate: float = 0.0) -> bool:
        """Whether a moment of about this order is that of losses rarer than exp(log_floor).

        With noise that is looked at with a probability of exp(log_rate) these have so much less mass, and losses
        that are lower by as much.
        """
        order, step = AHEAD * tilt, self.shift / self.sigma
        if self.log_cut > -math.inf or order * step < self._reach(log_floor):
            return False
        ratios = self.pieces.log_ratio
        ratio = float(ratios[np.isfinite(ratios)].max(initial=0.0))
        # where the far end alone would bring the moment
        far = 0.5 * order * (order + 1) * step**2 + (order + 1) * log_rate
        if log_rate < 0:
            return far + (order + 1) * ratio > -AFAR
        far += float(self.pieces.log_keep[0]) + order * float(ratios[0]) - self.log_total
        return far > float(self.log_moments(np.array([order]))[0]) - AFAR

    def cut_short(self, log_floor: float) -> GaussianLoss:
        """The same without the losses of the far end, which count as lost."""
        if log_floor <= self.log_cut:
            return self
        log_cut = float(np.logaddexp(self.log_cut, log_floor))
        return replace(self.cut(log_floor), log_cut=log_cut)

    def cut(self, log_floor: float) -> GaussianLoss:
        """The same without the far end where the loss is largest, which has less than exp(log_floor) of P.

        Q has less there than P wherever the loss is above 0, and this is as far as any weight reaches.
        """
        end = -self.sigma * self._reach(log_floor)
        pieces = self.pieces
        kept = pieces.high > end
        low = np.maximum(pieces.low[kept], end)
        high = pieces.high[kept]
        width = np.where(low > pieces.low[kept], high - low, pieces.width[kept])
        cut = Pieces(low, high, pieces.log_keep[kept], pieces.log_keep_shifted[kept], width)
        return GaussianLoss(cut, self.log_total, self.shift, self.sigma)

    def log_mass(self, low: Floats, high: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            width = (high - low) / self.sigma
        return log_normal_mass(low / self.sigma, high / self.sigma, width=width)

    def log_tilted(self, order: Floats, low: Floats, high: Floats) -> Floats:
        mean = (1 - order) * self.shift
        with np.errstate(invalid="ignore"):
            mass = log_normal_mass(
                (low - mean) / self.sigma,
                (high - mean) / self.sigma,
                width=(high - low) / self.sigma,
            )
        return mass + order * (order - 1) * self.shift**2 / (2 * self.sigma**2)

    def support(self, log_floor: float) -> tuple[float, float]:
        reach = self._reach(log_floor)
        step = self.shift / self.sigma
        shared = self.pieces.log_ratio < np.inf
        low = np.clip(self.pieces.low[shared] / self.sigma, -reach, reach + step)
        high = np.clip(self.pieces.high[shared] / self.sigma, -reach, reach + step)
        ratio, reached = self.pieces.log_ratio[shared], high > low
        if not reached.any():
            return np.inf, -np.inf
        least = (ratio + 0.5 * step**2 - step * high)[reached].min()
        most = (ratio + 0.5 * step**2 - step * low)[reached].max()
        return float(least), float(most)

    def cells(self, edges: Floats, widths: Floats) -> tuple[Floats, Floats]:
        step = self.shift / self.sigma
        log_p, log_q = np.full((2, len(edges) - 1), -np.inf)
        widths = widths / step
        for low, high, keep, shifted in zip(
            self.pieces.low / self.sigma,
            self.pieces.high / self.sigma,
            self.pieces.log_keep,
            self.pieces.log_keep_shifted,
            strict=True,
        ):
            if shifted == -np.inf:
                continue
            # the loss falls: the upper edge of a cell is its left end
            crossing = 0.5 * step - (edges - (keep - shifted)) / step
            start, end = crossing[1:], crossing[:-1]
            inside = np.flatnonzero((end > low) & (start < high))
            if not len(inside):
                continue
            start, end, width = start[inside], end[inside], widths[inside]
            cut = (start < low) | (end > high)
            start, end = np.maximum(start, low), np.minimum(end, high)
            width = np.where(cut, end - start, width)
            p = log_narrow_mass(start, end, width)
            q = log_narrow_mass(start - step, end - step, width)
            log_p[inside] = np.logaddexp(log_p[inside], keep + p - self.log_total)
            log_q[inside] = np.logaddexp(log_q[inside], shifted + q - self.log_total)
        return log_p, log_q


def log_narrow_mass(low: Floats, high: Floats, width: Floats) -> Floats:
    """log P(low <= N <= high) for the standard normal N, for many narrow intervals."""
    middle = 0.5 * (low + high)
    narrow = width * (1 + np.abs(middle)) < 0.5
    if not narrow.all():
        mass = np.empty(len(middle))
        mass[narrow] = log_narrow_mass(low[narrow], high[narrow], width[narrow])
        wide = ~narrow
        mass[wide] = log_normal_mass(low[wide], high[wide], width=width[wide])
        return mass
    total = np.zeros(len(middle))
    for node, weight in zip(FEW_NODES, FEW_WEIGHTS, strict=True):
        y = width * (node - 0.5)
        total += weight * np.exp(-y * (middle + 0.5 * y))
    with np.errstate(divide="ignore"):
        return np.log(total * width) - 0.5 * middle**2 - LOG_ROOT_TWO_PI


@final
@dataclass(frozen=True, slots=True, eq=False)
class LaplaceLoss(PieceLoss):
    """Atoms left of 0 and right of the shift; in between the loss falls along a line."""

    pieces: Pieces
    log_total: float
    shift: float
    scale: float

    @property
    def most(self) -> float:
        """The loss of the kernel alone left of 0."""
        return self.shift / self.scale

    @property
    def atoms(self) -> tuple[Floats, Floats]:
        left, right = self.pieces.high <= 0, self.pieces.low >= self.shift
        flat = (left | right) & (self.pieces.log_ratio < np.inf)
        losses = self.pieces.log_ratio + np.where(left, self.most, -self.most)
        masses = self.pieces.log_keep + self.log_mass(self.pieces.low, self.pieces.high)
        return losses[flat], masses[flat] - self.log_total

    def parted(self, loss: float) -> tuple[PieceLoss, PieceLoss]:
        """The finite losses below this one, and those above: two parts of the law, with mass below 1."""
        pieces = self.pieces
        # left of 0 and right of the shift one loss holds for the whole piece
        level = pieces.log_ratio + np.where(pieces.high <= 0, self.most, -self.most)
        flat = np.where(level > loss, np.inf, -np.inf)
        sloped = 0.5 * (self.shift - (loss - pieces.log_ratio) * self.scale)
        outside = (pieces.high <= 0) | (pieces.low >= self.shift)
        return self.parted_at(np.where(outside, flat, sloped))

    def log_mass(self, low: Floats, high: Floats) -> Floats:
        return log_laplace_mass(low, high, scale=self.scale)

    def log_tilted(self, order: Floats, low: Floats, high: Floats) -> Floats:
        left, right = high <= 0, low >= self.shift
        flat = self.log_mass(low, high) + (order - 1) * np.where(left, self.most, -self.most)
        rate = (2 * order - 1) / self.scale
        with np.errstate(invalid="ignore"):
            sloped = (order - 1) * self.most - rate * low - np.log(2 * (2 * order - 1))
            sloped = sloped + hinge.log_one_minus_exp(rate * (high - low))
        return np.where(left | right, flat, sloped)

    @property
    def sloped(self) -> NDArray[np.bool_]:
        """Which pieces lie between 0 and the shift and have mass of both."""
        pieces = self.pieces
        between = (pieces.low >= 0) & (pieces.high <= self.shift)
        return between & (pieces.log_ratio < np.inf)

    def support(self, log_floor: float) -> tuple[float, float]:
        pieces, sloped = self.pieces, self.sloped
        if not sloped.any():
            return np.inf, -np.inf
        least = (pieces.log_ratio + (self.shift - 2 * pieces.high) / self.scale)[sloped]
        most = (pieces.log_ratio + (self.shift - 2 * pieces.low) / self.scale)[sloped]
        return float(least.min()), float(most.max())

    def cells(self, edges: Floats, widths: Floats) -> tuple[Floats, Floats]:
        log_p, log_q = np.full((2, len(edges) - 1), -np.inf)
        pieces, sloped = self.pieces, self.sloped
        widths = 0.5 * widths
        for low, high, keep, shifted in zip(
            pieces.low[sloped] / self.scale,
            pieces.high[sloped] / self.scale,
            pieces.log_keep[sloped],
            pieces.log_keep_shifted[sloped],
            strict=True,
        ):
            crossing = 0.5 * (self.most - (edges - (keep - shifted)))
            start, end = crossing[1:], crossing[:-1]
            inside = np.flatnonzero((end > low) & (start < high))
            if not len(inside):
                continue
            start, end, width = start[inside], end[inside], widths[inside]
            cut = (start < low) | (end > high)
            start, end = np.maximum(start, low), np.minimum(end, high)
            width = np.where(cut, end - start, width)
            with np.errstate(divide="ignore"):
                log_width = np.log(-np.expm1(-width)) - math.log(2) - self.log_total
            p = keep - start + log_width
            q = shifted - (self.most - end) + log_width
            log_p[inside] = np.logaddexp(log_p[inside], p)
            log_q[inside] = np.logaddexp(log_q[inside], q)
        return log_p, log_q
