"""The privacy curve: delta as a function of epsilon, for one release or for many."""

from __future__ import annotations

import abc
import math
from numbers import Real
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from brdp import _validate
from brdp.errors import InvalidInput
from brdp.noise.base import Floats

# Points at which a root is looked for: evenly, and so close (in widths of the bracket) to the secant's.
SPLITS = 16
CROWDED = 0.25 ** np.arange(2.0, 26.0)
LARGEST_EPSILON = 1e15


class Curve(abc.ABC):
    """How much any event's probability can grow between neighbouring inputs.

    Guarantee: for every pair of neighbouring inputs, every event S and every epsilon >= 0,
    P(S) <= exp(epsilon) Q(S) + curve.delta(epsilon=epsilon). `delta` and `epsilon` are upper bounds;
    `delta_bounds` and `epsilon_bounds` enclose the truth from both sides.
    """

    __slots__ = ()

    @abc.abstractmethod
    def log_delta_bounds(self, epsilon: Floats) -> tuple[Floats, Floats]:
        """Lower and upper bounds of log delta(epsilon), for an array of epsilons >= 0."""

    @abc.abstractmethod
    def log_renyi(self, order: float) -> float:
        """(order - 1) times the Renyi divergence of that order > 1; the larger direction."""

    @property
    @abc.abstractmethod
    def largest_loss(self) -> float:
        """The largest privacy loss there is, rounded up; infinite for unbounded losses."""

    @final
    def log_delta(self, *, epsilon: ArrayLike) -> Floats:
        """Upper bound of log delta(epsilon), a number where delta itself would underflow."""
        return self.log_delta_bounds(_epsilons(epsilon))[1]

    @final
    def delta(self, *, epsilon: ArrayLike) -> Floats:
        """Return the smallest delta that holds at epsilon, rounded up; takes arrays."""
        return np.exp(self.log_delta(epsilon=epsilon))

    @final
    def delta_bounds(self, *, epsilon: ArrayLike) -> tuple[Floats, Floats]:
        """(lower, upper) bounds of delta(epsilon)."""
        lower, upper = self.log_delta_bounds(_epsilons(epsilon))
        return np.exp(lower), np.exp(upper)

    @final
    def epsilon(self, *, delta: float) -> float:
        """Return the smallest epsilon that holds at delta, rounded up.

        Where none does, a single release is refused, with the least delta for which there is one; a
        composition gives infinity, unless its losses have no bound and delta is 0.

        Guarantee: delta(epsilon) at the returned epsilon is at most `delta`.
        """
        found = self.epsilon_or_infinity(delta=delta)
        if math.isinf(found):
            self._require_an_epsilon(float(delta))
        return found

    @final
    def epsilon_or_infinity(self, *, delta: float) -> float:
        """As `epsilon`, but infinite where no epsilon holds: for searches, which pass through such noise."""
        delta = _validate.below_one(delta=delta)
        return self._invert(delta, upper=True)

    @final
    def epsilon_bounds(self, *, delta: float) -> tuple[float, float]:
        """(lower, upper) bounds of epsilon(delta)."""
        delta = _validate.below_one(delta=delta)
        upper = self._invert(delta, upper=True)
        return self._invert(delta, upper=False, near=upper), upper

    @final
    def renyi(self, *, order: float) -> float:
        """Return the Renyi divergence of an order above 1, rounded up; inf gives the largest loss."""
        order = _order(order)
        if math.isinf(order):
            return self.largest_loss
        value = self.log_renyi(order) / (order - 1)
        return max(0.0, value + 1e-12 * abs(value))

    @final
    def compose(self, count: int) -> Curve:
        """Return the cost of `count` releases on the same data; `brdp.compose` takes unequal ones.

        Guarantee: as in `Curve`, for the queries together, even if chosen adaptively.
        """
        # compositions are curves themselves, so they stand above this module
        from brdp.privacy.compose import compose

        return compose({self: count})

    def _require_an_epsilon(self, delta: float) -> None:
        """Refuse a delta for which not even the largest epsilon holds."""
        if delta == 0:
            raise InvalidInput(
                "delta",
                expected="a number above 0, for this privacy loss has no bound",
                got=delta,
                remedy="Give a delta such as 1e-6, or use noise that can be pure, such as Laplace.",
            )

    def _invert(self, delta: float, *, upper: bool, near: float | None = None) -> float:
        """The root of the upper (or lower) end of the curve, on the private (or the other) side.

        `near` is where it probably lies, or a little above it.
        A curve that knows a faster way to the same certified ends may override this search.
        """
        if delta == 0:
            # it was rounded up by less than 5e-15
            return self.largest_loss if upper else self.largest_loss * (1 - 5e-15)
        target, side = math.log(delta), int(upper)
        # the log may round up past delta: the private side is one float lower
        target = math.nextafter(target, -math.inf) if upper else target

        def excess(epsilon: Floats) -> Floats:
            return np.asarray(self.log_delta_bounds(epsilon)[side] - target)

        ceiling = min(self.largest_loss, LARGEST_EPSILON)
        low, high = 0.0, min(1.0, ceiling)
        if near is not None and 0 < near < ceiling:
            low, high = near * (1 - 1e-10), near
        above, below = (float(x) for x in excess(np.array([low, high])))
        if above <= 0 < low:
            low, above = 0.0, float(excess(np.zeros(1))[0])
        if above <= 0:
            return 0.0
        while high < ceiling and below > 0:
            low, above, high = high, below, min(2 * high, ceiling)
            below = float(excess(np.array([high]))[0])
        # at the largest loss delta is 0, whatever rounding outwards makes of it
        if high < self.largest_loss and below > 0:
            # not even the largest epsilon tried: beyond it lies a loss without bound
            return math.inf if upper else low
        while True:
            # delta(epsilon) never rises, so the first point that holds brackets the root anew
            points = _between(low, above, high, below)
            inside = points[(points > low) & (points < high)]
            if not len(inside):
                return high if upper else low
            values = excess(inside)
            held = values <= 0
            first = int(np.argmax(held)) if held.any() else len(inside)
            if first < len(inside):
                high, below = float(inside[first]), float(values[first])
            if first > 0:
                low, above = float(inside[first - 1]), float(values[first - 1])
            if high - low <= 4 * math.ulp(high):
                return high if upper else low


def _between(low: float, above: float, high: float, below: float) -> Floats:
    """Points inside a bracket, crowded around where the secant meets 0, and even ones."""
    width = high - low
    even = np.linspace(low, high, SPLITS + 1)
    if not (math.isfinite(above) and math.isfinite(below) and above > below):
        return even
    guess = low + width * above / (above - below)
    near = np.concatenate([guess - width * CROWDED, [guess], guess + width * CROWDED])
    return np.sort(np.concatenate([even[1:-1], near]))


def _epsilons(epsilon: ArrayLike) -> Floats:
    try:
        values = np.asarray(epsilon, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        values = np.array(np.nan)
    if not np.all(values >= 0):
        raise InvalidInput("epsilon", expected="numbers, 0 or above", got=epsilon)
    # delta never rises, so that what holds here holds further on
    return np.minimum(values, LARGEST_EPSILON)


def _order(order: object) -> float:
    number = math.nan if isinstance(order, bool) or not isinstance(order, Real) else float(order)
    if not number > 1:
        raise InvalidInput("order", expected="a number above 1, or inf", got=order)
    return number
