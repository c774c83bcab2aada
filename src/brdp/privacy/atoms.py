"""A privacy loss that takes countably many values: the curve of every noise made of cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from brdp.noise.base import Floats
from brdp.privacy.divergence import log_of_moment

# Extended precision reaches far below the least double, so sums stay linear (and relative) there;
# platforms without it add in logs.
EXTENDED = np.finfo(np.longdouble).maxexp > 10_000
EXTENDED_RANGE = 22_000


@final
@dataclass(frozen=True, slots=True, eq=False)
class AtomicLaw:
    """Distinct losses in rising order, the mass of P at each, and the mass where Q has nothing.

    delta(epsilon) is the integral of exp(epsilon - u) P(loss > u) over u > epsilon. Between two atoms
    P(loss > u) is constant, so the integral is a sum of positive terms: nothing cancels.
    """

    losses: Floats
    log_masses: Floats
    log_infinite: float
    # log P(loss >= losses[i]), with log_infinite at the end
    log_tails: Floats
    # log of the integral of exp(-u) P(loss > u) over u > losses[i]
    log_integrals: Floats

    @classmethod
    def of(cls, losses: Floats, log_masses: Floats) -> AtomicLaw:
        """Collect cells into atoms; a loss of inf is mass that the neighbour never shows."""
        losses, log_masses = np.asarray(losses, dtype=np.float64), np.asarray(log_masses)
        reached = log_masses > -np.inf
        losses, log_masses = losses[reached], log_masses[reached]
        endless = losses == np.inf
        log_infinite = float(np.logaddexp.reduce(log_masses[endless], initial=-np.inf))
        losses, log_masses = losses[~endless], log_masses[~endless]
        order = np.argsort(losses, kind="stable")
        losses, log_masses = losses[order], log_masses[order]
        starts = np.flatnonzero(np.diff(losses, prepend=-np.inf) > 0)
        losses = losses[starts]
        if len(starts):
            log_masses = np.logaddexp.reduceat(log_masses, starts)
        log_tails = _suffix_log_sums(np.append(log_masses, log_infinite))
        gaps = np.diff(losses)
        with np.errstate(divide="ignore"):
            # integral of exp(-u) over a gap, times the mass above it
            steps = log_tails[1:-1] - losses[:-1] + np.log(-np.expm1(-gaps))
        last = log_infinite - losses[-1:]
        return cls(
            losses, log_masses, log_infinite, log_tails, _suffix_log_sums(np.append(steps, last))
        )

    def log_delta(self, epsilon: Floats) -> Floats:
        """log delta(epsilon) for any real epsilon."""
        if not len(self.losses):
            return np.full(np.shape(epsilon), self.log_infinite)
        following = np.searchsorted(self.losses, epsilon, side="right")
        inside = np.minimum(following, len(self.losses) - 1)
        gap = self.losses[inside] - epsilon
        with np.errstate(divide="ignore", invalid="ignore"):
            # from epsilon to the next atom, then from there on
            near = self.log_tails[inside] + np.log(-np.expm1(-np.maximum(gap, 0.0)))
            far = self.log_integrals[inside] + epsilon
        return np.where(following < len(self.losses), np.logaddexp(near, far), self.log_infinite)

    def log_renyi(self, order: float) -> float:
        """log E_P[exp((order - 1) loss)]."""
        if self.log_infinite > -np.inf:
            return math.inf
        return log_of_moment(self.losses, self.log_masses, a=order - 1)

    @property
    def largest_loss(self) -> float:
        if self.log_infinite > -np.inf:
            return math.inf
        return max(0.0, float(self.losses[-1]))


def _suffix_log_sums(logs: Floats) -> Floats:
    """log of the sum of exp(logs[i:]) for each i."""
    finite = logs[logs > -np.inf]
    if not EXTENDED or (len(finite) and finite.max() - finite.min() > EXTENDED_RANGE):
        return np.logaddexp.accumulate(logs[::-1])[::-1]
    # losses may be large: centre the range of exponents that extended floats have
    centre = np.longdouble(0.5 * (finite.max() + finite.min()) if len(finite) else 0.0)
    sums = np.cumsum(np.exp(logs[::-1].astype(np.longdouble) - centre))[::-1]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(sums) + centre, dtype=np.float64)
