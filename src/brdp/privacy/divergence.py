"""Renyi divergences without cancellation, however small.

With a = order - 1 and P giving nothing that Q does not show, E_P[exp(-loss)] = 1, so that

    E_P[exp(a loss)] - 1 = E_P[ g(a loss) + a g(-loss) ],     g(x) = exp(x) - 1 - x >= 0:

an expectation of positive terms. log E_P[exp(a loss)] itself loses the digits of a small divergence.
"""

from __future__ import annotations

import math

import numpy as np

from brdp.noise import DiscreteGaussian, Gaussian, Laplace
from brdp.noise.base import Floats, Kernel, Noise
from brdp.noise.laplace import log_laplace_mass
from brdp.noise.quadrature import NODES, WEIGHTS
from brdp.noise.recycler import Recycler
from brdp.privacy.cells import require_room
from brdp.privacy.pieces import Pieces, cut

# Below this E_P[exp(a loss)] - 1 is summed as above; further up the log has all its digits.
SMALL = 0.25
# Gaussian pieces are followed this many sigma out, in panels of at most this many.
REACH, PANEL = 40.0, 2.0
TERMS = 16
VAST = 300.0
ROUNDING = 1e-14
# The positive form follows P; where the shift is this many sigma, Q lies beyond what it follows.
CLOSE = 5.0


def growth(loss: Floats, *, a: float) -> Floats:
    """Return g(a loss) + a g(-loss), what a loss adds to E_P[exp(a loss)] - 1."""
    return _beyond_linear(a * loss) + a * _beyond_linear(-loss)


def _beyond_linear(x: Floats) -> Floats:
    """exp(x) - 1 - x, by its series where the difference would cancel."""
    with np.errstate(over="ignore"):
        direct = np.expm1(x) - x
    small = np.where(np.abs(x) < 0.5, x, 0.0)
    series = np.ones_like(small)
    for n in range(TERMS, 2, -1):
        series = 1 + series * small / n
    return np.where(np.abs(x) < 0.5, 0.5 * small * small * series, direct)


def log_of_moment(losses: Floats, log_masses: Floats, *, a: float) -> float:
    """log E_P[exp(a loss)] of finite losses with the masses that P gives them."""
    moment = float(np.logaddexp.reduce(log_masses + a * losses))
    if moment < SMALL and np.abs(losses).max(initial=0.0) < VAST:
        return float(np.log1p(np.exp(log_masses) @ growth(losses, a=a)))
    return rounded_up(moment)


def rounded_up(moment: float) -> float:
    """A log moment that came from a sum near 1, or whatever it came from, on the safe side."""
    return math.inf if math.isnan(moment) else moment + ROUNDING * (1 + abs(moment))


def small_real_excess(kernel: Kernel, pieces: Pieces, *, shift: float, a: float) -> float:
    """E_P[exp(a loss)] - 1 on the reals, before dividing by the release probability.

    For log-concave kernels with a small excess: the integrand is as wide as the kernel.
    """
    total = 0.0
    for low, high, width, log_keep, log_ratio in zip(
        pieces.low, pieces.high, pieces.width, pieces.log_keep, pieces.log_ratio, strict=True
    ):
        total += float(np.exp(log_keep)) * _piece(
            kernel, low, high, log_ratio, width=width, shift=shift, a=a
        )
    return total


def _piece(
    kernel: Kernel,
    low: float,
    high: float,
    log_ratio: float,
    *,
    width: float,
    shift: float,
    a: float,
) -> float:
    """One piece. Far out, where it is short, its width has digits that the difference of its ends has lost."""
    if isinstance(kernel, Laplace) and (high <= 0 or low >= shift):
        level = (shift if high <= 0 else -shift) / kernel.scale
        gain = growth(np.array(log_ratio + level), a=a)
        mass = log_laplace_mass(low, high, scale=kernel.scale, width=width)
        return float(np.exp(mass) * gain)
    reach = REACH * kernel.std
    if low < -reach or high > reach:
        low, high = max(low, -reach), min(high, reach)
        width = high - low
    if width <= 0:
        return 0.0
    panels = max(1, int(np.ceil(width / (PANEL * kernel.std))))
    x = low + width * ((np.arange(panels)[:, None] + NODES) / panels)
    if isinstance(kernel, Gaussian):
        loss = shift * (shift - 2 * x) / (2 * kernel.sigma**2)
    elif isinstance(kernel, Laplace):
        loss = (shift - 2 * x) / kernel.scale
    else:
        loss = kernel.log_pdf(x) - kernel.log_pdf(x - shift)
    values = kernel.pdf(x) * growth(log_ratio + loss, a=a)
    return float(np.sum(values @ WEIGHTS) * (width / panels))


def discrete_gaussian_moment(
    noise: Noise, kernel: DiscreteGaussian, recycler: Recycler, *, shift: int, a: float
) -> float:
    """log E_P[exp(a loss)] for a discrete Gaussian kernel, before dividing by the release probability.

    Tilting moves the mass to -a shift: the sum runs from there to 0 and 40 sigma beyond either end, or as much
    further as weights raised to the power a can lift what lies there. This leaves out less than exp(-780) of it.
    """
    pieces = cut(recycler, shift=shift)
    some = np.ceil(pieces.low) <= np.floor(pieces.high)
    # an integer that only P shows, however far out
    if np.isinf(pieces.log_ratio[some]).any():
        return math.inf
    lifted = 2 * a * float(np.max(np.abs(pieces.log_ratio[some])))
    reach = int(np.ceil(math.sqrt(REACH**2 + lifted) * kernel.sigma)) + shift
    require_room(2 * reach + a * shift, kernel)
    k = np.arange(-reach - int(np.ceil(a * shift)), reach + 1, dtype=np.float64)
    mine, other = recycler.keep(k), recycler.keep(k - shift)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_masses = np.log(mine) + kernel.log_pdf(k)
        losses = np.log(mine) - np.log(other) + shift * (shift - 2 * k) / (2 * kernel.sigma**2)
    reached = mine > 0
    log_total = noise.log_pdf(0.0) - kernel.log_pdf(0.0) - np.log(recycler.keep(0.0))
    return log_of_moment(losses[reached], log_masses[reached] + float(log_total), a=a)
