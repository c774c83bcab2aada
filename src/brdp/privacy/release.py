"""What the curves of single releases have in common: how their error is bounded."""

from __future__ import annotations

import abc
from typing import final

import numpy as np

from brdp.noise.base import Floats, Noise
from brdp.privacy.base import Curve

# The evaluated curve is the true one at an epsilon within EPSILON_ERROR (relatively), times a factor
# within exp(+-LOG_ERROR): sums of positive terms, each of a handful of roundings (docs/theory/curve.md).
EPSILON_ERROR = 2e-15
LOG_ERROR = 1e-11


class ReleaseCurve(Curve):
    """The curve of one release of noise, at one sensitivity."""

    __slots__ = ()

    @property
    @abc.abstractmethod
    def noise(self) -> Noise:
        """The noise that is released."""

    @property
    @abc.abstractmethod
    def sensitivity(self) -> float:
        """By how much the query may differ between neighbours."""

    @abc.abstractmethod
    def evaluate(self, epsilon: Floats) -> Floats:
        """log delta at each epsilon (any real), as well as floating point can."""

    @final
    def log_delta_bounds(self, epsilon: Floats) -> tuple[Floats, Floats]:
        around = np.stack([epsilon * (1 + EPSILON_ERROR), epsilon * (1 - EPSILON_ERROR)])
        lower, upper = self.evaluate(around)
        return lower - LOG_ERROR, np.minimum(upper + LOG_ERROR, 0.0)
