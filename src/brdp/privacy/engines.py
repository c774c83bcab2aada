"""The engines of composition, and what they need to know of the laws."""

from __future__ import annotations

import functools
import math
from typing import Protocol

import numpy as np

from brdp.privacy.contour import Batch, ContourSum, Frame, contour, framed, product
from brdp.privacy.fourier import FourierSum, convolve
from brdp.privacy.loss import AtomicLoss, LossLaw
from brdp.privacy.loss_pieces import GaussianLoss, LaplaceLoss
from brdp.privacy.loss_sampled import SampledLoss
from brdp.privacy.pld import LatticeLoss, connect, larger
from brdp.privacy.saddle import TILTS, Saddles, cumulant_of
from brdp.privacy.step import anchor, fitted_step
from brdp.privacy.sweep import sweep
from brdp.privacy.transform import UNIT, AtomicTransform, Transform, transform_of
from brdp.privacy.transform_sampled import SampledTransform

# One part of a composition: the laws of which any may be the worst, and how often.
Laws = tuple[tuple[LossLaw, ...], int]

# The window holds all but exp(-DECAY) of the tilted mass.
DECAY = 32.0
# How many nodes may matter then, and the epsilon below which the share is one of this.
MOST_LIVELY, LEAST_EPSILON = 1 << 15, 1e-3
# How far below delta (in logs) the contour's errors are kept, and with how many nodes at most,
# and at which share of the saddle's tilt: to its right the moments may explode.
EFFORTS = ((30.0, 1 << 12, 1.0), (30.0, 1 << 12, 0.8), (18.0, 1 << 14, 0.9), (13.0, 1 << 16, 0.8))
# The same errors, and the share of the saddle's tilt, where every node is summed.
SWEPT = (24.0, 0.9)
# Tilts at which Chernoff's bound is tried, relative to a saddle's: that of the other side, usually.
AROUND = np.geomspace(0.6, 10.0, 9)
# No tilt is larger than this over the range of one release's loss: the largest atom then stands alone.
STEEPEST = 200.0
# Nor is it larger than this over one step of the lattice.
FLATTEST = 3.0
# Nor is a step of it larger than this: exp(step) is the most that a split may add, and no float beyond.
COARSEST = 700.0
# Mass this much smaller (its log) than delta is counted as lost on each lattice, down to a least float.
NEGLIGIBLE, LEAST = -42.0, -600.0
# Where larger losses spoil the tilt, those so much rarer (in logs) than delta count as lost.
RARE = -22.0


class CertifiedSum(Protocol):
    """What an engine returns: bounds of log delta that are narrow near one epsilon, true everywhere."""

    def log_upper(self, epsilon: float) -> float: ...

    def log_lower(self, epsilon: float) -> float: ...


def atoms_alone(laws: tuple[Laws, ...]) -> bool:
    """Whether no moment ever fades far out, so that the inversion integral has no end."""
    batches = batches_of(laws)
    return batches is not None and all(isinstance(kind, AtomicTransform) for kind, _ in batches)


@functools.lru_cache(maxsize=256)
def saddles_of(laws: tuple[Laws, ...]) -> Saddles:
    """Where to put the tilt."""
    batches = batches_of(laws)
    if batches is None or any(isinstance(kind, SampledTransform) for kind, _ in batches):
        return Saddles.of(laws)
    return Saddles.from_cumulant(TILTS, product(batches, TILTS.astype(np.complex128))[0].real)


def log_chernoff(laws: tuple[Laws, ...], tilt: float, epsilon: float) -> float:
    """A quick upper bound of log delta: log k + log M(c) - c epsilon at the best of a few c about `tilt`."""
    batches = batches_of(laws)
    if batches is None or any(
        law.log_infinite > -math.inf for laws_of, _ in laws for law in laws_of
    ):
        return 0.0
    tilts = tilt * AROUND
    logs, errors = product(batches, tilts.astype(np.complex128))
    k = tilts * np.log(tilts / (1 + tilts)) - np.log1p(tilts)
    bounds = k + logs.real + errors - tilts * epsilon
    bounds += 8 * UNIT * (np.abs(logs.real) + tilts * epsilon)
    return float(min(0.0, bounds[np.isfinite(bounds)].min(initial=0.0)))


def without_explosions(laws: tuple[Laws, ...], tilt: float, log_delta: float) -> tuple[Laws, ...]:
    """The same laws, those cut short whose moments at this tilt would be of losses too rare to matter."""
    floor = rare(laws, log_delta)
    return tuple((tuple(_cut(law, tilt, floor) for law in found), n) for found, n in laws)


def _cut(law: LossLaw, tilt: float, floor: float) -> LossLaw:
    if isinstance(law, SampledLoss | GaussianLoss) and law.explodes(tilt, floor):
        return shortened(law, floor)
    return law


@functools.lru_cache(maxsize=1024)
def shortened(law: SampledLoss | GaussianLoss, floor: float) -> LossLaw:
    """The law without its largest losses, of less than exp(floor), which count as lost."""
    return law.cut(floor) if isinstance(law, SampledLoss) else law.cut_short(floor)


def refined(laws: tuple[Laws, ...], saddles: Saddles, tilt: float) -> Saddles:
    """The same with more tilts around this one."""
    tilts = saddles.between(tilt)
    return saddles.with_points(tilts, cumulant_of(laws, tilts))


@functools.lru_cache(maxsize=256)
def batches_of(laws: tuple[Laws, ...]) -> tuple[Batch, ...] | None:
    """The transforms of all laws, kind by kind; None where one has none."""
    kinds: dict[type[Transform], tuple[list[LossLaw], list[int]]] = {}
    for alternatives, count in laws:
        kind = kind_of(alternatives[0])
        if len(alternatives) > 1 or kind is None:
            return None
        members, counts = kinds.setdefault(kind, ([], []))
        members.append(alternatives[0])
        counts.append(count)
    return tuple(
        (kind(members), np.array(counts, dtype=np.float64))
        for kind, (members, counts) in kinds.items()
    )


def kind_of(law: LossLaw) -> type[Transform] | None:
    """The kind of transform of a law or of a sample; None where it has none."""
    if isinstance(law, SampledLoss) and isinstance(law.base, AtomicLoss):
        return AtomicTransform
    if isinstance(law, SampledLoss):
        return SampledTransform if isinstance(law.base, GaussianLoss | LaplaceLoss) else None
    return transform_of(law)


def by_contour(
    laws: tuple[Laws, ...],
    saddles: Saddles,
    *,
    tilt: float,
    epsilon: float,
    log_delta: float,
    effort: tuple[float, int, float],
    smoothing: float = 0.0,
) -> ContourSum | None:
    """By the inversion integral; None where some law has no transform or nodes would be too many."""
    tilt *= effort[2]
    found = frame_of(laws, tilt, epsilon, log_delta, tolerance=effort[0], smoothing=smoothing)
    if found is None:
        return None
    batches, frame = found
    variance = saddles.variance_at(tilt)
    return contour(batches, frame, variance=variance, most_nodes=effort[1])


def added(share: float, epsilon: float, tilt: float) -> float:
    """The variance of a normal loss that adds about this share to epsilon."""
    return share * max(epsilon, LEAST_EPSILON) / (1 + tilt)


def by_sweep(
    laws: tuple[Laws, ...],
    saddles: Saddles,
    *,
    tilt: float,
    epsilon: float,
    log_delta: float,
    most_nodes: int,
    smoothing: float = 0.0,
) -> ContourSum | None:
    """The same with every node up to a far end, by fast transforms."""
    tilt *= SWEPT[1]
    found = frame_of(laws, tilt, epsilon, log_delta, tolerance=SWEPT[0], smoothing=smoothing)
    if found is None:
        return None
    frame = found[1]
    alone = [(kind([law]), count) for (law,), count in laws if (kind := kind_of(law))]
    return sweep(alone, frame, variance=saddles.variance_at(tilt), most_nodes=most_nodes)


def swept(
    laws: tuple[Laws, ...],
    saddles: Saddles,
    *,
    tilt: float,
    epsilon: float,
    log_delta: float,
    most_nodes: int,
    smoothing: float,
) -> ContourSum | None:
    """Every node, or where they are too many and moments are quickly had those that matter."""
    point = {"tilt": tilt, "epsilon": epsilon, "log_delta": log_delta, "smoothing": smoothing}
    nodes = by_sweep(laws, saddles, **point, most_nodes=most_nodes)
    if nodes is None and smoothing > 0 and atoms_alone(laws):
        nodes = by_contour(laws, saddles, **point, effort=(22.0, MOST_LIVELY, 0.9))
    return nodes


def rare(laws: tuple[Laws, ...], log_delta: float) -> float:
    """A mass (its log) so much below delta that losses of it may count as lost."""
    # in even steps, so that what was made of them is found again
    return 2 * math.floor((log_delta + RARE - math.log(sum(n for _, n in laws))) / 2)


def frame_of(
    laws: tuple[Laws, ...],
    tilt: float,
    epsilon: float,
    log_delta: float,
    *,
    tolerance: float,
    smoothing: float,
) -> tuple[tuple[Batch, ...], Frame] | None:
    """The transforms, kind by kind, and where their nodes are to lie; None where moments are not known."""
    batches = batches_of(laws)
    if batches is None:
        return None
    most, least = (
        math.fsum(count * math.log1p(-math.exp(share(law))) for (law,), count in laws)
        for share in (log_infinite, log_infinite_least)
    )
    frame = framed(
        batches,
        tilt=tilt,
        epsilon=epsilon,
        log_delta=log_delta,
        log_finite=(most, least),
        tolerance=tolerance,
        smoothing=smoothing,
    )
    return None if frame is None else (batches, frame)


def log_infinite(law: LossLaw) -> float:
    """What counts as lost, as a function."""
    return law.log_infinite


def log_infinite_least(law: LossLaw) -> float:
    """What is lost, as a function."""
    return law.log_infinite_least


def by_fourier(
    laws: tuple[Laws, ...],
    saddles: Saddles,
    *,
    tilt: float,
    epsilon: float,
    log_delta: float,
    size: int,
) -> FourierSum | None:
    """By a lattice of about this many places; None where they would be too far apart to say anything."""
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
        if step > COARSEST:
            return None
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
