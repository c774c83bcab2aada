"""Nodes for samples of noise with edges: quadrature, piece by piece, whose error is proven.

The integrand is analytic around each piece, so Gauss-Legendre panels converge geometrically: with the
integrand bounded by B on the Bernstein ellipse of parameter 4 around a panel, `NODES` nodes are off by at
most 64/15 B 4^(-2 NODES) / (1 - 1/16) half widths (Trefethen 2013, theorem 19.3).
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from brdp.noise.base import Floats
from brdp.noise.gaussian import LOG_ROOT_TWO_PI
from brdp.privacy.loss_pieces import GaussianLoss, LaplaceLoss, PieceLoss
from brdp.privacy.loss_sampled import SampledLoss
from brdp.privacy.nodes import Nodes

UNIT = 2.0**-53
NODES = 24
_nodes, _weights = np.polynomial.legendre.leggauss(NODES)
# log of 64/15 / (1 - 1/16) / 2 * 4^(-2 NODES) / the least weight as a share of the panel
LOG_ERROR = (
    math.log(64 / 15 / (1 - 1 / 16)) - 2 * NODES * math.log(4) - math.log(float(_weights.min()))
)
# The ellipse of parameter 4 around a panel of width 1 reaches this far beyond it, and up and down.
BEYOND, ASIDE = 0.5625, 0.9375
# Panels are this wide at most, and so narrow that the loss turns by at most ANGLE on the ellipse and the
# oscillating factor grows by at most exp(GROWTH), the mixture's power by at most exp(STEEP).
WIDEST, ANGLE, GROWTH, STEEP = 0.25, 0.47, 8.0, 8.0
# Panels lighter than this (in logs) at every order asked for are left out.
LIGHT = -58.0
# Nodes times orders that are summed at most; beyond, nothing is known.
MOST_TERMS = 1 << 24


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Grid:
    """Nodes on the pieces of one law."""

    # losses and logs of the masses of nodes, then of atoms
    losses: Floats
    log_masses: Floats
    # log of the density of P over the slope of the loss at the nodes, and the loss
    densities: Floats
    node_losses: Floats
    # how many nodes each piece has
    sizes: tuple[int, ...]
    panel: float
    slope: float
    reach: float
    # how many panels were judged too light or not, and the rounding of the losses
    panels: int
    loss_errors: Floats


def lay_on_pieces(law: SampledLoss, tilts: Floats, frequency: float, width: int) -> Nodes | None:
    """Nodes for s = tilt + i t, |t| <= frequency, and `width` of them; None where they would be too many."""
    grid = _lay(law, tilts, frequency, width)
    if grid is None:
        return None
    return Nodes(grid.losses, grid.log_masses, grid.loss_errors, _missing(grid, len(tilts)))


@functools.lru_cache(maxsize=4096)
def piece_peaks(law: SampledLoss, tilt: float) -> tuple[float, float]:
    """(a, b) such that |M(tilt + i t)| / M(tilt) is at most a + b / t for all t."""
    grid = _lay(law, np.array([tilt]), 0.0, 1, light=-math.inf)
    if grid is None:
        return 1.0, 0.0
    scale = float(np.logaddexp.reduce(grid.log_masses + tilt * grid.losses))
    atoms, masses = law.atoms
    constant = float(np.exp(masses + tilt * atoms - scale).sum())
    # integrated by parts, a piece is at most twice the sum of the local maxima of its density in the
    # loss, of which there are at most two
    logs = grid.densities + tilt * grid.node_losses - scale
    ends = np.cumsum((0, *grid.sizes))
    most = math.fsum(math.exp(float(logs[a:b].max())) for a, b in itertools.pairwise(ends))
    # between nodes the log of the density bends, and beyond the last ones it is steep
    bend = 0.001 * grid.panel**2 * (1 + (2 + tilt) * grid.slope**2)
    slack = 0.01 * (grid.panel * _steepness(grid) + STEEP) + bend
    return constant, 4 * most * math.exp(slack)


def _missing(grid: _Grid, count: int) -> Floats:
    """log of a bound on the quadrature's error and on what lies beyond it, relative to the moment."""
    quadrature = LOG_ERROR + (1 + BEYOND) * grid.panel * _steepness(grid) + STEEP
    # off the line the normal density grows, the mixture turns, and in a denominator it may be smaller
    quadrature += 0.5 * (ASIDE * grid.panel) ** 2 + GROWTH + 0.5 * STEEP * ANGLE
    return np.full(count, np.logaddexp(quadrature, LIGHT + 8 + math.log(1 + grid.panels)))


def _steepness(grid: _Grid) -> float:
    """Bound of the slope of the log of the integrand but for the mixture's power."""
    return grid.reach + 2 + 2 * grid.slope


def _lay(
    law: SampledLoss, orders: Floats, frequency: float, width: int, *, light: float = LIGHT
) -> _Grid | None:
    """Panels that are fine where the integrand oscillates and absent where it is negligible."""
    base = law.base
    most = max(1.0, float(np.abs(orders).max()))
    rest = max(math.log(2), -law.log_rest) if law.rate < 1 else math.log(2)
    ratios = base.pieces.log_ratio if isinstance(base, PieceLoss) else np.empty(0)
    ratio_most = np.abs(ratios[np.isfinite(ratios)]).max(initial=0.0)
    radius = math.sqrt(120 + 2 * (1 + most) * (rest + ratio_most))
    if isinstance(base, GaussianLoss):
        slope = base.shift / base.sigma
        scale, limits = base.sigma, (-radius - (1 + most) * slope, radius + 2 * slope)
        # a part of a law may lie further out, and falls from its own edges on
        edges = np.concatenate([base.pieces.low, base.pieces.high]) / scale
        edges = edges[np.isfinite(edges)]
        limits = (
            min(limits[0], edges.min(initial=0.0) - radius),
            max(limits[1], edges.max(initial=0.0) + radius),
        )
    elif isinstance(base, LaplaceLoss):
        slope, scale, limits = 2.0, base.scale, (0.0, base.most)
    else:
        return None
    panel = min(WIDEST, ANGLE / (ASIDE * slope))
    if (limits[1] - limits[0]) / panel > MOST_TERMS / NODES**2:
        return None
    coarse = []
    for low, high, keep, shifted in zip(
        base.pieces.low / scale,
        base.pieces.high / scale,
        base.pieces.log_keep,
        base.pieces.log_keep_shifted,
        strict=True,
    ):
        start, end = max(low, limits[0]), min(high, limits[1])
        if shifted == -math.inf or not end > start:
            continue
        edges = np.linspace(start, end, 1 + max(1, math.ceil((end - start) / panel)))
        coarse.append((edges[:-1], np.diff(edges), keep - shifted, shifted - base.log_total))
    # first on wide panels, to see where the mass is
    sketch = [
        _integrand(law, slope, start[:, None] + size[:, None] * 0.5 * (_nodes + 1), ratio, keep)
        for start, size, ratio, keep in coarse
    ]
    masses: list[Floats] = []
    losses: list[Floats] = []
    densities: list[Floats] = []
    loss_errors: list[Floats] = []
    atoms, atom_masses = law.atoms
    tops = [
        max(
            max((float((m + order * x).max()) for m, x, _ in sketch), default=-math.inf),
            float((atom_masses + order * atoms).max(initial=-math.inf)),
        )
        for order in orders
    ]
    reach, terms = 0.0, 0
    for (start, size, ratio, keep), (mine, mixed, _) in zip(coarse, sketch, strict=True):
        heavy = np.zeros(len(start), dtype=bool)
        for order, top in zip(orders, tops, strict=True):
            heavy |= (mine + order * mixed).max(axis=1) > top + light
        if not heavy.any():
            heavy[0] = True
        pieces = _subdivisions(
            law, slope, start[heavy], size[heavy], ratio, frequency=frequency, order=1 + most
        )
        terms += int(pieces.sum()) * NODES * width
        if terms > MOST_TERMS:
            return None
        fine = np.repeat(size[heavy] / pieces, pieces)
        left = np.repeat(start[heavy], pieces) + fine * _within(pieces)
        x = left[:, None] + fine[:, None] * 0.5 * (_nodes + 1)
        log_mine, loss, density = _integrand(law, slope, x, ratio, keep)
        losses.append(loss.ravel())
        masses.append((log_mine + np.log(0.5 * fine[:, None] * _weights)).ravel())
        densities.append(density.ravel())
        # the base loss is a sum of terms of this size, and only a share of it shows in the mixture's
        sizes = 1 + abs(ratio) + 0.5 * slope**2 + slope * np.abs(x)
        loss_errors.append((8 * UNIT * sizes * _share(law, slope, x, ratio)).ravel())
        if isinstance(base, GaussianLoss):
            reach = max(reach, float(np.abs(x - slope).max()))
    return _Grid(
        np.concatenate([*losses, atoms]),
        np.concatenate([*masses, atom_masses]),
        np.concatenate([np.empty(0), *densities]),
        np.concatenate([np.empty(0), *losses]),
        tuple(len(x) for x in losses),
        panel,
        slope,
        reach,
        sum(len(start) for start, _, _, _ in coarse),
        np.concatenate([*loss_errors, 8 * UNIT * (1 + np.abs(atoms) + ratio_most)]),
    )


def _integrand(
    law: SampledLoss, slope: float, x: Floats, ratio: float, keep: float
) -> tuple[Floats, Floats, Floats]:
    """Log of P's density, the loss, and log of P's density over the slope of the loss."""
    base_losses = _base_losses(law, slope, x, ratio)
    if isinstance(law.base, GaussianLoss):
        log_q = keep - 0.5 * (x - slope) ** 2 - LOG_ROOT_TWO_PI
    else:
        log_q = keep + x - _peak(law, slope) - math.log(2)
    mixed = law.mixed(base_losses)
    # P is the mixture on the removing side and Q on the adding one
    mine, sign = (log_q, -1.0) if law.added else (log_q + mixed, 1.0)
    # d loss / dx = slope * rate * exp(base loss) / mixture
    density = mine - (math.log(slope) + math.log(law.rate) + base_losses - mixed)
    return mine, sign * mixed, density


def _base_losses(law: SampledLoss, slope: float, x: Floats, ratio: float) -> Floats:
    return ratio + _peak(law, slope) - slope * x


def _share(law: SampledLoss, slope: float, x: Floats, ratio: float) -> Floats:
    """rate exp(l) / (1 - rate + rate exp(l)): how much of a change of the base loss l the mixture's shows."""
    base = _base_losses(law, slope, x, ratio)
    return np.asarray(np.exp(np.minimum(0.0, math.log(law.rate) + base - law.mixed(base))))


def _peak(law: SampledLoss, slope: float) -> float:
    """The kernel's loss at 0."""
    return 0.5 * slope**2 if isinstance(law.base, GaussianLoss) else float(law.base.most)  # type: ignore[attr-defined]


def _subdivisions(
    law: SampledLoss,
    slope: float,
    start: Floats,
    size: Floats,
    ratio: float,
    *,
    frequency: float,
    order: float,
) -> NDArray[np.int64]:
    """Into how many parts each panel is cut so that the mixture's power neither turns nor rises much."""
    # the mixture 1 - rate + rate exp(l) turns by at most this share of the angle of l, and rises as l does
    share = _share(law, slope, start - BEYOND * size, ratio) / math.cos(ANGLE)
    moved = slope * size * np.minimum(1.0, share)
    parts = np.maximum(frequency * ASIDE * moved / GROWTH, order * (1 + BEYOND) * moved / STEEP)
    return np.maximum(1, np.ceil(parts)).astype(np.int64)


def _within(pieces: NDArray[np.int64]) -> Floats:
    """0, 1, ..., n - 1 for each n."""
    ends = np.cumsum(pieces)
    return np.arange(ends[-1], dtype=np.float64) - np.repeat(ends - pieces, pieces)
