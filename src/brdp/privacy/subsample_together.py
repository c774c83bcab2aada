"""Several releases of one random sample: their joint curve, amplified once.

What shares a sample must not be amplified apart and then composed: a unit is in the sample for all of them or for
none. So the releases are composed first, as if their units were certain, and the pair of joint laws is mixed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy

from brdp import _validate
from brdp.errors import InvalidInput
from brdp.noise.base import Floats
from brdp.privacy.base import Curve
from brdp.privacy.compose import ComposedCurve, compose
from brdp.privacy.release import ReleaseCurve
from brdp.privacy.subsample import SampledCurve, amplified, largest_amplified

# Beyond this order the moments of the mixture are not worth adding up; a bound that needs one is taken.
HIGHEST_ORDER = 256
ROUNDING = 1e-11


@final
@dataclass(frozen=True, slots=True)
class SampledTogether(Curve):
    """The curve of releases that all look at one Poisson sample; neighbours differ by one unit more or less.

    Guarantee: as in `Curve`, if every unit is sampled by a fresh secret coin for every such set of releases. Delta
    is exact as far as the base curve is; Renyi divergences are upper bounds. Proofs: docs/theory/sampling.md.
    """

    base: ComposedCurve
    sampling_rate: float

    def log_delta_bounds(self, epsilon: Floats) -> tuple[Floats, Floats]:
        return amplified(self.base, self.sampling_rate, epsilon)

    def log_renyi(self, order: float) -> float:
        p = self.sampling_rate
        moment = _moment(self.base, order)
        if math.isinf(moment):
            return math.inf
        # with L the ratio of the pair, (1 - p + p L)^order is convex in L, and so is its inverse: the sums of
        # either direction are at most the mean of what they are at p = 0 and p = 1
        either = float(np.logaddexp(math.log1p(-p), math.log(p) + moment))
        if _symmetric(self.base):
            # where an exchange of the pair is a reflection, the side with one unit more is the larger one
            either = min(either, _removed(self.base, p, order))
        return either * (1 + ROUNDING)

    @property
    def largest_loss(self) -> float:
        return largest_amplified(self.base, self.sampling_rate)

    def _invert(self, delta: float, *, upper: bool, near: float | None = None) -> float:
        """By the base's own inverse: delta' = delta / p, and exp(epsilon) = 1 + p (exp(epsilon') - 1)."""
        p = self.sampling_rate
        inner = delta / p
        if delta == 0 or inner >= 1 - 1e-12:
            return super(SampledTogether, self)._invert(delta, upper=upper, near=near)
        if not upper:
            lower = self.base.epsilon_bounds(delta=inner * (1 + 1e-14))[0]
            return _outer(lower, p) * (1 - 1e-13)
        found = _outer(self.base.epsilon(delta=inner * (1 - 1e-14)), p)
        if math.isinf(found):
            return found
        target = math.nextafter(math.log(delta), -math.inf)
        for more in (1e-14, 1e-13, 1e-12, 1e-10, 1e-8):
            # the other direction is seldom the worse one
            outer = found * (1 + more)
            if self.log_delta_bounds(np.array([outer]))[1][0] <= target:
                return outer
        return super(SampledTogether, self)._invert(delta, upper=upper, near=near)


def sample_together(curves: Mapping[Curve, int], *, sampling_rate: float) -> Curve:
    """Return the curve of releasing each curve's noise as often as its count says, all of one Poisson sample.

    Guarantee: as in `Curve`, for everything released of the sample together; the curves are those of units that
    are in the sample for certain.
    """
    rate = _validate.probability(sampling_rate=sampling_rate)
    if rate in (0, 1):
        raise InvalidInput("sampling_rate", expected="a rate between 0 and 1", got=rate)
    base = compose(curves)
    ((only, count), *others) = base.parts
    if not others and count == 1 and isinstance(only, ReleaseCurve):
        return SampledCurve(only, rate)
    return SampledTogether(base, rate)


def _outer(inner: float, p: float) -> float:
    """The epsilon of the mixture for one of the pair."""
    if inner > 700:
        return inner + math.log(p)
    return math.log1p(p * math.expm1(inner))


def _symmetric(base: ComposedCurve) -> bool:
    return all(
        isinstance(part, ReleaseCurve) and part.noise.recycler.symmetric for part, _ in base.parts
    )


@functools.lru_cache(maxsize=1 << 14)
def _moment(base: ComposedCurve, order: float) -> float:
    """Upper bound of log E_Q[L^order], L the likelihood ratio of the pair; 0 at 0 and 1."""
    return 0.0 if order <= 1 else max(0.0, base.log_renyi(order)) * (1 + 1e-12)


def _removed(base: ComposedCurve, p: float, order: float) -> float:
    """log E_Q[(1 - p + p L)^order]: a binomial sum at whole orders, and convex between them."""
    if order > HIGHEST_ORDER:
        return math.inf
    below = math.floor(order)
    at, above = _binomial(base, p, below), _binomial(base, p, below + 1)
    return at + (order - below) * (above - at)


@functools.lru_cache(maxsize=1 << 12)
def _binomial(base: ComposedCurve, p: float, order: int) -> float:
    """The excess over 1 is added up by itself: the sum is 1 where L is 1."""
    if order < 2:
        return 0.0
    k = np.arange(2, order + 1)
    moments = np.array([_moment(base, float(one)) for one in k])
    log_factorial = scipy.special.gammaln
    logs = log_factorial(order + 1) - log_factorial(k + 1) - log_factorial(order - k + 1)
    logs += k * math.log(p) + (order - k) * math.log1p(-p)
    with np.errstate(divide="ignore"):
        # log(exp(moment) - 1)
        excess = np.where(
            moments > 1,
            moments + np.log1p(-np.exp(-np.maximum(moments, 1.0))),
            np.log(np.expm1(np.minimum(moments, 1.0))),
        )
    return _log1p_exp(float(np.logaddexp.reduce(logs + excess)))


def _log1p_exp(log: float) -> float:
    return log + math.log1p(math.exp(-log)) if log > 0 else math.log1p(math.exp(log))
