"""Plans with a log-concave kernel, plain or under a recycler with one bound."""

from __future__ import annotations

import functools
import math

import numpy as np

from brdp.noise import Recycled
from brdp.noise.base import Floats, Noise
from brdp.planning.certify import CLEAR, FIRST_STEP, least_fitting, overrun
from brdp.planning.request import Budget, Candidate
from brdp.planning.shapes import Shape
from brdp.planning.weight import PRECISELY, ROUGHLY, least_weight

# Scales tried, as multiples of the plain one; bounds tried, as multiples of the one asked for and as
# steps of the sensitivity beyond it.
SCALES = np.geomspace(1 / 24, 12, 56)
BOUNDS = np.array([1.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.85, 0.93, 1.1])
STEPS_BEYOND = np.array([0.5, 1.0, 2.0, 4.0])
REFINEMENTS = 4
LEADERS = 48
# A search rounds: where what it found is not certified, kernels this much wider are tried.
WIDER = (1.0, 1.0001, 1.001, 1.01, 1.03)


def plain(shape: Shape, budget: Budget) -> Candidate | None:
    """The narrowest kernel that fits the budget by itself."""
    if budget.delta == 0 and not shape.can_be_pure:
        return None
    start = _plain_start(shape, budget)

    def make(scale: float) -> Noise:
        return shape.kernel(scale)

    noise = least_fitting(make, start, budget=budget, first=_first_step(budget))
    return None if noise is None else Candidate.of(noise, budget.within)


def recycled(shape: Shape, budget: Budget) -> Candidate | None:
    """The best scale, bound and rate together; the kernel alone may be over the budget."""
    if budget.delta == 0 and not shape.can_be_pure:
        return None
    found = _search(shape, budget)
    for wider in WIDER:
        for scale, bound, weight in found:
            noise = _certified(shape, *_widened(shape, scale, bound, weight, budget, wider), budget)
            if noise is not None:
                return Candidate.of(noise, budget.within)
    return None


def _widened(
    shape: Shape, scale: float, bound: float, weight: float, budget: Budget, wider: float
) -> tuple[float, float, float]:
    """The same point at a wider scale: the best one is often where the last feasible weight is about to vanish."""
    if wider == 1:
        return scale, bound, weight
    scale *= wider
    again = float(_weights(shape, np.array(scale), np.array(bound), budget, PRECISELY))
    return scale, bound, weight if math.isnan(again) else again


def acceptance_found(shape: Shape, budget: Budget) -> float:
    """Return the acceptance that the search finds, uncertified; for root finding over epsilon."""
    best = _search(shape, budget)
    if not best:
        return 0.0
    scale, bound, weight = best[0]
    return float(
        _acceptance(
            shape, np.array(scale), np.array(bound), np.array(weight), _edge(shape, budget.within)
        )
    )


def plain_acceptance_found(shape: Shape, budget: Budget) -> float:
    """Return the acceptance of the plain kernel, uncertified."""
    if budget.delta == 0 and not shape.can_be_pure:
        return 0.0
    scale, edge = np.array(_plain_start(shape, budget)), _edge(shape, budget.within)
    return float(shape.cdf(np.array(edge), scale) - shape.cdf(np.array(-edge), scale))


@functools.lru_cache(maxsize=64)
def _plain_start(shape: Shape, budget: Budget) -> float:
    """The least scale that fits, to about 1e-10; shapes without error control."""
    guess = shape.plain_scale(budget.sensitivity, budget.epsilon, budget.delta)
    if budget.delta == 0 or shape.plain_scale_is_exact:
        return guess
    low, high = guess / 64, guess * 64
    for _ in range(6):
        scales = np.geomspace(low, high, 48)
        crossing = shape.crossing(np.full(48, budget.epsilon), scales, budget.sensitivity)
        lost = shape.cdf(crossing, scales) - math.exp(budget.epsilon) * shape.cdf(
            crossing - budget.sensitivity, scales
        )
        fits = lost <= budget.delta
        # delta falls as the scale grows: take the last change, where rounding makes several
        last = int(np.flatnonzero(~fits)[-1]) if not fits.all() else 0
        low, high = scales[last], scales[min(last + 1, 47)]
        if high <= low * (1 + 1e-11):
            break
    return float(high)


def _search(shape: Shape, budget: Budget) -> list[tuple[float, float, float]]:
    """(scale, bound edge, weight), best first: a grid, then finer grids around its best point."""
    asked = _edge(shape, budget.within)
    scale_grid, bound_grid = _plain_start(shape, budget) * SCALES, _bounds(shape, budget)
    scales, bounds = (grid.ravel() for grid in np.meshgrid(scale_grid, bound_grid, indexing="ij"))
    rough = _acceptance(
        shape, scales, bounds, _weights(shape, scales, bounds, budget, ROUGHLY), asked
    )
    found: list[tuple[float, float, float, float]] = []
    # a rough weight flatters, so the best by that measure show what they are worth, until no other can be better
    order = np.argsort(-np.nan_to_num(rough))
    for start in range(0, len(order), LEADERS):
        leaders = order[start : start + LEADERS]
        if found and found[0][0] >= rough[leaders[0]]:
            break
        better = _best_of(shape, scales[leaders], bounds[leaders], budget, asked)
        found = sorted([*found, *better], reverse=True)[:1]
    for _ in range(REFINEMENTS - 1):
        if not found:
            break
        _, scale, bound, _ = found[-1]
        # the neighbours of the best point bracket the next grid
        scale_grid = _between(scale_grid, scale, 17)
        bound_grid = _between(bound_grid, bound, 5, fixed=shape.lattice or bound == asked)
        scales, bounds = (g.ravel() for g in np.meshgrid(scale_grid, bound_grid, indexing="ij"))
        better = _best_of(shape, scales, bounds, budget, asked)
        if not better:
            break
        found += better
    found.sort(reverse=True)
    return [(scale, bound, weight) for _, scale, bound, weight in found]


def _best_of(
    shape: Shape, scales: Floats, bounds: Floats, budget: Budget, asked: float
) -> list[tuple[float, float, float, float]]:
    """(acceptance, scale, bound edge, weight) of the best point, if one is feasible."""
    weights = _weights(shape, scales, bounds, budget, PRECISELY)
    acceptance = _acceptance(shape, scales, bounds, weights, asked)
    if not np.isfinite(acceptance).any():
        return []
    best = int(np.nanargmax(acceptance))
    return [
        (float(acceptance[best]), float(scales[best]), float(bounds[best]), float(weights[best]))
    ]


def _weights(shape: Shape, scales: Floats, bounds: Floats, budget: Budget, steps: int) -> Floats:
    return least_weight(
        shape,
        scales,
        bounds,
        shift=budget.sensitivity,
        epsilon=budget.epsilon,
        delta=budget.delta,
        steps=steps,
    )


def _between(grid: Floats, best: float, count: int, *, fixed: bool = False) -> Floats:
    """Lay a finer grid between the neighbours of the best point."""
    if fixed or len(grid) == 1:
        return np.array([best])
    grid = np.sort(grid)
    at = int(np.argmin(np.abs(grid - best)))
    return np.geomspace(grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)], count)


def _bounds(shape: Shape, budget: Budget) -> Floats:
    bounds = np.concatenate(
        [BOUNDS * budget.within, budget.within + STEPS_BEYOND * budget.sensitivity]
    )
    if not shape.lattice:
        return bounds
    edges = np.floor(bounds) + 0.5
    asked = _edge(shape, budget.within)
    return np.concatenate([[asked], np.setdiff1d(edges, [asked])])


def _edge(shape: Shape, within: float) -> float:
    return math.floor(within) + 0.5 if shape.lattice else within


def _acceptance(shape: Shape, scale: Floats, bound: Floats, weight: Floats, asked: float) -> Floats:
    """P(|N| <= asked) of the recycled noise."""
    scale, bound = np.broadcast_arrays(scale, bound)
    edge = np.full(scale.shape, asked)
    kept = shape.cdf(bound, scale) - shape.cdf(-bound, scale)
    wanted = shape.cdf(edge, scale) - shape.cdf(-edge, scale)
    good = np.where(bound <= edge, kept + weight * (wanted - kept), wanted)
    return good / (kept + weight * (1 - kept))


def _certified(
    shape: Shape, scale: float, bound: float, weight: float, budget: Budget
) -> Noise | None:
    kernel = shape.kernel(scale)
    within = bound - 0.5 if shape.lattice else bound

    def make(weight: float) -> Noise | None:
        # the rate is what is stored and printed, so it is what must be right
        rate = 1 - weight
        return None if not 0 <= rate <= 1 else Recycled(kernel, within=within, rate=rate)

    if weight == 0:
        noise = make(0.0)
        if noise is not None and overrun(noise, budget) <= 0:
            return noise
        weight = 1e-12
    return least_fitting(make, weight, budget=budget, first=_first_step(budget))


def _first_step(budget: Budget) -> float:
    """Pure losses are known to the last digits, a delta to eleven."""
    return CLEAR if budget.delta > 0 else FIRST_STEP
