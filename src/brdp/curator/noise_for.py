"""Which noise a total gets: the cheapest, by what the budget's filter will charge. Reads no data."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from brdp.catalog.table import Table
from brdp.curator.release import Lattice, Release
from brdp.errors import InvalidInput, NotPossible
from brdp.noise.base import Noise
from brdp.noise.sampler import sampler_for
from brdp.planning import plan
from brdp.privacy.compose import compose
from brdp.privacy.filters import Filter, RenyiFilter, SumFilter
from brdp.query.model import Query
from brdp.query.sensitivity import sensitivity
from brdp.query.totals import BinCount, Total

# The kernels tried. Recycled Gaussians of thousands of steps take seconds to plan, and win only where very
# many releases are charged together.
KERNELS = ("laplace", "staircase")
FEW_STEPS = 16
SHARP = 8  # how much tighter than its pure quantile the bound of an epsilon is looked for


@final
@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of one total's noise: a bound, and a confidence or an epsilon for one cell."""

    within: Fraction
    confidence: float | None = None
    epsilon: float | None = None


def release_for(
    total: Total, wanted: Wanted, *, query: Query, table: Table, filter: Filter, parts: int
) -> Release:
    """Plan the noise of a total; `parts` is how many totals share the charge's delta."""
    moved = sensitivity(total, query=query, table=table)
    lattice = Lattice.of(total, moved, within=wanted.within)
    steps = lattice.bound(wanted.within)
    if steps < 1:
        raise NotPossible(
            f"expected a bound that leaves room for noise; got {float(wanted.within):g}, which is below "
            f"{float(lattice.reach(1)):g}, one step and the rounding. Widen it."
        )
    delta = delta_for(filter) / (parts * moved.cells)
    noise = _cheapest(
        filter,
        lattice.sensitivity,
        steps,
        wanted.confidence,
        None if wanted.epsilon is None else wanted.epsilon / moved.cells,
        delta,
        moved.cells,
    )
    return Release(total, lattice, noise, moved.cells, cells_of(total, query))


def tightest(
    total: Total,
    *,
    confidence: float,
    epsilon: float,
    query: Query,
    table: Table,
    filter: Filter,
    parts: int,
) -> tuple[Fraction, Release]:
    """The tightest bound that an epsilon can promise with a confidence, and its noise."""
    moved = sensitivity(total, query=query, table=table)
    # a Laplace of that epsilon keeps this bound already: noise can only do better
    high = moved.largest_move * Fraction(moved.cells / epsilon * -math.log(1 - confidence) * 1.1)
    high += 2 * moved.resolution

    def at(within: Fraction) -> Release | None:
        try:
            return release_for(
                total,
                Wanted(within, epsilon=epsilon),
                query=query,
                table=table,
                filter=filter,
                parts=parts,
            )
        except NotPossible:
            return None

    best = at(high)
    tries = 0
    while best is None or best.acceptance(high) < confidence:
        high, tries = 2 * high, tries + 1
        best = at(high)
        if tries > 20:
            raise NotPossible(
                f"expected noise of epsilon {epsilon:g} with a bound; got none. Give more epsilon."
            )
    low = high / SHARP
    for _ in range(8):
        middle = (low + high) / 2
        found = at(middle)
        if found is not None and found.acceptance(middle) >= confidence:
            high, best = middle, found
        else:
            low = middle
    return min(high, best.within(confidence)), best


def delta_for(filter: Filter) -> float:
    """The delta that one charge has."""
    return filter.delta_each if isinstance(filter, SumFilter) else 0.0


def cells_of(total: Total, query: Query) -> int:
    """How many cells an answer has."""
    groups = math.prod(len(group.keys or ()) for group in query.group_by)
    return groups * (total.bins if isinstance(total, BinCount) else 1)


@functools.lru_cache(maxsize=4096)
def _cheapest(
    filter: Filter,
    steps_moved: int,
    steps_within: int,
    confidence: float | None,
    epsilon: float | None,
    delta: float,
    folds: int,
) -> Noise:
    cost = filter.cost()
    candidates: Iterator[tuple[Noise, float]]
    best: tuple[float, Noise] | None = None
    candidates = _candidates(steps_moved, steps_within, confidence, epsilon, delta)
    if isinstance(filter, RenyiFilter) and confidence is not None and steps_moved <= FEW_STEPS:
        candidates = itertools.chain(
            candidates, _in_company(filter, steps_moved, steps_within, confidence)
        )
    for noise, acceptance in candidates:
        curve = noise.privacy(sensitivity=steps_moved)
        if epsilon is None:
            # for a confidence: the least charge
            value = cost(curve if folds == 1 else compose({curve: folds}))
        else:
            # for an epsilon: the best acceptance, or the least charge where two accept alike
            value = -acceptance
        if best is None or value < best[0]:
            best = value, noise
    if best is None:
        raise NotPossible(
            "expected a bound and budget that some noise meets; got none. Ask for a wider bound or a "
            "lower confidence."
        )
    return best[1]


def _in_company(
    filter: RenyiFilter, steps_moved: int, steps_within: int, confidence: float
) -> Iterator[tuple[Noise, float]]:
    """What a plan for this filter finds: Gaussian noise, where many small charges add up by Renyi."""
    try:
        found = plan(
            sensitivity=steps_moved,
            within=steps_within,
            confidence=confidence,
            delta=filter.delta,
            kernel="gaussian",
            integer=True,
            cost=filter.cost(),
        )
        sampler_for(found.noise)
    except (NotPossible, InvalidInput):
        return
    yield found.noise, found.acceptance


def _candidates(
    steps_moved: int,
    steps_within: int,
    confidence: float | None,
    epsilon: float | None,
    delta: float,
) -> Iterator[tuple[Noise, float]]:
    for kernel in KERNELS:
        try:
            found = plan(
                sensitivity=steps_moved,
                within=steps_within,
                confidence=confidence,
                epsilon=epsilon,
                delta=delta,
                kernel=kernel,
                integer=True,
            )
            sampler_for(found.noise)  # noise too wide for the sampler's tables is no candidate
        except (NotPossible, InvalidInput):
            continue
        yield found.noise, found.acceptance
