"""An adversarial analyst, exhaustively and in exact arithmetic.

An analyst who tries to tell P from Q may, after every outcome, choose any mechanism of a menu that the
stopping rule still grants, or stop. `advantage` is the largest P(S) - E Q(S) over all strategies and events S:
the true delta of the whole interaction at epsilon = log E. Probabilities are fractions; nothing is rounded.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from brdp.privacy import Curve

State = Hashable
# the next state, or None where the rule refuses
Rule = Callable[[State, "Mechanism"], State | None]


@final
@dataclass(frozen=True)
class Mechanism:
    """A finite mechanism: the chance of every outcome under P and under Q."""

    under_p: tuple[Fraction, ...]
    under_q: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        assert sum(self.under_p) == sum(self.under_q) == 1

    @property
    def curve(self) -> PairCurve:
        return PairCurve(self.under_p, self.under_q)


def response(odds: Fraction | int) -> Mechanism:
    """Randomised response: the truth, with these odds."""
    truth = Fraction(odds) / (1 + Fraction(odds))
    return Mechanism((truth, 1 - truth), (1 - truth, truth))


def leaking(odds: Fraction | int, leak: Fraction) -> Mechanism:
    """Randomised response that shows the truth outright with a small chance."""
    inner = response(odds)
    return Mechanism(
        (leak, Fraction(0), *((1 - leak) * p for p in inner.under_p)),
        (Fraction(0), leak, *((1 - leak) * q for q in inner.under_q)),
    )


@dataclass(frozen=True, slots=True)
class PairCurve(Curve):
    """The exact curve of a finite pair, in both directions, rounded up by a hair."""

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]

    def log_delta_bounds(self, epsilon):
        def one(x: float) -> float:
            growth = Fraction(math.exp(min(x, 700.0))) * (1 - Fraction(1, 1 << 50))
            delta = max(
                sum(max(a - growth * b, Fraction(0)) for a, b in zip(self.p, self.q, strict=True)),
                sum(max(b - growth * a, Fraction(0)) for a, b in zip(self.p, self.q, strict=True)),
            )
            return math.log(delta) + 1e-12 if delta > 0 else -math.inf

        upper = np.array([one(x) for x in np.ravel(epsilon)]).reshape(np.shape(epsilon))
        return upper - 1e-9, upper

    def log_renyi(self, order: float) -> float:
        def one_way(p, q) -> float:
            total = 0.0
            for a, b in zip(p, q, strict=True):
                if a > 0 and b == 0:
                    return math.inf
                if a > 0:
                    total += float(a) ** order * float(b) ** (1 - order)
            return math.log(total) + 1e-12

        return max(one_way(self.p, self.q), one_way(self.q, self.p))

    @property
    def largest_loss(self) -> float:
        ratios = [
            math.inf if 0 in (a, b) else abs(math.log(a / b))
            for a, b in zip(self.p, self.q, strict=True)
            if (a, b) != (0, 0)
        ]
        return max(ratios) * (1 + 1e-14)


def advantage(
    rule: Rule, start: State, menu: tuple[Mechanism, ...], *, growth: Fraction, depth: int
) -> Fraction:
    """The largest P(S) - growth Q(S), or Q(S) - growth P(S), that any strategy reaches."""
    swapped = {m: Mechanism(m.under_q, m.under_p) for m in menu}
    back = {other: m for m, other in swapped.items()}
    return max(
        one_way(rule, start, menu, growth=growth, depth=depth),
        one_way(
            lambda state, m: rule(state, back[m]),
            start,
            tuple(back),
            growth=growth,
            depth=depth,
        ),
    )


def one_way(
    rule: Rule, start: State, menu: tuple[Mechanism, ...], *, growth: Fraction, depth: int
) -> Fraction:
    """The largest P(S) - growth Q(S)."""

    @functools.cache
    def best(ratio: Fraction, state: State, left: int) -> Fraction:
        """The same, given that P has mass 1 here and Q has `ratio`: all is proportional to P's mass."""
        value = max(Fraction(0), 1 - growth * ratio)
        if left == 0:
            return value
        for mechanism in menu:
            after = rule(state, mechanism)
            if after is None:
                continue
            total = Fraction(0)
            for a, b in zip(mechanism.under_p, mechanism.under_q, strict=True):
                if a > 0:
                    total += a * (
                        Fraction(1) if b * ratio == 0 else best(ratio * b / a, after, left - 1)
                    )
            value = max(value, total)
        return value

    return best(Fraction(1), start, depth)


def composed_delta(mechanisms: tuple[Mechanism, ...], growth: Fraction) -> Fraction:
    """The exact delta of releasing these, fixed beforehand, in the worse direction."""
    outcomes = [(Fraction(1), Fraction(1))]
    for mechanism in mechanisms:
        outcomes = [
            (p * a, q * b)
            for p, q in outcomes
            for a, b in zip(mechanism.under_p, mechanism.under_q, strict=True)
        ]
    return max(
        sum((max(p - growth * q, Fraction(0)) for p, q in outcomes), Fraction(0)),
        sum((max(q - growth * p, Fraction(0)) for p, q in outcomes), Fraction(0)),
    )
