"""The Renyi filter: sums of Renyi divergences at a few orders, and the pure sum beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from brdp import _validate
from brdp.errors import InvalidInput
from brdp.privacy.base import Curve
from brdp.privacy.filters.amount import INFINITE, rounded_down, rounded_up, to_float
from brdp.privacy.filters.base import RESERVED, Amounts, Filter, tau_amount, tau_limit

# The share of delta kept for spends of other tools, of which only (epsilon, delta) is known.
ELSEWHERE = Fraction(1, 16)
SAFETY = 1e-12
# Orders tried around the best one for many small Gaussian releases.
SPREAD = (0.5, 1.0, 2.0)


@final
@dataclass(frozen=True, slots=True)
class RenyiFilter(Filter):
    """Grants while, at some order fixed at the start, the Renyi divergences still add up to (epsilon, delta).

    Delta is split evenly between the orders, each converted to the same epsilon, so going on while any one
    of them fits is safe; the pure sum is one more way and takes no share (theory.md, section 4).
    """

    epsilon: float
    delta: float
    orders: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _validate.positive(epsilon=self.epsilon))
        object.__setattr__(self, "delta", _validate.between_zero_and_one(delta=self.delta))
        orders = tuple(float(order) for order in self.orders)
        if not orders or len(orders) > 16 or not all(1 < order < math.inf for order in orders):
            raise InvalidInput("orders", expected="1 to 16 finite numbers above 1", got=self.orders)
        if list(orders) != sorted(set(orders)):
            raise InvalidInput("orders", expected="orders that rise", got=self.orders)
        object.__setattr__(self, "orders", orders)
        tau_limit(self.epsilon, Fraction(0))

    @classmethod
    def for_budget(cls, *, epsilon: float, delta: float) -> RenyiFilter:
        """Orders that suit many small releases: around the best one for Gaussian noise."""
        epsilon = _validate.positive(epsilon=epsilon)
        light = -math.log(_validate.between_zero_and_one(delta=delta) / len(SPREAD))
        # epsilon = rho + 2 sqrt(rho light) at the order 1 + sqrt(light / rho)
        root = math.sqrt(light + epsilon) - math.sqrt(light)
        best = math.sqrt(light) / root
        return cls(epsilon, delta, tuple(1 + best * times for times in SPREAD))

    @property
    def components(self) -> tuple[str, ...]:
        return (*(f"renyi of order {order:g}" for order in self.orders), "epsilon", "delta", "tau")

    @property
    def alternatives(self) -> Amounts:
        limits = (
            _divergence_limit(self.epsilon, self._share_of_delta, order) for order in self.orders
        )
        return (*limits, rounded_down(self.epsilon))

    @property
    def common(self) -> Amounts:
        delta = Fraction(self.delta)
        return (rounded_down(delta * ELSEWHERE), tau_limit(self.epsilon, delta * RESERVED))

    @property
    def _share_of_delta(self) -> float:
        share = self.delta * float(1 - RESERVED - ELSEWHERE) / len(self.orders)
        return share * (1 - SAFETY)

    def price(self, curve: Curve, *, tau: float | Fraction = 0) -> Amounts:
        divergences = (rounded_up(curve.renyi(order=order)) for order in self.orders)
        return (*divergences, rounded_up(curve.largest_loss), 0, tau_amount(tau))

    def price_of_spend(self, *, epsilon: float, delta: float) -> Amounts:
        # an (epsilon, delta)-private release is, but for a coin of chance delta, a pure one: the coin is
        # paid from the part of delta kept for it, the pure rest by its worst Renyi divergence
        epsilon = _validate.non_negative(epsilon=epsilon)
        delta = _validate.below_one(delta=delta)
        divergences = (rounded_up(_pure_divergence(epsilon, order)) for order in self.orders)
        return (*divergences, rounded_up(epsilon), rounded_up(delta), 0)

    def epsilon_of(self, spent: Amounts) -> float:
        # a share of the limit, so that what is left reaches 0 exactly when nothing more fits
        limits = self.alternatives
        shares = [
            Fraction(amount, limit)
            for amount, limit in zip(spent, limits, strict=False)
            if limit > 0 and amount < INFINITE
        ]
        return math.inf if not shares else float(min(shares)) * self.epsilon

    def delta_of(self, spent: Amounts) -> float:
        # the orders' share of delta is promised as a whole from the first release that is not pure
        orders = (
            0.0
            if spent[len(self.orders)] <= self.alternatives[-1]
            else self.delta * (1 - float(RESERVED + ELSEWHERE))
        )
        tau = spent[-1] / self.common[-1] if spent[-1] else 0.0
        return orders + to_float(spent[-2]) + self.delta * float(RESERVED) * tau

    def narrowed(self, *, epsilon: float, delta: float) -> RenyiFilter:
        return RenyiFilter(epsilon, delta, self.orders)

    def to_dict(self) -> dict[str, Any]:
        return {
            "filter": "renyi",
            "epsilon": self.epsilon,
            "delta": self.delta,
            "orders": list(self.orders),
        }


def _divergence_limit(epsilon: float, delta: float, order: float) -> int:
    """The largest divergence of that order that still means (epsilon, delta); negative where none does.

    From delta = exp((order - 1)(rho - epsilon)) (1 - 1/order)^order / (order - 1).
    """
    terms = (math.log(delta), math.log(order - 1), -order * math.log1p(-1 / order))
    limit = epsilon + math.fsum(terms) / (order - 1)
    error = SAFETY * (epsilon + sum(abs(term) for term in terms) / (order - 1))
    return rounded_down(limit - error)


def _pure_divergence(epsilon: float, order: float) -> float:
    """The largest Renyi divergence of an epsilon-private release, that of a randomised response."""
    if epsilon == 0:
        return 0.0
    # log(p^a q^(1-a) + q^a p^(1-a)) / (a - 1) with p = e^epsilon / (1 + e^epsilon), q = 1 - p
    base = -math.log1p(math.exp(-epsilon))
    forward, backward = base + (order - 1) * epsilon, base - order * epsilon
    value = (forward + math.log1p(math.exp(backward - forward))) / (order - 1)
    # near 0 the terms cancel: epsilon itself and order epsilon^2 / 2 are bounds too
    bounds = (
        value + SAFETY * (1 + abs(base) / (order - 1)),
        order * epsilon * epsilon / 2,
        epsilon,
    )
    return min(max(bound, 0.0) for bound in bounds) * (1 + SAFETY)
