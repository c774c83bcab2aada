"""The plain filter: the sum of the epsilons and the sum of the deltas each stay within the budget's."""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from brdp import _validate
from brdp.errors import InvalidInput
from brdp.privacy.base import Curve
from brdp.privacy.compose import LooseBounds
from brdp.privacy.filters.amount import rounded_down, rounded_up, to_float
from brdp.privacy.filters.base import RESERVED, Amounts, Filter, tau_amount, tau_limit

# A pure price this close to the one at delta_each is taken instead, and saves its delta.
AS_GOOD = 1 + 1e-5
_warnings = threading.Lock()


@final
@dataclass(frozen=True, slots=True)
class SumFilter(Filter):
    """Grants while epsilons and deltas add up to at most the budget's.

    Each charge pays `delta_each` and the epsilon its curve has there, or its pure epsilon and no delta
    where that is no more.
    """

    epsilon: float
    delta: float
    delta_each: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _validate.positive(epsilon=self.epsilon))
        delta = _validate.between_zero_and_one(delta=self.delta)
        object.__setattr__(self, "delta", delta)
        each = _validate.between_zero_and_one(delta_each=self.delta_each)
        object.__setattr__(self, "delta_each", each)
        if self.delta_each > self.delta:
            raise InvalidInput(
                "delta_each", expected=f"at most delta, {self.delta}", got=self.delta_each
            )
        tau_limit(self.epsilon, Fraction(0))

    @classmethod
    def for_queries(cls, *, epsilon: float, delta: float, queries: int) -> SumFilter:
        """A filter that has delta for so many charges; more where some of them are pure."""
        queries = _validate.whole(queries=queries)
        delta = _validate.between_zero_and_one(delta=delta)
        return cls(epsilon, delta, delta * (1 - 2 * float(RESERVED)) / queries)

    @property
    def components(self) -> tuple[str, ...]:
        return ("epsilon", "delta", "tau")

    @property
    def alternatives(self) -> Amounts:
        return (rounded_down(self.epsilon),)

    @property
    def common(self) -> Amounts:
        delta = Fraction(self.delta)
        return (
            rounded_down(delta * (1 - RESERVED)),
            tau_limit(self.epsilon, delta * RESERVED),
        )

    def price(self, curve: Curve, *, tau: float | Fraction = 0) -> Amounts:
        epsilon = epsilon_charged(curve, self.delta_each)
        if curve.largest_loss <= epsilon * AS_GOOD:
            return (rounded_up(curve.largest_loss), 0, tau_amount(tau))
        return (rounded_up(epsilon), rounded_up(self.delta_each), tau_amount(tau))

    def price_of_spend(self, *, epsilon: float, delta: float) -> Amounts:
        epsilon = _validate.non_negative(epsilon=epsilon)
        delta = _validate.below_one(delta=delta)
        return (rounded_up(epsilon), rounded_up(delta), 0)

    def epsilon_of(self, spent: Amounts) -> float:
        return to_float(spent[0])

    def delta_of(self, spent: Amounts) -> float:
        return _with_tau(self, to_float(spent[1]), spent[2])

    def narrowed(self, *, epsilon: float, delta: float) -> SumFilter:
        return SumFilter(epsilon, delta, self.delta_each)

    def to_dict(self) -> dict[str, Any]:
        return {
            "filter": "sum",
            "epsilon": self.epsilon,
            "delta": self.delta,
            "delta_each": self.delta_each,
        }


def epsilon_charged(curve: Curve, delta: float) -> float:
    """The upper end of a curve's epsilon; how far the lower end lies below is no matter to a charge."""
    # filters of warnings belong to the whole process: one thread at a time may set them aside
    with _warnings, warnings.catch_warnings():
        warnings.simplefilter("ignore", LooseBounds)
        return curve.epsilon_or_infinity(delta=delta)


def _with_tau(filter: Filter, delta: float, tau: int) -> float:
    """Add what the samplers cost: the share of their reserve that is used."""
    limit = filter.common[-1]
    return delta + float(Fraction(filter.delta) * RESERVED) * (tau / limit if tau else 0.0)
