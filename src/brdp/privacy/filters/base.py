"""Privacy filters: rules for when to stop that hold however the next question is chosen.

An analyst who has seen the answers may choose the next noise by them. Composing the curves afterwards is
then no proof; a filter is. Every filter here adds up a few numbers per charge and grants a charge while the
sums, the new charge included, stay within limits fixed when the budget was created (theory.md, section 4).
"""

from __future__ import annotations

import abc
import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from operator import le
from typing import Any, final

from brdp import _validate
from brdp.errors import BudgetExceeded, InvalidInput
from brdp.privacy.base import Curve
from brdp.privacy.cost import Cost
from brdp.privacy.filters.amount import INFINITE, added, rounded_down, rounded_up

# The share of delta that pays for the samplers' distance from their stated laws. It is far more than
# honest samplers use: a total variation of 2^-90 is paid a billion times from 2^-10 of a delta of 1e-6.
RESERVED = Fraction(1, 1 << 10)

Amounts = tuple[int, ...]


class Filter(abc.ABC):
    """A stopping rule, fixed when a budget is created.

    Guarantee: let every charge be at least the privacy price of what is released under it, and let nothing
    be released without a charge that `fits`. Then everything released together is (epsilon, delta)-private,
    even where each next query, noise and analyst is chosen after seeing all earlier answers, and although
    the law drawn is only within total variation tau of the law stated. Proof: docs/theory/filters.md.
    """

    __slots__ = ()

    # the budget; annotations alone, because a dataclass would take a property for a default
    epsilon: float
    delta: float

    @property
    @abc.abstractmethod
    def components(self) -> tuple[str, ...]:
        """What is added up: first the alternatives, one of which must fit, then what must fit anyway."""

    @property
    @abc.abstractmethod
    def alternatives(self) -> Amounts:
        """Limits of the alternatives: going on is safe while one of them fits."""

    @property
    @abc.abstractmethod
    def common(self) -> Amounts:
        """Limits that must all be kept."""

    @abc.abstractmethod
    def price(self, curve: Curve, *, tau: float | Fraction = 0) -> Amounts:
        """What releasing something of this curve costs, from samplers `tau` away (in sum) from their laws."""

    @abc.abstractmethod
    def price_of_spend(self, *, epsilon: float, delta: float) -> Amounts:
        """What any (epsilon, delta)-private release costs, of which nothing more is known."""

    @abc.abstractmethod
    def epsilon_of(self, spent: Amounts) -> float:
        """The epsilon that the spent amounts add up to, rounded up."""

    @abc.abstractmethod
    def delta_of(self, spent: Amounts) -> float:
        """The part of delta that is used up, rounded up."""

    @abc.abstractmethod
    def narrowed(self, *, epsilon: float, delta: float) -> Filter:
        """The same rule with a smaller budget; its prices are the same."""

    @abc.abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain data, from which brdp.privacy.filters.read_filter makes an equal filter."""

    @final
    @property
    def empty(self) -> Amounts:
        """Nothing spent."""
        return (0,) * len(self.components)

    @final
    def fits(self, spent: Amounts) -> bool:
        """Whether these sums may be reached."""
        alternatives, common = limits_of(self)
        first = len(alternatives)
        if len(spent) != first + len(common):
            raise InvalidInput("spent", expected=f"{first + len(common)} amounts", got=len(spent))
        return any(map(le, spent, alternatives)) and all(map(le, spent[first:], common))

    @final
    def remaining(self, spent: Amounts, price: Amounts) -> int:
        """How many more charges of this price fit; at most 2^62."""
        first = len(self.alternatives)
        counts = [
            _times(amount, limit, each)
            for amount, limit, each in zip(
                spent, (*self.alternatives, *self.common), price, strict=True
            )
        ]
        return min(max(counts[:first]), *counts[first:], 1 << 62)

    @final
    def cost(self, spent: Amounts | None = None) -> Cost:
        """What a plan should minimise in company: the share of what is left that one charge would take.

        In units of epsilon, so that the costs of one filter can be compared with its budget.
        """
        return FilterCost(self, self.empty if spent is None else spent)


@final
@dataclass(frozen=True, slots=True)
class FilterCost:
    """A filter's charge for a curve, as one number: the epsilon it takes of the budget's total."""

    filter: Filter
    spent: Amounts

    def __call__(self, curve: Curve) -> float:
        price = self.filter.price(curve)
        first = len(self.filter.alternatives)
        limits = (*self.filter.alternatives, *self.filter.common)
        shares = [
            _share(amount, limit, each)
            for amount, limit, each in zip(self.spent, limits, price, strict=True)
        ]
        return self.filter.epsilon * max(min(shares[:first]), *shares[first:], 0.0)


@final
@dataclass(frozen=True, slots=True)
class FilterState:
    """A filter and what has been spent under it. Charging gives a new state, or refuses."""

    filter: Filter
    spent: Amounts

    @classmethod
    def start(cls, filter: Filter) -> FilterState:
        """Nothing spent yet."""
        return cls(filter, filter.empty)

    def charge(self, curve: Curve, *, tau: float | Fraction = 0) -> FilterState:
        """Charge one release, or a batch fixed together and composed into one curve."""
        return self.pay(self.filter.price(curve, tau=tau))

    def pay(self, price: Amounts) -> FilterState:
        """Charge a price that this filter (or one narrowed from the same) has named."""
        after = added(self.spent, checked_price(self.filter, price))
        if not self.filter.fits(after):
            raise BudgetExceeded(
                f"expected a charge that fits what is left of epsilon {self.filter.epsilon:g}, "
                f"delta {self.filter.delta:g} "
                f"(epsilon {self.epsilon:.6g} is spent); got one of epsilon {self.filter.epsilon_of(price):.6g}. "
                "Ask for a wider bound (the price names the nearest that fits), a lower confidence or fewer "
                "cells."
            )
        return FilterState(self.filter, after)

    def remaining(self, price: Amounts) -> int:
        """How many more charges of this price fit."""
        return self.filter.remaining(self.spent, price)

    @property
    def epsilon(self) -> float:
        """The epsilon spent, by this filter's own account; at most the budget's."""
        return min(self.filter.epsilon_of(self.spent), self.filter.epsilon)

    @property
    def delta(self) -> float:
        """The delta spent, by this filter's own account; at most the budget's."""
        return min(self.filter.delta_of(self.spent), self.filter.delta)


@functools.lru_cache(maxsize=256)
def limits_of(filter: Filter) -> tuple[Amounts, Amounts]:
    """A filter's limits, worked out once."""
    return filter.alternatives, filter.common


def checked_price(filter: Filter, price: Amounts) -> Amounts:
    """Refuse what no filter can have named: a negative, fractional or missing amount."""
    if (
        not isinstance(price, tuple)
        or len(price) != len(filter.empty)
        or any(type(amount) is not int or amount < 0 for amount in price)
    ):
        raise InvalidInput(
            "price", expected=f"{len(filter.empty)} whole amounts, 0 or above", got=price
        )
    return price


def tau_limit(epsilon: float, reserved: Fraction) -> int:
    """The largest sum of total variations T with (1 + e^epsilon) T <= reserved."""
    if epsilon > 700:
        raise InvalidInput("epsilon", expected="at most 700 with a delta above 0", got=epsilon)
    growth = Fraction(math.exp(epsilon)) * (1 + Fraction(1, 1 << 50))
    return rounded_down(reserved / (1 + growth))


def tau_amount(tau: float | Fraction) -> int:
    """A sampler's total variation, as an amount."""
    if isinstance(tau, Fraction):
        if not 0 <= tau <= 1:
            raise InvalidInput("tau", expected="a number in [0, 1]", got=float(tau))
        return rounded_up(tau)
    return rounded_up(_validate.probability(tau=tau))


def _times(amount: int, limit: int, each: int) -> int:
    if amount > limit or each >= INFINITE:
        return 0
    return (limit - amount) // each if each else 1 << 62


def _share(amount: int, limit: int, each: int) -> float:
    if each == 0:
        return 0.0 if amount <= limit else math.inf
    if each >= INFINITE or amount >= limit:
        return math.inf
    return float(Fraction(each, limit - amount))
