"""The pure filter: the sum of the largest losses stays within epsilon, and delta is 0."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

from brdp import _validate
from brdp.errors import InvalidInput
from brdp.privacy.base import Curve
from brdp.privacy.filters.amount import INFINITE, rounded_down, rounded_up, to_float
from brdp.privacy.filters.base import Amounts, Filter, tau_amount


@final
@dataclass(frozen=True, slots=True)
class PureFilter(Filter):
    """Grants while the pure epsilons add up to at most `epsilon`. Needs an exact sampler (tau = 0)."""

    epsilon: float
    delta: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _validate.positive(epsilon=self.epsilon))

    @property
    def components(self) -> tuple[str, ...]:
        return ("epsilon",)

    @property
    def alternatives(self) -> Amounts:
        return (rounded_down(self.epsilon),)

    @property
    def common(self) -> Amounts:
        return ()

    def price(self, curve: Curve, *, tau: float | Fraction = 0) -> Amounts:
        if tau_amount(tau) > 0:
            raise InvalidInput(
                "tau",
                expected="0, for a budget with delta = 0",
                got=float(tau),
                remedy="Draw from the exact sampler.",
            )
        return (rounded_up(curve.largest_loss),)

    def price_of_spend(self, *, epsilon: float, delta: float) -> Amounts:
        epsilon = _validate.non_negative(epsilon=epsilon)
        delta = _validate.below_one(delta=delta)
        return (INFINITE if delta > 0 else rounded_up(epsilon),)

    def epsilon_of(self, spent: Amounts) -> float:
        return to_float(spent[0])

    def delta_of(self, spent: Amounts) -> float:
        return 0.0

    def narrowed(self, *, epsilon: float, delta: float) -> PureFilter:
        if delta != 0:
            raise InvalidInput("delta", expected="0, as the table's budget has it", got=delta)
        return PureFilter(epsilon)

    def to_dict(self) -> dict[str, Any]:
        return {"filter": "pure", "epsilon": self.epsilon}
