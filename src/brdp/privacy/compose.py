"""What many releases cost together: certified from both sides."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from brdp import _validate
from brdp.errors import InvalidInput
from brdp.noise import Gaussian
from brdp.noise.base import Floats
from brdp.privacy.base import Curve
from brdp.privacy.curve import curve_of
from brdp.privacy.real import RealCurve

if TYPE_CHECKING:
    from brdp.privacy.solve import Bounds

REMEDY = "For example brdp.compose({noise.privacy(sensitivity=1): 1000}), or a list of curves."
# Beyond this relative gap an answer says so.
LOOSE = 1e-4
# mu of merged Gaussian releases carries a few roundings.
MERGED = 1e-14


@final
class LooseBounds(UserWarning):
    """A composed epsilon whose two bounds are further apart than they should be; the upper one holds."""


@final
@dataclass(frozen=True, slots=True)
class ComposedCurve(Curve):
    """The cost of releasing each curve's noise as often as its count says, on the same data.

    Guarantee: as in `Curve`, for queries chosen adaptively as long as the curves and counts were fixed
    beforehand. Both ends of every bound are proven (docs/theory/composition.md).
    """

    parts: tuple[tuple[Curve, int], ...]

    def log_delta_bounds(self, epsilon: Floats) -> tuple[Floats, Floats]:
        flat = [self._at(float(one)) for one in np.ravel(epsilon)]
        lower, upper = np.array(flat).reshape(-1, 2).T
        return lower.reshape(np.shape(epsilon)), upper.reshape(np.shape(epsilon))

    def log_renyi(self, order: float) -> float:
        return math.fsum(count * curve.log_renyi(order) for curve, count in self.parts)

    @property
    def largest_loss(self) -> float:
        return _up(math.fsum(count * curve.largest_loss for curve, count in self.parts))

    def _at(self, epsilon: float) -> Bounds:
        alone, mu = _one_curve(self.parts)
        if alone is not None:
            wrong = _blur(epsilon, mu)
            low, high = max(0.0, epsilon - wrong), epsilon + wrong
            bounds = alone.log_delta_bounds(np.array([high, low]))
            return float(bounds[0][0]), float(bounds[1][1])
        if epsilon >= self.largest_loss:
            return -math.inf, -math.inf
        # the engines of composition take as long to import as all else together
        from brdp.privacy.solve import bounds_at_epsilon

        return bounds_at_epsilon(merged(self.parts), epsilon)

    def _invert(self, delta: float, *, upper: bool, near: float | None = None) -> float:
        if delta == 0:
            return Curve._invert(self, delta, upper=upper)  # slots undo super() without arguments
        lower, higher = _epsilon_bounds(self, delta)
        if upper:
            _warn_of_gap(lower, higher)
        return higher if upper else lower


@functools.lru_cache(maxsize=4096)
def _epsilon_bounds(curve: ComposedCurve, delta: float) -> Bounds:
    from brdp.privacy.solve import bounds_at_delta

    alone, mu = _one_curve(curve.parts)
    if alone is not None:
        lower, upper = alone.epsilon_bounds(delta=delta)
        return max(0.0, lower - _blur(lower, mu)), upper + _blur(upper, mu)
    parts = merged(curve.parts)
    return bounds_at_delta(parts, math.log(delta), most=curve.largest_loss)


def _warn_of_gap(lower: float, upper: float) -> None:
    """Say so, whenever it is stated, if the truth is not known as closely as it should be."""
    loose = upper == math.inf or upper - lower > max(LOOSE * upper, 1e-9)
    if loose and lower < math.inf:
        warnings.warn(
            f"epsilon is only known to lie between {lower:.6g} and {upper:.6g} (the upper end is stated): "
            "a relative gap above 1e-4. Noise whose two sides differ has a worst direction of its own in "
            "every release; a few releases of small samples are hard to follow.",
            LooseBounds,
            stacklevel=4,
        )


def compose(curves: Mapping[Curve, int] | Iterable[Curve]) -> ComposedCurve:
    """Compose curves: a mapping from curve to count, or a list of curves.

    Guarantee: see `ComposedCurve`. A unit that contributes to k groups is a k-fold composition.
    """
    parts: dict[Curve, int] = {}
    for curve, count in _pairs(curves):
        inner = curve.parts if isinstance(curve, ComposedCurve) else ((curve, 1),)
        for part, times in inner:
            parts[part] = parts.get(part, 0) + times * count
    if not parts:
        raise InvalidInput("curves", expected="at least one curve", got=curves, remedy=REMEDY)
    # the order in which curves were named does not matter to their sum
    return ComposedCurve(tuple(sorted(parts.items(), key=lambda part: repr(part[0]))))


def _pairs(curves: Mapping[Curve, int] | Iterable[Curve]) -> list[tuple[Curve, int]]:
    if isinstance(curves, Curve) or not isinstance(curves, Iterable):
        raise InvalidInput(
            "curves", expected="a mapping from curve to count, or a list", got=curves, remedy=REMEDY
        )
    pairs = list(curves.items()) if isinstance(curves, Mapping) else [(c, 1) for c in curves]
    for curve, _ in pairs:
        if not isinstance(curve, Curve):
            raise InvalidInput("curves", expected="privacy curves", got=curve, remedy=REMEDY)
    return [(curve, _validate.whole(count=count, least=1)) for curve, count in pairs]


def merged(parts: tuple[tuple[Curve, int], ...]) -> tuple[tuple[Curve, int], ...]:
    """The same composition with all plain Gaussian releases as one.

    The loss of a Gaussian release is normal with variance mu^2 and mean mu^2 / 2, mu being the
    sensitivity over sigma, so mu^2 adds up.
    """
    squares = []
    rest = []
    for curve, count in parts:
        if isinstance(curve, RealCurve) and isinstance(curve.noise, Gaussian):
            squares.append(count * (curve.sensitivity / curve.noise.sigma) ** 2)
        else:
            rest.append((curve, count))
    if not squares:
        return parts
    return ((curve_of(Gaussian(1.0), sensitivity=math.sqrt(math.fsum(squares))), 1), *rest)


@functools.lru_cache(maxsize=1024)
def _one_curve(parts: tuple[tuple[Curve, int], ...]) -> tuple[Curve | None, float]:
    """The single release that this composition is, if it is one, and mu if it merges several."""
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0], 0.0
    parts = merged(parts)
    if len(parts) == 1 and parts[0][1] == 1:
        one = parts[0][0]
        return one, one.sensitivity if isinstance(one, RealCurve) else 0.0
    return None, 0.0


def _blur(epsilon: float, mu: float) -> float:
    """How far epsilon may be off because mu is, relatively: d epsilon / d log mu <= epsilon + mu + mu^2."""
    return MERGED * (epsilon + mu + mu * mu) if mu > 0 else 0.0


def _up(value: float) -> float:
    return value * (1 + 1e-15)
