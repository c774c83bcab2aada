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
from brdp.curator.release import MOST_ROWS, Lattice, Release, curves_of, joined
from brdp.errors import InvalidInput, NotPossible
from brdp.noise.base import Noise
from brdp.noise.lattice import FINENESS, LARGEST_STEPS, WIDEST_SCALE
from brdp.noise.sampler import require_table
from brdp.planning import plan
from brdp.privacy.compose import compose
from brdp.privacy.filters import Filter, RenyiFilter, SumFilter
from brdp.query.model import Query
from brdp.query.sensitivity import Sensitivity, sensitivity
from brdp.query.totals import BinCount, Total

# The kernels tried. Recycled Gaussians of thousands of steps take seconds to plan, and win only where very
# many releases are charged together.
KERNELS = ("laplace", "staircase")
FEW_STEPS = 16
SHARP = 8  # how much tighter than its pure quantile the bound of an epsilon is looked for
MOST_DOUBLINGS = 20
LEAST_CONFIDENCE = 0.001
LARGEST_DELTA = 0.1
MOST_EPSILON = 100.0  # beyond it the noise of one total is 0 all but always

Moves = tuple[tuple[int, int], ...]


@final
@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of one total's noise, two of three: a bound, a confidence and an epsilon for one cell."""

    bound: Fraction | None
    confidence: float | None = None
    epsilon: float | None = None


def release_for(
    total: Total, wanted: Wanted, *, query: Query, table: Table, filter: Filter, parts: int
) -> Release:
    """Plan the noise of a total; `parts` is how many totals share the charge's delta."""
    if wanted.confidence is not None and wanted.confidence >= 1:
        raise NotPossible(
            "expected a confidence below 1 - 2^-53; got one above. Ask for a lower confidence."
        )
    moved = sensitivity(total, query=query, table=table)
    rate = query.sampling_rate
    # what a sample may cost before sampling hides any of it
    delta = min(delta_for(filter) / float(rate or 1), LARGEST_DELTA) / parts
    cells = None if query.groups_of is not None else cells_of(total, query)
    if wanted.bound is not None:
        return _at(wanted.bound, wanted, total, moved, filter, delta, cells, rate)
    return _tightest(wanted, total, moved, filter, delta, cells, rate)


def _at(
    within: Fraction,
    wanted: Wanted,
    total: Total,
    moved: Sensitivity,
    filter: Filter,
    delta: float,
    cells: int | None,
    rate: Fraction | None,
) -> Release:
    """The noise for a bound."""
    lattice = Lattice.of(total, moved, within=within, scale=_scale(within, wanted, moved))
    steps = lattice.bound(within)
    if steps < 1:
        raise NotPossible(
            f"expected a bound that leaves room for noise, {float(lattice.reach(1)):g} or above; got "
            f"{float(within):g}. Widen it."
        )
    if lattice.sensitivity * MOST_ROWS >= LARGEST_STEPS:
        least = moved.largest_move * MOST_ROWS * FINENESS / LARGEST_STEPS
        raise NotPossible(
            f"expected a bound of at least {float(least):g}, so that floats hold every answer exactly; got "
            f"{float(within):g}. Widen it."
        )
    confidence = wanted.confidence if wanted.epsilon is None else None
    if confidence is not None:
        # noise for a lower confidence or a wider bound would not fit the sampler's tables, and saves nothing
        confidence = max(confidence, LEAST_CONFIDENCE)
        steps = min(steps, int(-math.log1p(-confidence) * WIDEST_SCALE / 2))
    epsilon = None if wanted.epsilon is None else min(wanted.epsilon, MOST_EPSILON)
    moves = lattice.moves(moved)
    noise = _noise(filter, moves, steps, confidence, epsilon, delta, rate)
    return Release(total, lattice, noise, moves, cells)


def _tightest(
    wanted: Wanted,
    total: Total,
    moved: Sensitivity,
    filter: Filter,
    delta: float,
    cells: int | None,
    rate: Fraction | None,
) -> Release:
    """The noise of an epsilon with the tightest bound at a confidence."""
    confidence = wanted.confidence or 0.0

    def at(within: Fraction) -> Release | None:
        try:
            found = _at(within, wanted, total, moved, filter, delta, cells, rate)
        except NotPossible:
            return None
        return found if found.acceptance(within) >= confidence else None

    # a Laplace of that epsilon keeps this bound already: noise can only do better
    high = _scale(None, wanted, moved) * Fraction(-math.log1p(-confidence) * 1.1)
    high += 2 * moved.resolution
    best = at(high)
    for _ in range(MOST_DOUBLINGS):
        if best is None:
            high *= 2
            best = at(high)
    if best is None:
        raise NotPossible(
            f"expected noise of epsilon {wanted.epsilon:.3g} with a bound; got none: it would be wider than the "
            "sampler's tables. Give more epsilon."
        )
    low = high / SHARP
    for _ in range(8):
        middle = (low + high) / 2
        found = at(middle)
        if found is None:
            low = middle
        else:
            high, best = middle, found
    return best


def _scale(within: Fraction | None, wanted: Wanted, moved: Sensitivity) -> Fraction:
    """About how wide the noise will be."""
    if wanted.epsilon is None and within is not None:
        confidence = max(wanted.confidence or 0.0, LEAST_CONFIDENCE)
        return within / Fraction(-math.log1p(-confidence))
    epsilon = Fraction(min(wanted.epsilon or MOST_EPSILON, MOST_EPSILON))
    return sum(moved.moves) * moved.resolution / epsilon


def delta_for(filter: Filter) -> float:
    """The delta that one charge has."""
    return filter.delta_each if isinstance(filter, SumFilter) else 0.0


def cells_of(total: Total, query: Query) -> int:
    """How many cells an answer has."""
    groups = math.prod(len(group.keys or ()) for group in query.group_by)
    return groups * (total.bins if isinstance(total, BinCount) else 1)


@functools.lru_cache(maxsize=4096)
def _noise(
    filter: Filter,
    moves: Moves,
    steps_within: int,
    confidence: float | None,
    epsilon: float | None,
    delta: float,
    rate: Fraction | None,
) -> Noise:
    """The noise for cells that move so far; with an epsilon, at most that in all."""
    folds = sum(count for _, count in moves)
    if epsilon is None or folds == 1:
        return _cheapest(filter, moves, steps_within, confidence, epsilon, delta / folds, rate)
    # were the cost proportional to the move, the cell that moves most would have this share of it
    each = epsilon * moves[0][0] / sum(steps * count for steps, count in moves)
    while True:
        noise = _cheapest(filter, moves, steps_within, confidence, each, delta / folds, rate)
        spent = compose(curves_of(noise, moves)).epsilon(delta=delta)
        # the least share is certain to fit: no cell costs more than the first
        if spent <= epsilon or each <= epsilon / folds:
            return noise
        each = max(epsilon / folds, 0.98 * each * epsilon / spent)


def _cheapest(
    filter: Filter,
    moves: Moves,
    steps_within: int,
    confidence: float | None,
    epsilon: float | None,
    delta: float,
    rate: Fraction | None,
) -> Noise:
    cost = filter.cost()
    steps_moved = moves[0][0]
    candidates: Iterator[tuple[Noise, float]]
    best: tuple[float, Noise] | None = None
    candidates = _candidates(steps_moved, steps_within, confidence, epsilon, delta)
    if isinstance(filter, RenyiFilter) and confidence is not None and steps_moved <= FEW_STEPS:
        candidates = itertools.chain(
            candidates, _in_company(filter, steps_moved, steps_within, confidence)
        )
    for noise, acceptance in candidates:
        if epsilon is None:
            # for a confidence: the least charge
            value = cost(joined(curves_of(noise, moves), rate))
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
        require_table(found.noise)
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
            require_table(found.noise)  # noise too wide for the sampler's tables is no candidate
        except (NotPossible, InvalidInput):
            continue
        yield found.noise, found.acceptance
