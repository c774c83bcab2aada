"""What the curves of single releases have in common: how their error is bounded."""

from __future__ import annotations

import abc
from typing import final

import numpy as np

from brdp.errors import InvalidInput
from brdp.noise.base import Floats, Noise
from brdp.privacy.base import LARGEST_EPSILON, Curve

# The evaluated curve is the true one at an epsilon within EPSILON_ERROR (relatively), times a factor
# within exp(+-LOG_ERROR): sums of positive terms, each of a handful of roundings (docs/theory/curve.md).
EPSILON_ERROR = 2e-15
LOG_ERROR = 1e-11
# Deep down, logs themselves are rounded: 690 is known to 1e-13, and a few of them are added.
DEEP_ERROR = 5e-14


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

    @property
    def exact(self) -> bool:
        """Whether `evaluate` is exact but for rounding; if not, it is an upper bound."""
        return True

    @abc.abstractmethod
    def evaluate(self, epsilon: Floats) -> Floats:
        """log delta at each epsilon (any real), as well as floating point can."""

    @final
    def _require_an_epsilon(self, delta: float) -> None:
        least = float(np.exp(self.log_delta_bounds(np.array(LARGEST_EPSILON))[1]))
        if least >= 1:
            raise InvalidInput(
                "delta",
                expected="noise that hides something: at any delta this one costs more than "
                f"{LARGEST_EPSILON:g}",
                got=delta,
                remedy="Widen the noise.",
            )
        if least > 0:
            raise InvalidInput(
                "delta",
                expected=f"at least {_up(least)}, the mass that this noise shows on one side of its bounds and "
                "no epsilon covers",
                got=delta,
                remedy="Give a larger delta, or a rate below 1 (and no level of weight 0).",
            )
        super()._require_an_epsilon(delta)

    @final
    def log_delta_bounds(self, epsilon: Floats) -> tuple[Floats, Floats]:
        around = np.stack([epsilon * (1 + EPSILON_ERROR), epsilon * (1 - EPSILON_ERROR)])
        lower, upper = self.evaluate(around)
        if not self.exact:
            lower = np.full_like(lower, -np.inf)
        # what could not be computed promises nothing
        upper = np.where(np.isnan(upper), 0.0, upper)
        lower = np.where(np.isnan(lower), -np.inf, lower)
        with np.errstate(invalid="ignore"):  # a log of 0 stays -inf
            errors = LOG_ERROR + DEEP_ERROR * np.abs(np.stack([lower, upper]))
            below, above = lower - errors[0], upper + errors[1]
        return (
            np.where(np.isfinite(lower), below, lower),
            np.where(np.isfinite(upper), np.minimum(above, 0.0), upper),
        )


def _up(value: float) -> str:
    """Four digits, rounded up, so that what is said to be enough is."""
    digits = f"{value:.4g}"
    return digits if float(digits) >= value else f"{value * 1.001:.4g}"
