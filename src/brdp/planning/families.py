"""The kernels a plan may use, each with what it gives plain and recycled."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import final

from brdp.noise import Recycled
from brdp.noise.base import Noise
from brdp.planning import one_level, stairs
from brdp.planning.request import Budget, Candidate
from brdp.planning.shapes import (
    DiscreteGaussianShape,
    DiscreteLaplaceShape,
    GaussianShape,
    LaplaceShape,
    Shape,
)


class Family(abc.ABC):
    """One kind of kernel. `found` is quick and uncertified; `plan` is certified to fit the budget."""

    @property
    @abc.abstractmethod
    def can_be_pure(self) -> bool:
        """Whether delta = 0 is within its reach."""

    @property
    @abc.abstractmethod
    def recyclable(self) -> bool:
        """Whether `member` takes weights below 1."""

    @abc.abstractmethod
    def member(self, scale: float, weight: float, sensitivity: float, within: float) -> Noise:
        """The kernel of that scale, with that weight outside the bound (1: no recycler)."""

    @abc.abstractmethod
    def found(self, budget: Budget, *, recycled: bool) -> float:
        """Return the acceptance a search finds."""

    @abc.abstractmethod
    def plan(self, budget: Budget, *, recycled: bool) -> Candidate | None:
        """Return the best noise that is certified to fit."""


@final
@dataclass(frozen=True)
class LogConcave(Family):
    """A log-concave kernel, under a recycler with one bound."""

    shape: Shape

    @property
    def can_be_pure(self) -> bool:
        return self.shape.can_be_pure

    @property
    def recyclable(self) -> bool:
        return True

    def member(self, scale: float, weight: float, sensitivity: float, within: float) -> Noise:
        kernel = self.shape.kernel(scale)
        return kernel if weight == 1 else Recycled(kernel, within=within, rate=1 - weight)

    def found(self, budget: Budget, *, recycled: bool) -> float:
        if recycled:
            return one_level.acceptance_found(self.shape, budget)
        return one_level.plain_acceptance_found(self.shape, budget)

    def plan(self, budget: Budget, *, recycled: bool) -> Candidate | None:
        search = one_level.recycled if recycled else one_level.plain
        return search(self.shape, budget)


@final
@dataclass(frozen=True)
class Stairs(Family):
    """A staircase with steps as wide as the sensitivity."""

    lattice: bool

    @property
    def can_be_pure(self) -> bool:
        return True

    @property
    def recyclable(self) -> bool:
        return False

    def member(self, scale: float, weight: float, sensitivity: float, within: float) -> Noise:
        return stairs.kernel(sensitivity / scale, sensitivity, within, lattice=self.lattice)

    def found(self, budget: Budget, *, recycled: bool) -> float:
        if recycled:
            return stairs.acceptance_found(budget, lattice=self.lattice)
        return stairs.plain_acceptance_found(budget, lattice=self.lattice)

    def plan(self, budget: Budget, *, recycled: bool) -> Candidate | None:
        search = stairs.recycled if recycled else stairs.plain
        return search(budget, lattice=self.lattice)


# In the order in which they win a tie: the better known first.
ON_THE_REALS: Mapping[str, Family] = MappingProxyType(
    {
        "laplace": LogConcave(LaplaceShape()),
        "gaussian": LogConcave(GaussianShape()),
        "staircase": Stairs(lattice=False),
    }
)
ON_THE_INTEGERS: Mapping[str, Family] = MappingProxyType(
    {
        "laplace": LogConcave(DiscreteLaplaceShape()),
        "gaussian": LogConcave(DiscreteGaussianShape()),
        "staircase": Stairs(lattice=True),
    }
)
