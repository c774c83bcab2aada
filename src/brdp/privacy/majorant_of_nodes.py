"""How far |M(tilt + i t)| must have fallen from t on, for laws that are sums over nodes.

A few rare large losses may have nearly all of the variance and fade long before the rest does. So the
nodes are looked at in cores, each without the losses that are furthest out: with share k of the tilted law in a
core, |M(tilt + i t)| / M(tilt) <= k |core(t)| + 1 - k. Each core bounds its own stretch of frequencies; beyond the last
stands the closed form of `Transform.tails`. Proofs: docs/theory/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from brdp.noise.base import Floats
from brdp.privacy.nodes import Nodes

# Nodes for this tilt and for frequencies up to this one.
NodesAt = Callable[[float], Nodes | None]
# Upper bounds for all frequencies from each of these on.
TailsFrom = Callable[[Floats], Floats]

# Far below any delta, in logs; and the tail's bound from which on it is followed no further.
SUFFICIENT, SMALL = 60.0, 0.1
# Nor is it followed once so little is left of its way down.
LEFT = 0.1
# A core is this much narrower than the one before, and holds at least this share; its bound near 0 (by its
# fourth moment) must hold up to this share of the inverse deviation.
NARROWER, LEAST_SHARE, EVEN = 0.35, 0.3, 0.6
# Grid points are this share of the inverse deviation apart; a core is followed for so many of them, the last
# one for so many.
SPACING, POINTS, MOST_POINTS = 0.4, 16, 4096
MOST_TERMS = 1 << 21
# Near 0 steps are short, as shares of the spacing: many releases end there.
FINE = 1.06 ** np.arange(-250.0, 0.0)


@final
@dataclass(frozen=True, slots=True)
class Core:
    """The losses within `reach` of the middle, and their deviation."""

    reach: float
    deviation: float


@final
@dataclass(frozen=True, slots=True, eq=False)
class Envelope:
    """Bounds that hold from each start up to the next one; the last one up to infinity."""

    starts: Floats
    # suprema from each start on
    suprema: Floats

    def after(self, frequency: Floats) -> Floats:
        """Bounds for all frequencies from each of these on."""
        place = np.searchsorted(self.starts, frequency, side="right") - 1
        return np.asarray(self.suprema[np.maximum(place, 0)])


def envelope(nodes_at: NodesAt, tails: TailsFrom, *, tilt: float, count: float) -> Envelope:
    """Follow the cores outwards until the tails are small."""
    # atoms never fade, and to follow the rest for long is idle
    atoms = float(tails(np.array([math.inf]))[0])
    enough = max(math.exp(-SUFFICIENT / count), SMALL, atoms + LEFT * (1 - atoms))
    nodes = nodes_at(0.0)
    starts, bounds, end, terms = [0.0], [1.0], 0.0, 0
    for core, last in _cores(nodes, tilt) if nodes is not None else []:
        block = MOST_POINTS if last else POINTS
        while block > 0:
            found = _stretch(nodes_at, core, tilt=tilt, start=end)
            if found is None:
                break
            starts += found[0]
            bounds += found[1]
            end, block, terms = found[2], block - POINTS, terms + found[3]
            if terms > MOST_TERMS:
                break
            if float(tails(np.array([end]))[0]) <= enough:
                break
        if terms > MOST_TERMS or (end > 0 and float(tails(np.array([end]))[0]) <= enough):
            break
    starts.append(end)
    bounds.append(min(1.0, float(tails(np.array([end]))[0])) if end > 0 else 1.0)
    suprema = np.maximum.accumulate(np.array(bounds)[::-1])[::-1]
    return Envelope(np.array(starts), np.minimum(suprema, 1.0))


def _cores(nodes: Nodes, tilt: float) -> list[tuple[Core, bool]]:
    """Ever narrower cores, and whether each is the last one."""
    losses, weights = nodes.tilted(tilt)
    middle = losses[min(int(np.searchsorted(np.cumsum(weights), 0.5)), len(losses) - 1)]
    away = np.abs(losses - middle)
    inwards = np.argsort(away, kind="stable")
    away, weights, centred = away[inwards], weights[inwards], (losses - middle)[inwards]
    shares = np.cumsum(weights)
    moments = np.cumsum(weights * centred ** np.arange(1, 5)[:, None], axis=1) / shares
    mean, second, third, fourth = moments
    squares = np.maximum(second - mean**2, 0.0)
    fourths = fourth - 4 * mean * third + 6 * mean**2 * second - 3 * mean**4
    # cores without outliers: where their bound near 0 holds for about as long as it is of use
    even = 12 * squares**2 >= EVEN**2 * (2 * fourths + 6 * squares**2)
    cores: list[Core] = []
    widest = math.inf
    for k in np.flatnonzero(even & (shares >= LEAST_SHARE) & (squares > 0))[::-1]:
        deviation = math.sqrt(squares[k])
        if deviation <= widest:
            cores.append(Core(float(away[k]), deviation))
            widest = NARROWER * deviation
    return [(core, core is cores[-1]) for core in cores]


def _stretch(
    nodes_at: NodesAt, core: Core, *, tilt: float, start: float
) -> tuple[list[float], list[float], float, int] | None:
    """Starts of intervals from `start` on, bounds over each, where the last one ends, and terms that were summed."""
    spacing = SPACING / core.deviation
    if start > 0:
        # no further than twice as far: more frequencies need more nodes
        spacing = min(spacing, start / POINTS)
    nodes = nodes_at(start + POINTS * spacing)
    if nodes is None or len(nodes.losses) * POINTS > MOST_TERMS:
        return None
    losses, weights = nodes.tilted(tilt)
    slack = nodes.slack(tilt, start + POINTS * spacing)
    if slack > 0.01:
        return None
    middle = losses[min(int(np.searchsorted(np.cumsum(weights), 0.5)), len(losses) - 1)]
    inside = np.abs(losses - middle) <= core.reach * (1 + 1e-9)
    share = float(weights[inside].sum())
    if not share > 0.5 * LEAST_SHARE:
        return None
    weights, centred = weights[inside] / share, losses[inside] - middle
    centred = centred - weights @ centred
    square, fourth = float(weights @ centred**2), float(weights @ centred**4)
    grid = start + spacing * np.arange(POINTS + 1)
    fine = spacing * FINE if start == 0 else np.zeros(0)
    # the difference of two losses has the variance 2 square and this fourth moment
    differences = 2 * fourth + 6 * square**2
    moduli = np.empty(len(grid))
    turned, turn = np.exp(1j * start * centred), np.exp(1j * spacing * centred)
    for place in range(len(grid)):
        moduli[place] = abs(turned @ weights) ** 2
        turned *= turn
    between = np.maximum(moduli[1:], moduli[:-1]) + np.diff(grid) ** 2 * square / 4
    # |core|^2 <= 1 - square t^2 + differences t^4 / 24, which falls while t^2 <= 12 square / differences
    edges = np.concatenate([grid[:1], fine, grid[1:]])
    near = 1 - (square * (1 - 1e-9) - differences * (1 + 1e-9) * edges**2 / 24) * edges**2
    between = np.concatenate([np.ones(len(fine)), between])
    falling = edges[1:] ** 2 <= 12 * square / differences * (1 - 1e-9)
    between = np.where(falling, np.minimum(between, near[:-1]), between)
    bounds = share * np.sqrt(np.clip(between, 0.0, 1.0)) + 1 - share + slack
    terms = len(grid) * len(nodes.losses)
    return edges[:-1].tolist(), np.minimum(bounds, 1.0).tolist(), float(grid[-1]), terms


@final
class NodeMajorant:
    """What `Majorant` is, for a transform whose laws are nodes; one row a law."""

    __slots__ = ("rows", "tails")

    def __init__(
        self, rows: Sequence[tuple[NodesAt, TailsFrom]], counts: Floats, tilt: float
    ) -> None:
        self.tails = [tails for _, tails in rows]
        # each needs to fade no further than all of them together suffice
        total = float(counts.sum())
        self.rows = [envelope(nodes, tails, tilt=tilt, count=total) for nodes, tails in rows]

    def suprema(self, frequency: Floats) -> Floats:
        """Bounds of |M| / M(tilt) for every frequency from each of these on."""
        bounds = np.array([row.after(frequency) for row in self.rows])
        tails = np.array([tails(frequency) for tails in self.tails])
        return np.asarray(np.minimum(bounds, np.clip(tails, 1e-300, 1.0)))
