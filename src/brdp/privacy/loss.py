"""The privacy loss of one direction of one release, as composition needs it."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from brdp.noise.base import Floats
from brdp.privacy.atoms import AtomicLaw

NOTHING = np.empty(0)
UNIT = 2.0**-53
# Terms that are summed at a time.
BLOCK = 1 << 16


class LossLaw(abc.ABC):
    """The law of log(dP/dQ) under P: atoms, a part without atoms, and mass where Q has nothing.

    The masses of an interval of losses under P and under Q are all that a certified composition needs:
    the two numbers say where in the interval the loss lies on average.
    """

    __slots__ = ()

    @property
    @abc.abstractmethod
    def log_infinite(self) -> float:
        """log of the mass of P where Q has none, or of more than that."""

    @property
    def log_infinite_least(self) -> float:
        """log of the mass of P where Q has none, or of less than that."""
        return self.log_infinite

    def mass_error(self, log_floor: float) -> float:
        """How far a mass above exp(log_floor) may be off relatively, and a loss absolutely, by rounding.

        A log of that size is rounded a few times on its way (docs/theory/composition.md).
        """
        return 1e-14 + 8 * UNIT * abs(log_floor)

    @property
    @abc.abstractmethod
    def atoms(self) -> tuple[Floats, Floats]:
        """Losses that have mass of their own, and the logs of these masses under P."""

    @abc.abstractmethod
    def support(self, log_floor: float) -> tuple[float, float]:
        """Where the part without atoms lies: outside, P and Q have less than exp(log_floor) each.

        (inf, -inf) where there are only atoms.
        """

    @abc.abstractmethod
    def cells(self, edges: Floats, widths: Floats) -> tuple[Floats, Floats]:
        """Logs of the masses under P and Q of the part without atoms, between rising edges.

        `widths` are the distances of the edges, which the caller knows with more digits than the
        difference of two large numbers would have; the outermost edges may be infinite.
        """

    @abc.abstractmethod
    def log_moments(self, orders: Floats) -> Floats:
        """log E_P[exp(order * loss); loss finite], for real orders above 0."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class AtomicLoss(LossLaw):
    """A loss with countably many values."""

    law: AtomicLaw

    @property
    def log_infinite(self) -> float:
        return self.law.log_infinite

    @property
    def atoms(self) -> tuple[Floats, Floats]:
        return self.law.losses, self.law.log_masses

    def below(self, log_floor: float) -> AtomicLoss:
        """The same without the largest losses above 0, which together have less than exp(log_floor) of P."""
        law = self.law
        tails = np.logaddexp.accumulate(law.log_masses[::-1])[::-1]
        kept = (tails > log_floor - 1e-9) | (law.losses <= 0)
        losses = np.append(law.losses[kept], np.inf)
        return AtomicLoss(AtomicLaw.of(losses, np.append(law.log_masses[kept], law.log_infinite)))

    def parted(self, loss: float) -> tuple[AtomicLoss, AtomicLoss]:
        """The law's finite losses below this one, and those above."""
        heavy = self.law.losses > loss
        return self._only(~heavy), self._only(heavy)

    def _only(self, kept: NDArray[np.bool_]) -> AtomicLoss:
        return AtomicLoss(AtomicLaw.of(self.law.losses[kept], self.law.log_masses[kept]))

    def support(self, log_floor: float) -> tuple[float, float]:
        return np.inf, -np.inf

    def cells(self, edges: Floats, widths: Floats) -> tuple[Floats, Floats]:
        nothing = np.full(len(edges) - 1, -np.inf)
        return nothing, nothing

    def log_moments(self, orders: Floats) -> Floats:
        return atom_log_moments(self.law.losses, self.law.log_masses, orders)


def atom_log_moments(losses: Floats, log_masses: Floats, orders: Floats) -> Floats:
    """log of the sum of exp(log_mass + order * loss), for each order."""
    moments = np.full(len(orders), -np.inf)
    if not len(losses):
        return moments
    rows = max(1, BLOCK // len(losses))
    for start in range(0, len(orders), rows):
        part = slice(start, start + rows)
        logs = log_masses + orders[part, None] * losses
        top = logs.max(axis=1)
        reached = top > -np.inf
        sums = np.exp(logs[reached] - top[reached, None]).sum(axis=1)
        moments[part][reached] = top[reached] + np.log(sums)
    return moments
