"""Releases on disjoint parts of the data: a unit is in one part, so the largest curve is the cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np

from brdp.errors import InvalidInput
from brdp.noise.base import Floats
from brdp.privacy.base import Curve


@final
@dataclass(frozen=True, slots=True)
class ParallelCurve(Curve):
    """The pointwise largest of several curves.

    Guarantee: as in `Curve`, if every unit is in at most one part under add/remove neighbours. A unit in k
    parts, or one that may move from part to part, is a composition.
    """

    curves: tuple[Curve, ...]

    def log_delta_bounds(self, epsilon: Floats) -> tuple[Floats, Floats]:
        bounds = [curve.log_delta_bounds(epsilon) for curve in self.curves]
        lower = np.maximum.reduce([low for low, _ in bounds])
        return lower, np.maximum.reduce([high for _, high in bounds])

    def log_renyi(self, order: float) -> float:
        return max(curve.log_renyi(order) for curve in self.curves)

    @property
    def largest_loss(self) -> float:
        return max(curve.largest_loss for curve in self.curves)


def parallel(curves: Iterable[Curve]) -> ParallelCurve:
    """Return the cost of releasing each curve's noise on its own part of the data."""
    parts = tuple(dict.fromkeys(curves))
    if not parts or not all(isinstance(curve, Curve) for curve in parts):
        raise InvalidInput("curves", expected="at least one curve", got=parts)
    return ParallelCurve(parts)
