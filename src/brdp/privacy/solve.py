"""From curves to bounds: which laws to compose, and searching a certified sum for an epsilon."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from brdp.errors import InvalidInput
from brdp.privacy.base import Curve
from brdp.privacy.engines import (
    CertifiedSum,
    Laws,
    log_chernoff,
    refined,
    saddles_of,
    without_explosions,
)
from brdp.privacy.ladder import sums
from brdp.privacy.loss import LossLaw
from brdp.privacy.loss_of import losses_of
from brdp.privacy.release import ReleaseCurve
from brdp.privacy.saddle import Saddles
from brdp.privacy.subsample import SampledCurve

Bounds = tuple[float, float]
Parts = tuple[tuple[Curve, int], ...]

# An infinite loss this probable (in logs) counts as certain: that only raises what is stated.
CERTAIN = -1e-13
# How far (relatively) a guess of epsilon may be off before nodes are laid anew, and how often.
ASTRAY, ANEW = 0.02, 2
# How far (in logs) a guess of delta may be off.
FAINTER = 3.0
# Below this epsilon a gap of 1e-9 is narrow.
LEAST = 0.01


def bounds_at_epsilon(parts: Parts, epsilon: float) -> Bounds:
    """Bounds of log delta at one epsilon."""
    if _lost(parts):
        return CERTAIN, 0.0
    lower, upper, hint = -math.inf, -math.inf, 0.0
    for side in sides(parts):
        for laws, ends in _tasks(side):
            found = _refined_at_epsilon(laws, epsilon, above=lower, hint=hint)
            hint = hint or saddles_of(laws).for_epsilon(epsilon)
            lower = max(lower, found[0] if ends[0] else -math.inf)
            upper = max(upper, found[1] if ends[1] else -math.inf)
    return lower, upper


def bounds_at_delta(parts: Parts, log_delta: float, *, most: float) -> Bounds:
    """Bounds of the epsilon at which log delta is this; `most` is the largest loss there is."""
    if _lost(parts):
        return math.inf if log_delta < CERTAIN else 0.0, math.inf
    lower, upper, hint = 0.0, 0.0, 0.0
    for side in sides(parts):
        for laws, ends in _tasks(side):
            found = _refined_at_delta(laws, log_delta, above=lower, most=most, hint=hint)
            hint = hint or saddles_of(laws).for_delta(log_delta)[0]
            lower = max(lower, found[0] if ends[0] else 0.0)
            upper = max(upper, found[1] if ends[1] else 0.0)
    return lower, upper


def _lost(parts: Parts) -> bool:
    """Whether some release always shows what its neighbour never would."""
    return any(
        any(law.log_infinite > CERTAIN for law in laws) for side in sides(parts) for laws, _ in side
    )


@functools.lru_cache(maxsize=256)
def sides(parts: Parts) -> tuple[tuple[Laws, ...], ...]:
    """The laws of each part, for either side of the neighbouring relation where it matters."""
    each = [(_sides_of(curve), count) for curve, count in parts]
    most = max(len(found) for found, _ in each)
    return tuple(
        tuple((found[min(side, len(found) - 1)], count) for found, count in each)
        for side in range(most)
    )


def _sides_of(curve: Curve) -> tuple[tuple[LossLaw, ...], ...]:
    """For each side of the neighbouring relation the laws of which any may be the worst.

    One side stands for both where they have the same laws.
    """
    if isinstance(curve, SampledCurve):
        return curve.losses()
    if isinstance(curve, ReleaseCurve):
        return (losses_of(curve),)
    raise InvalidInput("curves", expected="curves of releases or of their compositions", got=curve)


def _tasks(side: tuple[Laws, ...]) -> list[tuple[tuple[Laws, ...], tuple[bool, bool]]]:
    """What to compose for the lower and for the upper end.

    Where a part has several laws, any release of it may take any of them: the law of their largest
    curve is above, and any fixed choice is below.
    """
    if all(len(laws) == 1 for laws, _ in side):
        return [(side, (True, True))]
    tasks = [(side, (False, True))]
    for choice in (0, -1):
        tasks.append((tuple(((laws[choice],), n) for laws, n in side), (True, False)))
    shared: list[Laws] = []
    for laws, n in side:
        shared += [((laws[0],), n - n // 2)] if n > n // 2 else []
        shared += [((laws[-1],), n // 2)] if n // 2 else []
    tasks.append((tuple(shared), (True, False)))
    return tasks


def _refined_at_epsilon(
    laws: tuple[Laws, ...], epsilon: float, *, above: float, hint: float
) -> Bounds:
    """Bounds of log delta; no finer than needed to see that it is below `above`."""
    if above > -math.inf:
        most = log_chernoff(laws, hint, epsilon)
        if most <= above:
            return -math.inf, most

    def there(saddles: Saddles) -> tuple[float, float]:
        tilt = saddles.for_epsilon(epsilon)
        return tilt, saddles.log_delta(tilt)

    whole = laws
    laws, saddles = _placed(whole, there)
    tilt, log_delta = there(saddles)
    lower, upper = -math.inf, 0.0
    for again in range(ANEW, -1, -1):
        for total, gap in sums(laws, saddles, tilt=tilt, epsilon=epsilon, log_delta=log_delta):
            lower = max(lower, total.log_lower(epsilon))
            upper = min(upper, total.log_upper(epsilon))
            if upper <= max(lower + gap, above):
                return lower, upper
            if again and (lower > log_delta + FAINTER or -math.inf < upper < log_delta - FAINTER):
                # what is accurate enough for another delta is too much, or too little, for this one
                log_delta = found = max(lower, min(upper, log_delta))
                # and what may count as lost is another
                laws, saddles = _placed(whole, lambda s: (s.for_epsilon(epsilon), found))  # noqa: B023 - run at once
                tilt = saddles.for_epsilon(epsilon)
                break
        else:
            break
    return lower, upper


def _refined_at_delta(
    laws: tuple[Laws, ...], log_delta: float, *, above: float, most: float, hint: float
) -> Bounds:
    """Bounds of epsilon; no finer than needed to see that it is below `above`."""
    if above > 0 and log_chernoff(laws, hint, above) <= log_delta:
        return 0.0, above
    laws, saddles = _placed(laws, lambda saddles: (saddles.for_delta(log_delta)[0], log_delta))
    tilt, epsilon = saddles.for_delta(log_delta)
    lower, upper = 0.0, most
    for again in range(ANEW, -1, -1):
        for total, gap in sums(laws, saddles, tilt=tilt, epsilon=epsilon, log_delta=log_delta):
            found = bracket(total, log_delta, guess=epsilon, tilt=tilt)
            lower, upper = max(lower, found[0]), min(upper, found[1])
            narrow = upper - lower <= (1e-9 if upper < LEAST else gap * lower)
            if narrow or lower == math.inf or upper <= above:
                return lower, upper
            if again and 0 < upper < math.inf and abs(upper - epsilon) > ASTRAY * upper:
                # what was laid near one epsilon is narrow there only
                tilt, epsilon = saddles.for_epsilon(upper), upper
                break
        else:
            break
    return lower, upper


def _placed(
    laws: tuple[Laws, ...], there: Callable[[Saddles], tuple[float, float]]
) -> tuple[tuple[Laws, ...], Saddles]:
    """The laws, cut short where they need it, and saddles that are fine about the tilt; `there` says which tilt, and
    log delta there.
    """
    saddles, fine = saddles_of(laws), False
    for _ in range(4):
        tilt, log_delta = there(saddles)
        shorter = without_explosions(laws, tilt, log_delta)
        if shorter != laws:
            laws, saddles, fine = shorter, saddles_of(shorter), False
        elif saddles.rough(tilt) and not fine:
            saddles, fine = refined(laws, saddles, tilt), True
        else:
            break
    return laws, saddles


def bracket(total: CertifiedSum, log_delta: float, *, guess: float, tilt: float) -> Bounds:
    """Lower and upper bounds of the epsilon at which log delta is `log_delta`.

    The lower is a point at which delta is proven to be larger, the upper one at which it is proven not
    to be: neither stands on the curve being monotone.
    """
    target = math.nextafter(log_delta, -math.inf)
    upper = _first_below(total.log_upper, target, guess=guess, tilt=tilt)[1]
    lower = _first_below(total.log_lower, log_delta, guess=guess, tilt=tilt)[0]
    return lower, upper


def _first_below(
    curve: Callable[[float], float], target: float, *, guess: float, tilt: float
) -> Bounds:
    """(largest point seen above the target, smallest seen not above it), close together."""
    above, below = -math.inf, math.inf
    value_above = value_below = 0.0
    point, stride = guess, max(1.0 / tilt, 1e-6 * guess)
    for _ in range(200):
        value = curve(point)
        if value > target:
            above, value_above = point, value
        else:
            below, value_below = point, value
        if below == math.inf:
            # Newton's step by the slope -tilt, and a little more
            point = above + max(stride * 1e-3, min((value_above - target) / tilt * 1.1, stride))
            stride *= 4
            if point > 1e15:
                return math.inf, math.inf
        elif above == -math.inf:
            if below <= 0:
                return 0.0, 0.0
            ahead = (target - value_below) / tilt * 1.1 if value_below > -math.inf else stride
            point = max(0.0, below - max(stride * 1e-3, min(ahead, stride)))
            stride *= 4
        else:
            if below - above <= 1e-11 * below + 1e-14:
                break
            point = _between(above, value_above, below, value_below, target)
    return max(above, 0.0), below


def _between(
    above: float, value_above: float, below: float, value_below: float, target: float
) -> float:
    """A point inside: by the secant where it is trustworthy, else the middle."""
    width = below - above
    if math.isfinite(value_above) and math.isfinite(value_below) and value_above > value_below:
        share = (value_above - target) / (value_above - value_below)
        point = above + width * min(max(share, 1e-3), 1 - 1e-3)
        return point if above < point < below else above + 0.5 * width
    return above + 0.5 * width
