"""What a plan minimises: a number for a privacy curve, such as the epsilon it takes at a delta."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from brdp import _validate
from brdp.privacy.base import Curve

# A cost judges the curve of one release; more privacy must never cost more.
Cost = Callable[[Curve], float]


@final
@dataclass(frozen=True, slots=True)
class EpsilonAt:
    """The epsilon of one release at a delta: what a release costs on its own."""

    delta: float

    def __post_init__(self) -> None:
        _validate.below_one(delta=self.delta)

    def __call__(self, curve: Curve) -> float:
        return curve.epsilon_or_infinity(delta=self.delta)


@final
@dataclass(frozen=True, slots=True)
class EpsilonOfMany:
    """The epsilon at a delta of `count` such releases on the same data: what one costs in company.

    Guarantee: an upper bound, by certified composition; the queries may be chosen adaptively.
    """

    count: int
    delta: float

    def __post_init__(self) -> None:
        _validate.whole(count=self.count)
        _validate.below_one(delta=self.delta)

    def __call__(self, curve: Curve) -> float:
        from brdp.privacy.compose import LooseBounds

        with warnings.catch_warnings():
            # a search passes through noise that is hard to compose: judged by its upper end, as all is
            warnings.simplefilter("ignore", LooseBounds)
            return curve.compose(self.count).epsilon_or_infinity(delta=self.delta)
