"""What a mechanism claims about itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from brdp import _validate
from brdp.errors import InvalidInput
from brdp.noise.base import interval


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """(epsilon, delta)-differential privacy for the pair of inputs that is audited."""

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _validate.non_negative(epsilon=self.epsilon))
        object.__setattr__(self, "delta", _validate.below_one(delta=self.delta))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """That the first column of an answer is within a bound of the truth at least so often.

    `within` is a number theta or a pair (low, high); `truth` is the exact answer on the first input.
    """

    within: float | tuple[float, float]
    acceptance: float
    truth: float = 0.0

    def __post_init__(self) -> None:
        interval(self.within)
        object.__setattr__(self, "acceptance", _validate.probability(acceptance=self.acceptance))
        if self.truth != self.truth:
            raise InvalidInput("truth", expected="a number", got=self.truth)
