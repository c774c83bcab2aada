"""Which engines are tried on a composition, from the cheapest to the finest."""

from __future__ import annotations

from collections.abc import Iterator

from brdp.privacy.engines import (
    EFFORTS,
    MOST_LIVELY,
    CertifiedSum,
    Laws,
    added,
    atoms_alone,
    batches_of,
    by_contour,
    by_fourier,
    swept,
)
from brdp.privacy.jumps import by_jumps
from brdp.privacy.loss_pieces import GaussianLoss, LaplaceLoss
from brdp.privacy.loss_sampled import SampledLoss
from brdp.privacy.saddle import Saddles
from brdp.privacy.step import exact_step

# Where the moments do not fade far out: places of a lattice, with the relative gap from which on more are not
# worth their time, and shares of epsilon that a normal loss may add.
Ladder = tuple[tuple[tuple[tuple[int, float], ...], tuple[float, ...]], ...]
LADDER: Ladder = (
    (((1 << 12, 0.0), (1 << 14, 0.0)), (3e-9, 4e-8, 1e-6)),
    (((1 << 16, 5e-6), (1 << 18, 2e-5)), (2e-5,)),
    (((1 << 20, 0.0),), ()),
)
# The same for many releases whose losses share no lattice, and for a handful of subsampled ones.
LADDER_OF_MANY: Ladder = (((), (3e-9, 4e-8, 1e-6)), *LADDER[1:])
LADDER_OF_FEW: Ladder = ((LADDER[0][0], ()), *LADDER[1:])
# Relative gap at which nothing finer is tried, for few releases and for many.
HANDFUL, FEW, GAP, GAP_OF_MANY = 8, 100, 1e-6, 8e-9
# Shares of the gap aimed at that a normal loss may add where every node is summed, with how many nodes at most.
SWEPT_SHARES = ((0.0, 1 << 17), (0.5, 1 << 20), (0.05, 1 << 21))


def sums(
    laws: tuple[Laws, ...], saddles: Saddles, *, tilt: float, epsilon: float, log_delta: float
) -> Iterator[tuple[CertifiedSum, float]]:
    """Certified sums that are narrow near epsilon, each finer and dearer than the one before.

    With each comes the relative gap that is good enough to stop there.
    """
    releases = sum(count for _, count in laws)
    gap = GAP_OF_MANY if releases >= FEW else GAP
    point = {"tilt": tilt, "epsilon": epsilon, "log_delta": log_delta}
    sampled, many = _sampled(laws), releases >= FEW
    if not atoms_alone(laws) and not (releases < HANDFUL and sampled and not _smooth(laws)):
        for effort in EFFORTS[:1] if many and sampled else EFFORTS:
            nodes = by_contour(laws, saddles, **point, effort=effort)
            if nodes is not None:
                yield nodes, gap
    for rung, (sizes, shares) in enumerate(_ladder(laws, tilt, releases)):
        if many and rung == 1:
            yield from _finest(laws, saddles, gap=gap, **point)
        for size, enough in sizes:
            places = by_fourier(laws, saddles, **point, size=size)
            if places is not None:
                yield places, max(gap, enough)
        if not many and rung == 1:
            jumps = by_jumps(laws, epsilon=epsilon, log_delta=log_delta, gap=gap)
            if jumps is not None:
                yield jumps, gap
        for share in shares:
            if many and rung == 0 and (sampled or share > gap):
                break  # for every node at once is as quick, or narrower
            variance = added(share, epsilon, tilt)
            nodes = by_contour(
                laws, saddles, **point, effort=(22.0, MOST_LIVELY, 0.9), smoothing=variance
            )
            if nodes is not None:
                yield nodes, max(gap, 2 * share)


def _finest(
    laws: tuple[Laws, ...],
    saddles: Saddles,
    *,
    tilt: float,
    epsilon: float,
    log_delta: float,
    gap: float,
) -> Iterator[tuple[CertifiedSum, float]]:
    """What takes a second or two and is as narrow as it should be."""
    point = {"tilt": tilt, "epsilon": epsilon, "log_delta": log_delta}
    for share, most in SWEPT_SHARES:
        variance = added(share * gap, epsilon, tilt)
        nodes = swept(laws, saddles, **point, most_nodes=most, smoothing=variance)
        if nodes is not None:
            yield nodes, gap
    jumps = by_jumps(laws, epsilon=epsilon, log_delta=log_delta, gap=gap)
    if jumps is not None:
        yield jumps, gap


def _ladder(laws: tuple[Laws, ...], tilt: float, releases: int) -> Ladder:
    """What is tried where the moments do not fade, in which order."""
    if releases < HANDFUL and _sampled(laws):
        return LADDER_OF_FEW
    if releases >= FEW and batches_of(laws) is not None and exact_step(laws, tilt=tilt) == 0:
        return LADDER_OF_MANY
    return LADDER


def _smooth(laws: tuple[Laws, ...]) -> bool:
    """Whether there is a law whose moments fade and have a closed form."""
    return any(
        isinstance(law, GaussianLoss | LaplaceLoss)
        for alternatives, _ in laws
        for law in alternatives
    )


def _sampled(laws: tuple[Laws, ...]) -> bool:
    return any(isinstance(law, SampledLoss) for alternatives, _ in laws for law in alternatives)
