"""The loss of a release that looks at a random sample: the exact law of the mixture."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from brdp.noise.base import Floats
from brdp.privacy.loss import AtomicLoss, LossLaw, atom_log_moments
from brdp.privacy.loss_pieces import AFAR, AHEAD, GaussianLoss, LaplaceLoss

# Cells from which moments are taken where the mixture has no closed form (only to place the tilt).
SKETCH = 256
SKETCH_FLOOR = -300.0


@final
@dataclass(frozen=True, slots=True, eq=False)
class SampledLoss(LossLaw):
    """The loss of (1 - rate) Q + rate P against Q, or (`added`) of Q against that mixture.

    P and Q are the base law's pair; with l the base loss, the mixture's loss against Q is
    log(1 - rate + rate exp(l)).
    """

    base: LossLaw
    rate: float
    added: bool
    # log of the mass that Q has where P has none
    log_only_q: float
    # log of the mass that was cut off and counts as lost
    log_cut: float = -math.inf

    def mass_error(self, log_floor: float) -> float:
        return 2 * self.base.mass_error(log_floor)

    @property
    def log_infinite(self) -> float:
        return float(np.logaddexp(self.log_infinite_least, self.log_cut))

    @property
    def log_infinite_least(self) -> float:
        if self.added:
            # where only Q lies the mixture has (1 - rate) of it, so nothing is infinite
            return self.log_only_q if self.rate == 1 else -math.inf
        return math.log(self.rate) + self.base.log_infinite

    @property
    def log_rest(self) -> float:
        """log(1 - rate)."""
        return math.log1p(-self.rate) if self.rate < 1 else -math.inf

    def explodes(self, tilt: float, log_floor: float) -> bool:
        """Whether a moment of about this order may be that of losses rarer than exp(log_floor).

        Far out a sample of Gaussian noise has the loss of the noise itself but for a constant, and
        E[exp(tilt * loss)] is as that of the noise times rate^(tilt + 1).
        """
        base = self.base
        if self.added or self.log_cut > -math.inf:
            return False
        if isinstance(base, AtomicLoss):
            losses, log_masses = self.atoms
            order = np.argsort(losses)
            losses, log_masses = losses[order], log_masses[order]
            rare = np.logaddexp.accumulate(log_masses[::-1])[::-1] < log_floor
            tilted = log_masses + AHEAD * tilt * losses
            most = tilted[rare].max(initial=-np.inf)
            return bool(most > tilted.max(initial=-np.inf) - AFAR)
        return isinstance(base, GaussianLoss) and base.explodes(
            tilt, log_floor, math.log(self.rate)
        )

    def cut(self, log_floor: float) -> SampledLoss:
        """The same without the largest losses, rarer than exp(log_floor) in all: they count as lost."""
        base = self.base
        if self.added or log_floor <= self.log_cut:
            return self  # a law that is cut already stays as short as it is, and its losses lost
        log_cut = float(np.logaddexp(self.log_cut, log_floor))
        if isinstance(base, GaussianLoss):
            return replace(self, base=base.cut(log_floor), log_cut=log_cut)
        if isinstance(base, AtomicLoss):
            return replace(self, base=base.below(log_floor), log_cut=log_cut)
        return self

    def parted(self, loss: float) -> tuple[SampledLoss, SampledLoss] | None:
        """The law's finite losses below this one, and those above: two parts of it, with mass below 1."""
        if self.added or not isinstance(self.base, GaussianLoss | LaplaceLoss | AtomicLoss):
            return None
        light, heavy = self.base.parted(float(self.unmixed(np.array(loss))))
        return (
            replace(self, base=light, log_cut=-math.inf),
            replace(self, base=heavy, log_cut=-math.inf, log_only_q=-math.inf),
        )

    def mixed(self, losses: Floats) -> Floats:
        """log(1 - rate + rate exp(l))."""
        # near l = 0 the result is small and needs its own digits
        with np.errstate(over="ignore", divide="ignore"):
            small = np.log1p(self.rate * np.expm1(np.minimum(losses, 1.0)))
        large = np.logaddexp(self.log_rest, math.log(self.rate) + losses)
        return np.where(losses < 1.0, small, large)

    def unmixed(self, losses: Floats) -> Floats:
        """The base loss of a mixture's loss; -inf at and below log(1 - rate)."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            small = np.log1p(np.expm1(np.minimum(losses, 1.0)) / self.rate)
            large = losses + np.log1p(-(1 - self.rate) * np.exp(-losses)) - math.log(self.rate)
            base = np.where(losses < 1.0, small, large)
        return np.where(losses > self.log_rest, np.where(np.isnan(base), -np.inf, base), -np.inf)

    @property
    def atoms(self) -> tuple[Floats, Floats]:
        base, log_p = self.base.atoms
        log_q = log_p - base
        losses = self.mixed(base)
        log_mixed = np.logaddexp(self.log_rest + log_q, math.log(self.rate) + log_p)
        if self.log_only_q > -math.inf and self.rate < 1:
            losses = np.append(losses, self.log_rest)
            log_q = np.append(log_q, self.log_only_q)
            log_mixed = np.append(log_mixed, self.log_rest + self.log_only_q)
        return (-losses, log_q) if self.added else (losses, log_mixed)

    def support(self, log_floor: float) -> tuple[float, float]:
        low, high = self.base.support(log_floor - 1)
        if low > high:
            return np.inf, -np.inf
        # cells reach down to where the base loss is -inf, so nothing is left below
        least, most = self.log_rest, float(self.mixed(np.array(high)))
        if self.rate == 1:
            least = low
        return (-most, -least) if self.added else (least, most)

    def cells(self, edges: Floats, widths: Floats) -> tuple[Floats, Floats]:
        mine = -edges[::-1] if self.added else edges
        widths = widths[::-1] if self.added else widths
        base_edges = self.unmixed(mine)
        lower = mine[:-1]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            # log of (exp(u + w) - 1 + rate) / (exp(u) - 1 + rate)
            grown = np.expm1(widths) / -np.expm1(self.log_rest - lower)
            base_widths = np.where(lower > self.log_rest, np.log1p(grown), np.inf)
        if self.rate == 1:
            base_widths = widths
        log_p, log_q = self.base.cells(base_edges, base_widths)
        log_mixed = np.logaddexp(self.log_rest + log_q, math.log(self.rate) + log_p)
        return (log_q[::-1], log_mixed[::-1]) if self.added else (log_mixed, log_q)

    def log_moments(self, orders: Floats) -> Floats:
        return atom_log_moments(*_sketch(self), orders)


@functools.lru_cache(maxsize=64)
def _sketch(law: SampledLoss) -> tuple[Floats, Floats]:
    """Losses and logs of masses that are about those of the law."""
    losses, log_masses = law.atoms
    low, high = law.base.support(SKETCH_FLOOR)
    if low > high:
        return losses, log_masses
    # cells that are narrow where the mixture's loss bends, and reach far on either side
    edges = law.mixed(np.linspace(low, high, SKETCH + 1))
    edges = np.unique(-edges if law.added else edges)
    log_p, log_q = law.cells(edges, np.diff(edges))
    reached = (log_p > -np.inf) & (log_q > -np.inf)
    return (
        np.append(losses, log_p[reached] - log_q[reached]),
        np.append(log_masses, log_p[reached]),
    )
