"""Choosing an engine, and searching a certified curve for an epsilon."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from brdp.errors import InvalidInput
from brdp.privacy.base import Curve
from brdp.privacy.contour import Batch, ContourSum, contour, product
from brdp.privacy.fourier import FourierSum, convolve
from brdp.privacy.loss import LossLaw
from brdp.privacy.loss_of import losses_of
from brdp.privacy.loss_pieces import GaussianLoss, LaplaceLoss
from brdp.privacy.loss_sampled import SampledLoss
from brdp.privacy.pld import LatticeLoss, connect, larger
from brdp.privacy.release import ReleaseCurve
from brdp.privacy.saddle import TILTS, Saddles, cumulant_of
from brdp.privacy.step import anchor, fitted_step
from brdp.privacy.subsample import SampledCurve
from brdp.privacy.transform import AtomicTransform, Transform, transform_of
from brdp.privacy.transform_sampled import SampledTransform

Bounds = tuple[float, float]
Parts = tuple[tuple[Curve, int], ...]
# One part: the laws of which any may be the worst, and how often.
Laws = tuple[tuple[LossLaw, ...], int]

# An infinite loss this probable (in logs) counts as certain: that only raises what is stated.
CERTAIN = -1e-13
# The window holds all but exp(-DECAY) of the tilted mass.
DECAY = 32.0
SIZES = (1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20)
# How far below delta (in logs) the contour's errors are kept, and with how many nodes at most,
# and at which share of the saddle's tilt: to its right the moments may explode.
EFFORTS = ((30.0, 1 << 12, 1.0), (30.0, 1 << 12, 0.8), (18.0, 1 << 14, 0.9), (13.0, 1 << 16, 0.8))
# Relative gap at which nothing finer is tried, for few releases and for many.
FEW, GAP, GAP_OF_MANY = 100, 1e-6, 5e-8
# No tilt is larger than this over the range of one release's loss: the largest atom then stands alone.
STEEPEST = 200.0
# Nor is it larger than this over one step of the lattice.
FLATTEST = 3.0
# Mass this much smaller (its log) than delta is counted as lost on each lattice, down to a least float.
NEGLIGIBLE, LEAST = -42.0, -600.0


class CertifiedSum(Protocol):
    """What an engine returns: bounds of log delta that are narrow near one epsilon, true everywhere."""

    def log_upper(self, epsilon: float) -> float: ...

    def log_lower(self, epsilon: float) -> float: ...


def bounds_at_epsilon(parts: Parts, epsilon: float) -> Bounds:
    """Bounds of log delta at one epsilon."""
    if _lost(parts):
        return 0.0, 0.0
    lower, upper = -math.inf, -math.inf
    for side in sides(parts):
        for laws, ends in _tasks(side):
            found = _refined_at_epsilon(laws, epsilon, above=lower)
            lower = max(lower, found[0] if ends[0] else -math.inf)
            upper = max(upper, found[1] if ends[1] else -math.inf)
    return lower, upper


def bounds_at_delta(parts: Parts, log_delta: float) -> Bounds:
    """Bounds of the epsilon at which log delta is this."""
    if _lost(parts):
        return math.inf, math.inf
    lower, upper = 0.0, 0.0
    for side in sides(parts):
        for laws, ends in _tasks(side):
            found = _refined_at_delta(laws, log_delta, above=lower)
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


def _refined_at_epsilon(laws: tuple[Laws, ...], epsilon: float, *, above: float) -> Bounds:
    """Bounds of log delta; no finer than needed to see that it is below `above`."""
    saddles = _saddles(laws)
    tilt = saddles.for_epsilon(epsilon)
    if saddles.rough(tilt):
        saddles = _refined(laws, saddles, tilt)
        tilt = saddles.for_epsilon(epsilon)
    lower, upper = -math.inf, 0.0
    for effort in EFFORTS:
        nodes = _contour(
            laws,
            saddles,
            tilt=tilt,
            epsilon=epsilon,
            log_delta=saddles.log_delta(tilt),
            effort=effort,
        )
        if nodes is not None:
            lower, upper = (
                max(lower, nodes.log_lower(epsilon)),
                min(upper, nodes.log_upper(epsilon)),
            )
            if upper - lower <= _gap(laws) or upper <= above:
                return lower, upper
    for size in SIZES:
        total = _fourier(
            laws, saddles, tilt=tilt, epsilon=epsilon, log_delta=saddles.log_delta(tilt), size=size
        )
        lower = max(lower, total.log_lower(epsilon))
        upper = min(upper, total.log_upper(epsilon))
        if upper - lower <= _gap(laws) or upper <= above:
            break
    return lower, upper


def _refined_at_delta(laws: tuple[Laws, ...], log_delta: float, *, above: float) -> Bounds:
    """Bounds of epsilon; no finer than needed to see that it is below `above`."""
    saddles = _saddles(laws)
    tilt, epsilon = saddles.for_delta(log_delta)
    if saddles.rough(tilt):
        saddles = _refined(laws, saddles, tilt)
        tilt, epsilon = saddles.for_delta(log_delta)
    lower, upper = 0.0, math.inf
    for effort in EFFORTS:
        nodes = _contour(
            laws, saddles, tilt=tilt, epsilon=epsilon, log_delta=log_delta, effort=effort
        )
        if nodes is not None:
            found = bracket(nodes, log_delta, guess=epsilon, tilt=tilt)
            lower, upper = max(lower, found[0]), min(upper, found[1])
            if _narrow(lower, upper, _gap(laws)) or upper <= above:
                return lower, upper
    for size in SIZES:
        total = _fourier(laws, saddles, tilt=tilt, epsilon=epsilon, log_delta=log_delta, size=size)
        found = bracket(total, log_delta, guess=epsilon, tilt=tilt)
        lower, upper = max(lower, found[0]), min(upper, found[1])
        if _narrow(lower, upper, _gap(laws)) or upper <= above:
            break
        epsilon = upper if upper < math.inf else epsilon
    return lower, upper


def _gap(laws: tuple[Laws, ...]) -> float:
    return GAP if sum(count for _, count in laws) < FEW else GAP_OF_MANY


def _narrow(lower: float, upper: float, gap: float) -> bool:
    return lower == math.inf or upper - lower <= max(gap * lower, 1e-9)


@functools.lru_cache(maxsize=256)
def _saddles(laws: tuple[Laws, ...]) -> Saddles:
    batches = _batches(laws)
    if batches is None or any(isinstance(kind, SampledTransform) for kind, _ in batches):
        return Saddles.of(laws)
    return Saddles.from_cumulant(TILTS, product(batches, TILTS.astype(np.complex128))[0].real)


def _refined(laws: tuple[Laws, ...], saddles: Saddles, tilt: float) -> Saddles:
    tilts = saddles.between(tilt)
    return saddles.with_points(tilts, cumulant_of(laws, tilts))


@functools.lru_cache(maxsize=256)
def _batches(laws: tuple[Laws, ...]) -> tuple[Batch, ...] | None:
    """The transforms of all laws, kind by kind; None where one has none, or where none ever fades."""
    kinds: dict[type[Transform], tuple[list[LossLaw], list[int]]] = {}
    for alternatives, count in laws:
        kind = _kind(alternatives[0])
        if len(alternatives) > 1 or kind is None:
            return None
        members, counts = kinds.setdefault(kind, ([], []))
        members.append(alternatives[0])
        counts.append(count)
    if set(kinds) == {AtomicTransform}:
        return None
    return tuple(
        (kind(members), np.array(counts, dtype=np.float64))
        for kind, (members, counts) in kinds.items()
    )


def _kind(law: LossLaw) -> type[Transform] | None:
    if isinstance(law, SampledLoss):
        return SampledTransform if isinstance(law.base, GaussianLoss | LaplaceLoss) else None
    return transform_of(law)


def _contour(
    laws: tuple[Laws, ...],
    saddles: Saddles,
    *,
    tilt: float,
    epsilon: float,
    log_delta: float,
    effort: tuple[float, int, float],
) -> ContourSum | None:
    batches = _batches(laws)
    if batches is None:
        return None
    finite = [(alternatives[0].log_infinite, count) for alternatives, count in laws]
    return contour(
        batches,
        saddles=saddles,
        tilt=tilt * effort[2],
        epsilon=epsilon,
        log_delta=log_delta,
        log_finite=math.fsum(n * math.log1p(-math.exp(m)) for m, n in finite),
        tolerance=effort[0],
        most_nodes=effort[1],
    )


def _fourier(
    laws: tuple[Laws, ...],
    saddles: Saddles,
    *,
    tilt: float,
    epsilon: float,
    log_delta: float,
    size: int,
) -> FourierSum:
    floor = max(LEAST, log_delta + NEGLIGIBLE - math.log(sum(count for _, count in laws)))
    span = max(_span(law, floor) for alternatives, _ in laws for law in alternatives)
    tilt = min(tilt, STEEPEST / span) if span > 0 else tilt
    widening = 1.0
    while True:
        low, high = saddles.window(tilt, decay=DECAY)
        low, high = min(low, epsilon), max(high, epsilon + 5 / tilt)
        middle, reach = 0.5 * (low + high), 0.55 * (high - low) * widening
        # a narrow window is no reason to cut one release's losses into more cells than there are places
        step = fitted_step(laws, most=max(2 * reach, span) / size, tilt=tilt)
        if tilt * step > 1.01 * FLATTEST:
            # between the points of a coarse lattice the payoff falls like exp(-tilt * distance)
            tilt = FLATTEST / step
            continue
        # an exact lattice may be so coarse that far fewer places do
        places = size
        while places > 256 and places // 2 * step > 2 * reach:
            places //= 2
        total = convolve(
            _lattices(laws, step=step, tilt=tilt, log_floor=floor),
            tilt=tilt,
            low=middle - reach,
            size=places,
        )
        if total.above + total.below < 1e-13 or widening > 60:
            return total
        widening *= 2


def _span(law: LossLaw, log_floor: float) -> float:
    """How far the finite losses of one release reach."""
    low, high = law.support(log_floor)
    losses, log_masses = law.atoms
    heavy = losses[log_masses > log_floor]
    low, high = min(low, heavy.min(initial=low)), max(high, heavy.max(initial=high))
    return max(0.0, float(high - low))


def _lattices(
    laws: tuple[Laws, ...], *, step: float, tilt: float, log_floor: float
) -> list[tuple[LatticeLoss, int]]:
    lattices = []
    for alternatives, count in laws:
        offset = anchor(alternatives[0], tilt)
        found = [
            connect(law, step=step, offset=offset, log_floor=log_floor) for law in alternatives
        ]
        lattices.append((functools.reduce(larger, found), count))
    return lattices


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
