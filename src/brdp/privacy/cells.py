"""The cells of lattice noise and of staircases: where mass and loss are known exactly."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from brdp.errors import NotPossible
from brdp.noise import DiscreteGaussian, DiscreteLaplace, Staircase
from brdp.noise.base import Floats, Kernel, Noise
from brdp.noise.recycler import Recycler
from brdp.privacy.general import reach_of

MOST_CELLS = 1 << 24
# How far a log mass of a kernel of one's own may be off, relatively.
OWN_LOG_ERROR = 1e-15


def cells_of(noise: Noise, recycler: Recycler, *, shift: float) -> tuple[Floats, Floats]:
    """(losses, log masses before dividing by the release probability) for a shift of +shift."""
    if isinstance(noise.kernel, Staircase):
        return _staircase_cells(noise.kernel, recycler, shift=shift)
    return _integer_cells(noise.kernel, recycler, shift=int(shift))


def _integer_cells(kernel: Kernel, recycler: Recycler, *, shift: int) -> tuple[Floats, Floats]:
    """Every integer on its own, except where a Laplace law has one loss over a whole run."""
    edges, keeps = np.asarray(recycler.edges), np.asarray(recycler.keeps)
    # the first integer of every run of constant weights
    starts = np.unique(np.ceil(np.concatenate([edges, edges + shift])))
    if isinstance(kernel, DiscreteLaplace):
        return _laplace_cells(kernel, edges, keeps, starts=starts, shift=shift)
    reach = math.ceil(reach_of(kernel)) + shift
    require_room(2 * reach + 1, kernel)
    k = np.arange(-reach, reach + 1, dtype=np.float64)
    losses, log_masses = _at(kernel, edges, keeps, k, shift=shift)
    # what lies past the window is counted as lost: below 1e-320 of the mass
    beyond = float(kernel.log_mass(reach + 1, np.inf)) + math.log(2)
    return np.append(losses, np.inf), np.append(log_masses, beyond)


def _laplace_cells(
    kernel: DiscreteLaplace, edges: Floats, keeps: Floats, *, starts: Floats, shift: int
) -> tuple[Floats, Floats]:
    """Runs left of 1 and from the shift on have one loss each; the integers between stand alone."""
    require_room(shift, kernel)
    starts = np.unique(np.concatenate([starts, [1.0, float(shift)]]))
    low = np.concatenate([[-np.inf], starts])
    high = np.concatenate([starts - 1, [np.inf]])
    outside = (high <= 0) | (low >= shift)
    low, high = low[outside], high[outside]
    # a finite integer of each run stands for it
    k = np.where(np.isfinite(low), low, high)
    k = np.where(np.isfinite(k), k, 0.0)
    log_keeps = _log_keeps(edges, keeps, k)
    with np.errstate(invalid="ignore"):
        recycled = log_keeps - _log_keeps(edges, keeps, k - shift)
    # left of 1 the kernel's loss is the whole shift, from the shift on its negative
    losses = recycled + np.where(high <= 0, shift, -shift) / kernel.scale
    losses = np.where(log_keeps == -np.inf, 0.0, losses)
    between = np.arange(1, shift, dtype=np.float64)
    more_losses, more_masses = _at(kernel, edges, keeps, between, shift=shift)
    return (
        np.concatenate([losses, more_losses]),
        np.concatenate([log_keeps + kernel.log_mass(low, high), more_masses]),
    )


def _at(
    kernel: Kernel, edges: Floats, keeps: Floats, k: Floats, *, shift: int
) -> tuple[Floats, Floats]:
    """Loss and log mass at single integers."""
    mine, shifted = _log_keeps(edges, keeps, k), _log_keeps(edges, keeps, k - shift)
    log_pdf = kernel.log_pdf(k)
    if isinstance(kernel, DiscreteLaplace):
        # the difference of two large logs would lose digits: the distances are whole numbers
        kernel_loss = (np.abs(k - shift) - np.abs(k)) / kernel.scale
    elif isinstance(kernel, DiscreteGaussian):
        kernel_loss = shift * (shift - 2 * k) / (2 * kernel.sigma**2)
    else:
        other = kernel.log_pdf(k - shift)
        with np.errstate(invalid="ignore"):  # -inf twice: nothing of P
            # each log is rounded by somebody else's formula: the loss ends above the true one
            kernel_loss = log_pdf - other + OWN_LOG_ERROR * (np.abs(log_pdf) + np.abs(other))
    with np.errstate(invalid="ignore"):
        losses = mine - shifted + kernel_loss
    log_masses = mine + log_pdf
    # nothing of P: no matter what Q has
    return np.where(log_masses == -np.inf, 0.0, losses), log_masses


def _log_keeps(edges: Floats, keeps: Floats, k: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(keeps)[np.searchsorted(edges, k)]


def _staircase_cells(
    kernel: Staircase, recycler: Recycler, *, shift: float
) -> tuple[Floats, Floats]:
    """Cells between all edges of P and Q, placed in exact arithmetic.

    Two edges that agree must agree exactly: a sliver of 1e-16 with twice the loss would be a false
    delta. Far out the pattern repeats every step at exp(-drop) of the mass: the last period stands for
    all that follow.
    """
    unit = _common_unit([kernel.half_core, kernel.step, shift, *recycler.edges])
    core, step, move = (_in_units(x, unit) for x in (kernel.half_core, kernel.step, shift))
    edges = [_in_units(edge, unit) for edge in recycler.edges]
    reach = max([abs(edge) for edge in edges], default=0) + move + core
    stairs = -(-(reach - core) // step) + 1
    require_room(8 * (stairs + 2), kernel)
    end, far = core + stairs * step, core + (stairs + 1) * step
    # far enough that the shifted edges reach the far left too
    most = stairs + 2 + -(-move // step)
    points = {sign * (core + j * step) for j in range(most) for sign in (1, -1)}
    points |= {point + move for point in points} | set(edges)
    points |= {edge + move for edge in edges}
    cuts = sorted(point for point in points if -far <= point <= far)
    # twice the middle of each cell is a whole number too
    doubled = [low + high for low, high in itertools.pairwise(cuts)]
    stair, stair_shifted = (
        np.array([_stair(abs(m - 2 * by), 2 * core, 2 * step) for m in doubled]) for by in (0, move)
    )
    with np.errstate(divide="ignore"):
        log_keeps = np.log(recycler.keeps)
    weight, weight_shifted = (
        log_keeps[[_cell(m - 2 * by, edges) for m in doubled]] for by in (0, move)
    )
    widths = np.array([float((high - low) * unit) for low, high in itertools.pairwise(cuts)])
    log_masses = kernel.log_top - kernel.drop * stair + np.log(widths) + weight
    repeated = np.array([abs(m) > 2 * end for m in doubled])
    log_masses = log_masses - np.where(repeated, math.log(-math.expm1(-kernel.drop)), 0.0)
    with np.errstate(invalid="ignore"):
        losses = weight - weight_shifted + kernel.drop * (stair_shifted - stair)
    return np.where(log_masses == -np.inf, 0.0, losses), log_masses


def _stair(distance: int, core: int, step: int) -> int:
    return max(0, -(-(distance - core) // step))


def _cell(doubled: int, edges: list[int]) -> int:
    return sum(2 * edge < doubled for edge in edges)


def _common_unit(values: list[float]) -> Fraction:
    """A power of two of which every value is a whole multiple."""
    return Fraction(1, max(Fraction(value).denominator for value in values))


def _in_units(value: float, unit: Fraction) -> int:
    return int(Fraction(value) / unit)


def require_room(cells: float, kernel: Kernel) -> None:
    """Refuse what would take more memory than anybody has."""
    if cells > MOST_CELLS:
        raise NotPossible(
            f"{kernel!r} spans about {cells:.0f} cells, more than {MOST_CELLS}. "
            "Use a coarser resolution, so that the scale is fewer steps wide."
        )
