"""Curves of lattice noise in long runs of integers at once, where single cells would be too many.

A discrete Laplace sums in closed form: between 0 and the shift its terms are hyperbolic sines in arithmetic
progression. A discrete Gaussian of sigma 1000 or more is an integral to every digit that counts: by the
midpoint form of Euler and Maclaurin, the sum of h over a..m is

    integral of h from a - 1/2 to m + 1/2,  less the difference of h'/24 - 7h'''/5760 between the ends,

and the next term is below 1e-13 of the sum as far out as 38 sigma (docs/theory/curve.md).
"""

from __future__ import annotations

import math

import numpy as np

from brdp.noise import DiscreteGaussian, DiscreteLaplace
from brdp.noise.base import Floats, Noise
from brdp.noise.discrete_gaussian import WIDE, bell_derivatives, log_normaliser
from brdp.noise.quadrature import NODES, WEIGHTS
from brdp.privacy.hinge import CANCELS, REACH, log_one_minus_exp
from brdp.privacy.pieces import Pieces, cut, directions

# Fewer integers than this between 0 and the shift are as quick one by one.
LONG = 64
# A log mass below this is no number to anybody, and ends so far out are known to no digit beside sigma.
DEEPEST = -1e6


def in_runs(noise: Noise, shift: float) -> DiscreteLaplace | DiscreteGaussian | None:
    """The kernel, if its noise is better summed in runs."""
    kernel = noise.kernel
    if isinstance(kernel, DiscreteLaplace) and shift > LONG:
        return kernel
    if isinstance(kernel, DiscreteGaussian) and kernel.sigma > WIDE:
        return kernel
    return None


def log_delta_in_runs(
    noise: Noise, kernel: DiscreteLaplace | DiscreteGaussian, epsilon: Floats, shift: int
) -> Floats:
    """log delta before dividing by the release probability, for unimodal noise."""
    best = np.full(np.shape(epsilon), -np.inf)
    kinks = (0.5, shift - 0.5) if isinstance(kernel, DiscreteLaplace) else ()
    for side in directions(noise.recycler):
        pieces = cut(side, shift=shift, kinks=kinks)
        threshold = epsilon[..., None] - pieces.log_ratio
        if isinstance(kernel, DiscreteLaplace):
            hinge = _laplace_hinge(kernel, pieces, threshold=threshold, shift=shift)
        else:
            hinge = _gaussian_hinge(kernel, pieces, threshold=threshold, shift=shift)
        best = np.maximum(best, np.logaddexp.reduce(pieces.log_keep + hinge, axis=-1))
    return best


def largest_laplace_loss(noise: Noise, kernel: DiscreteLaplace, shift: int) -> float:
    """The largest loss of unimodal noise; on each piece it falls, so the first integer has it."""
    worst = 0.0
    for side in directions(noise.recycler):
        pieces = cut(side, shift=shift, kinks=(0.5, shift - 0.5))
        first = np.ceil(pieces.low)
        reached = first <= np.floor(pieces.high)
        base = np.clip(
            (shift - 2 * first) / kernel.scale, -shift / kernel.scale, shift / kernel.scale
        )
        worst = max(worst, float(np.max((pieces.log_ratio + base)[reached])))
    return worst


def _laplace_hinge(
    kernel: DiscreteLaplace, pieces: Pieces, *, threshold: Floats, shift: int
) -> Floats:
    """log of the sum of f(k) max(0, 1 - exp(threshold - z(k))) over the integers of each piece."""
    first, last, threshold = np.broadcast_arrays(
        np.ceil(pieces.low), np.floor(pieces.high), threshold
    )
    scale = kernel.scale
    left, right = last <= 0, first >= shift
    whole = kernel.log_mass(first, last)
    with np.errstate(invalid="ignore", over="ignore"):
        flat = whole + log_one_minus_exp(np.where(left, shift, -shift) / scale - threshold)
        crossing = 0.5 * (shift - threshold * scale)
        start = np.where(left | right, 1.0, first)
        end = np.minimum(last, np.ceil(crossing) - 1)
        # the sum of sinh((crossing - k) / scale) over start..end, times what it is scaled by
        sloped = (
            (0.5 - start) / scale
            - 0.5 / scale  # log 2 cosh(1 / (2 scale)), without overflow
            - math.log1p(math.exp(-1 / scale))
            + log_one_minus_exp(((crossing - start) + (crossing - end)) / scale)
            + log_one_minus_exp((end - start + 1) / scale)
        )
        return np.where(threshold == -np.inf, whole, np.where(left | right, flat, sloped))


def _gaussian_hinge(
    kernel: DiscreteGaussian, pieces: Pieces, *, threshold: Floats, shift: int
) -> Floats:
    """log of the sum of f(k) max(0, 1 - exp(threshold - z(k))) over the integers of each piece."""
    first, last, threshold = np.broadcast_arrays(
        np.ceil(pieces.low), np.floor(pieces.high), threshold
    )
    slope = shift / kernel.sigma**2
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        crossing = 0.5 * shift - threshold / slope
        end = np.minimum(last, np.ceil(crossing) - 1)
        mass = kernel.log_mass(first, end)
        shifted = threshold + kernel.log_mass(first - shift, end - shift)
        share = -np.expm1(np.where(np.isfinite(mass), shifted - mass, -np.inf))
        hinge = np.array(mass + np.log(np.maximum(share, 0.0)))
    cancels = (share < CANCELS) & (mass > DEEPEST)
    if cancels.any():
        hinge[cancels] = _summed(
            kernel.sigma, first[cancels], end[cancels], crossing[cancels], slope
        )
    return hinge


def _summed(sigma: float, first: Floats, end: Floats, crossing: Floats, slope: float) -> Floats:
    """log of the sum of f(k) (1 - exp(-slope (crossing - k))) over first <= k <= end."""
    start, stop = first - 0.5, end + 0.5
    peak = np.clip(0.0, start, stop)
    reach = np.sqrt((peak / sigma) ** 2 + REACH) * sigma
    low, high = np.maximum(start, -reach), np.minimum(stop, reach)

    def height(x: Floats, centre: Floats) -> Floats:
        """f without its normaliser, relative to its value at the peak."""
        return np.exp(-0.5 * (x - centre) * (x + centre) / sigma**2)

    # measured from the upper end, where the integrand is smallest and its digits matter most
    width = high - low
    x = high[:, None] - width[:, None] * NODES
    gain = -np.expm1(-slope * ((crossing - high)[:, None] + width[:, None] * NODES))
    integral = width * ((height(x, peak[:, None]) * gain) @ WEIGHTS)

    def corrections(x: Floats) -> Floats:
        """h'(x) / 24 - 7 h'''(x) / 5760 relative to f at the peak; 0 at infinity."""
        at = np.where(np.isfinite(x), x, peak)
        kept = np.exp(np.minimum(-slope * (crossing - at), 700.0))
        gain = -np.expm1(np.minimum(-slope * (crossing - at), 700.0))
        # derivatives of f over f, by Hermite polynomials
        one, two, three = bell_derivatives(at, sigma)
        first = one * gain - slope * kept
        third = three * gain - (3 * two * slope + 3 * one * slope**2 + slope**3) * kept
        both = first / 24 - 7 * third / 5760
        return np.where(np.isfinite(x), height(at, peak) * both, 0.0)

    total = integral - (corrections(stop) - corrections(start))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_total = np.log(np.maximum(total, 0.0))
    result: Floats = log_total - 0.5 * (peak / sigma) ** 2 - log_normaliser(sigma)
    return result
