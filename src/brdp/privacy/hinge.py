"""Hinge integrals: what one piece of the line adds to delta, for Gaussian and Laplace kernels.

For a kernel density f, z(x) = log f(x) - log f(x - shift) falls along the line. Each function returns

    log of the integral over [low, high] of f(x) max(0, 1 - exp(threshold - z(x))) dx

broadcast over every argument. All of them are sums of positive terms; where the difference of two
masses would cancel, the positive integrand itself is integrated.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike

from brdp.noise.base import Floats
from brdp.noise.gaussian import LOG_ROOT_TWO_PI, log_normal_mass
from brdp.noise.laplace import log_laplace_mass
from brdp.noise.quadrature import NODES, log_integral

# Below this share of the minuend a difference of masses is integrated instead: logs near -690 are known
# to 1e-13, so that the difference is known to 1e-12.
CANCELS = 0.1
# The difference of two Mills ratios has a common factor: it is known to 1e-15 of the larger.
TAIL_CANCELS = 1e-3
# The integrand is followed down to exp(-45) of its peak: 3e-20.
REACH = 90.0


def log_one_minus_exp(x: Floats) -> Floats:
    """log(1 - exp(-x)) for x >= 0; -inf at 0 and below."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.where(x > 0, np.log(-np.expm1(-np.maximum(x, 0.0))), -np.inf)


def laplace_hinge(
    low: ArrayLike,
    high: ArrayLike,
    *,
    width: ArrayLike,
    shift: ArrayLike,
    scale: ArrayLike,
    threshold: ArrayLike,
) -> Floats:
    """Laplace kernel; no piece may cross 0 or the shift, where the form of the loss changes."""
    low, high, width, shift, scale, threshold = (
        np.asarray(a, dtype=np.float64)
        for a in np.broadcast_arrays(low, high, width, shift, scale, threshold)
    )
    most = shift / scale
    left, right = high <= 0, low >= shift
    whole = log_laplace_mass(low, high, scale=scale, width=width)
    with np.errstate(invalid="ignore", over="ignore"):
        # left of 0 the loss is +most, right of the shift -most: a mass times one factor
        level = np.where(left, most, -most)
        flat = whole + log_one_minus_exp(level - threshold)
        # in between it falls from +most to -most and crosses the threshold at `crossing`
        crossing = 0.5 * (shift - threshold * scale)
        start = np.where(left | right, 0.0, low)
        end = np.minimum(high, crossing)
        length = np.where(high <= crossing, width, crossing - start)
        far, near = (crossing - start) / scale, (crossing - end) / scale
        sloped = (
            -start / scale
            - math.log(2)
            + log_one_minus_exp(far + near)
            + log_one_minus_exp(length / scale)
        )
        # without a threshold (Q has no mass here) the whole mass counts
        return np.where(threshold == -np.inf, whole, np.where(left | right, flat, sloped))


def gaussian_hinge(
    low: ArrayLike,
    high: ArrayLike,
    *,
    width: ArrayLike,
    shift: ArrayLike,
    sigma: ArrayLike,
    threshold: ArrayLike,
) -> Floats:
    """Gaussian kernel; any interval."""
    low, high, width, shift, sigma, threshold = (
        np.asarray(a, dtype=np.float64)
        for a in np.broadcast_arrays(low, high, width, shift, sigma, threshold)
    )
    step = shift / sigma
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        crossing = 0.5 * step - threshold / step
        start, stop = low / sigma, high / sigma
        end = np.minimum(stop, crossing)
        length = np.where(stop <= crossing, width / sigma, crossing - start)
        mass = log_normal_mass(start, end, width=length)
        shifted = threshold + log_normal_mass(start - step, end - step, width=length)
        share = -np.expm1(np.where(np.isfinite(mass), shifted - mass, -np.inf))
        hinge = mass + np.log(np.maximum(share, 0.0))
    # a whole left tail is a difference of two Mills ratios, known to all their digits
    tail = (start == -np.inf) & (end < 5) & np.isfinite(mass)
    if tail.any():
        hinge, share = np.array(hinge), np.array(share)
        hinge[tail], share[tail] = _left_tail(end[tail], (crossing - end)[tail], step[tail])
    cancels = (share < np.where(tail, TAIL_CANCELS, CANCELS)) & np.isfinite(mass)
    if cancels.any():
        hinge = np.array(hinge)
        hinge[cancels] = _integrated(
            start[cancels], end[cancels], length[cancels], (crossing - end)[cancels], step[cancels]
        )
    return hinge


def _left_tail(end: Floats, near: Floats, step: Floats) -> tuple[Floats, Floats]:
    """log of the integral of phi(x) (1 - exp(-step (near + end - x))) over x <= end; its share of the mass."""
    mills = scipy.special.erfcx(-end / math.sqrt(2))
    shifted = np.exp(-step * near) * scipy.special.erfcx((step - end) / math.sqrt(2))
    share = 1 - shifted / mills
    with np.errstate(divide="ignore"):
        log_share = np.log(np.maximum(share, 0.0))
    # phi(end) times the Mills ratio is the mass
    return np.log(0.5 * mills) - 0.5 * end**2 + log_share, share


def _integrated(start: Floats, end: Floats, length: Floats, near: Floats, step: Floats) -> Floats:
    """log of the integral of phi(end - u) (1 - exp(-step (near + u))) over 0 <= u <= length.

    Measured from the end, so that a short piece far from the crossing keeps its digits.
    """
    peak = np.clip(0.0, start, end)
    reach = np.sqrt(peak**2 + REACH)
    first = np.maximum(end - reach, 0.0)
    last = np.minimum(length, end + reach)
    u = first[:, None] + (last - first)[:, None] * NODES
    with np.errstate(divide="ignore"):
        gain = np.log(-np.expm1(-step[:, None] * (near[:, None] + u)))
        logs = gain - 0.5 * (end[:, None] - u) ** 2
        total: Floats = log_integral(logs) + np.log(last - first) - LOG_ROOT_TWO_PI
    return total


def laplace_tilted(
    order: float,
    low: Floats,
    high: Floats,
    *,
    shift: float,
    scale: float,
    width: Floats | None = None,
) -> Floats:
    """log of the integral of f(x)^order f(x - shift)^(1 - order); pieces as for `laplace_hinge`."""
    most = shift / scale
    left, right = high <= 0, low >= shift
    flat = log_laplace_mass(low, high, scale=scale, width=width)
    flat = flat + (order - 1) * np.where(left, most, -most)
    with np.errstate(invalid="ignore"):
        length = high - low if width is None else width
        rate = (2 * order - 1) / scale  # above 0: orders are above 1
        sloped = (
            (order - 1) * most
            - rate * low
            + log_one_minus_exp(rate * length)
            - math.log(2 * (2 * order - 1))
        )
        return np.where(left | right, flat, sloped)


def gaussian_tilted(
    order: float, low: Floats, high: Floats, *, width: Floats, shift: float, sigma: float
) -> Floats:
    """log of the integral of f(x)^order f(x - shift)^(1 - order) over any interval."""
    mean = (1 - order) * shift
    mass = log_normal_mass((low - mean) / sigma, (high - mean) / sigma, width=width / sigma)
    return mass + order * (order - 1) * shift**2 / (2 * sigma**2)
