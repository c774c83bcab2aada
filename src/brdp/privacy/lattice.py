"""The exact curve of lattice noise and of staircases, by one routine over cells."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import final

import numpy as np

from brdp import _validate
from brdp.errors import InvalidInput, NotPossible
from brdp.noise import DiscreteGaussian, DiscreteLaplace
from brdp.noise.base import Floats, Noise
from brdp.noise.recycled import LARGEST_LATTICE_BOUND
from brdp.privacy.atoms import AtomicLaw
from brdp.privacy.cells import cells_of
from brdp.privacy.divergence import discrete_gaussian_moment
from brdp.privacy.pieces import directions
from brdp.privacy.protocol import KNOWN
from brdp.privacy.real import log_release_probability
from brdp.privacy.release import ReleaseCurve
from brdp.privacy.runs import in_runs, largest_laplace_loss, log_delta_in_runs
from brdp.privacy.unimodal import require_unimodal, unimodal

MOST_SHIFTS = 1024


@final
@dataclass(frozen=True, slots=True)
class CellCurve(ReleaseCurve):
    """The largest hockey-stick divergence over directions, and over shifts where one is not enough.

    Guarantee: as in `Curve`, for every query that differs by at most `sensitivity` between neighbours
    (on the integers: by whole steps). Unimodal noise is worst at the whole sensitivity; other noise on
    the integers is looked at for every shift (docs/theory/curve.md).
    """

    noise: Noise
    sensitivity: float

    def __post_init__(self) -> None:
        if self.noise.lattice:
            steps = _validate.whole(
                sensitivity=self.sensitivity, remedy="Noise on the integers needs whole steps."
            )
            if steps >= LARGEST_LATTICE_BOUND:
                raise InvalidInput(
                    "sensitivity", expected="less than 2^51 steps on the integers", got=steps
                )
            object.__setattr__(self, "sensitivity", float(steps))
        else:
            require_unimodal(self.noise)

    @property
    def exact(self) -> bool:
        return isinstance(self.noise.kernel, KNOWN)  # the losses of one's own are rounded up

    def evaluate(self, epsilon: Floats) -> Floats:
        kernel = in_runs(self.noise, self.sensitivity)
        if kernel is not None and unimodal(self.noise):
            shift = int(self.sensitivity)
            log_sum = log_delta_in_runs(self.noise, kernel, np.asarray(epsilon), shift)
            return np.minimum(log_sum - log_release_probability(self.noise), 0.0)
        laws = laws_of(self.noise, self.sensitivity)
        worst = functools.reduce(np.maximum, (law.log_delta(epsilon) for law in laws))
        return np.minimum(worst, 0.0)

    def log_renyi(self, order: float) -> float:
        kernel = self.noise.kernel
        if isinstance(kernel, DiscreteGaussian):
            # the window of its cells ends in a mass that counts as lost, which no moment could bear
            return max(
                discrete_gaussian_moment(self.noise, kernel, side, shift=int(shift), a=order - 1)
                for shift in _shifts(self.noise, self.sensitivity)
                for side in directions(self.noise.recycler)
            )
        return max(law.log_renyi(order) for law in laws_of(self.noise, self.sensitivity))

    @property
    def largest_loss(self) -> float:
        kernel = self.noise.kernel
        if isinstance(kernel, DiscreteGaussian):
            return math.inf
        if isinstance(kernel, DiscreteLaplace) and unimodal(self.noise):
            return largest_laplace_loss(self.noise, kernel, int(self.sensitivity)) * (1 + 2e-15)
        # a loss is the sum of a few rounded logs
        return max(law.largest_loss for law in laws_of(self.noise, self.sensitivity)) * (1 + 2e-15)


@functools.lru_cache(maxsize=64)
def laws_of(noise: Noise, sensitivity: float) -> tuple[AtomicLaw, ...]:
    """Return the loss of every direction and shift that must be looked at."""
    log_total = log_release_probability(noise)
    laws = []
    for shift in _shifts(noise, sensitivity):
        for side in directions(noise.recycler):
            losses, log_masses = cells_of(noise, side, shift=shift)
            laws.append(AtomicLaw.of(losses, log_masses - log_total))
    return tuple(laws)


def _shifts(noise: Noise, sensitivity: float) -> list[float]:
    if unimodal(noise):
        return [sensitivity]
    if sensitivity > MOST_SHIFTS:
        raise NotPossible(
            f"{noise!r} rises on the way out from 0, so all {sensitivity:.0f} shifts would have to be "
            f"looked at; at most {MOST_SHIFTS} are. Let the weights fall outwards."
        )
    return [float(shift) for shift in range(1, int(sensitivity) + 1)]
