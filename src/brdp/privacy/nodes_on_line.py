"""Nodes for samples of plain Gaussian noise: the trapezoid rule on the whole line.

Measured in standard deviations from where the law without the unit has its mean, z is normal and the mixture's
loss is m(z) = log(1 - rate + rate exp(step z - step^2 / 2)): every moment is the integral of
normal(z) exp(order m(z)). It is analytic in a strip about the line, so evenly spaced points are right to
2 B / (exp(2 pi height / spacing) - 1), with B what the modulus integrates to along the strip's edges
(Trefethen and Weideman 2014, theorem 5.1). Proofs: docs/theory/composition.md.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from brdp.noise.base import Floats
from brdp.noise.gaussian import LOG_ROOT_TWO_PI
from brdp.privacy.loss_pieces import GaussianLoss
from brdp.privacy.loss_sampled import SampledLoss
from brdp.privacy.nodes import Nodes

UNIT = 2.0**-53
# The rule is laid to be right to exp(-GOAL); beyond REACH deviations past the peaks lie exp(-REACH^2 / 2).
GOAL, REACH = 40.0, 10.0
# Nodes lighter than this (in logs) at every order are left out.
LIGHT = -58.0
MOST_NODES, MOST_TRIED, MOST_TERMS = 1 << 16, 1 << 16, 1 << 26
HEIGHTS = 0.5 ** np.arange(6)
HIGHEST, MOST_TURNED = 6.0, 200.0
DIGITS = 30


def on_line(law: SampledLoss) -> bool:
    """Whether the law is a sample of plain Gaussian noise, nothing cut off."""
    if not isinstance(law.base, GaussianLoss):
        return False
    pieces = law.base.pieces
    return len(pieces.low) == 1 and bool(np.isinf(pieces.low[0]) and np.isinf(pieces.high[0]))


def lay_on_line(law: SampledLoss, tilts: Floats, frequency: float, width: int) -> Nodes | None:
    """Nodes for s = tilt + i t, |t| <= frequency, and `width` of them; None where they would be too many."""
    step = _step(law)
    orders = -tilts if law.added else 1 + tilts
    low, high = _lowest_peak(law, step, float(orders.min())), max(0.0, step * float(orders.max()))
    highest = min(0.5 * math.pi / step, HIGHEST)
    if frequency > 0:
        highest = min(highest, MOST_TURNED / (frequency * step))
    heights = np.multiply(highest, HEIGHTS, dtype=np.float64)
    # on the edges of the strip the normal density grows, and a mixture in the denominator shrinks
    falling = max(0.0, -float(orders.min()))
    growth = 0.5 * heights**2 - falling * np.log(np.cos(0.5 * heights * step))
    if frequency > 0:
        turned = _turned(law, step, orders, frequency, heights, (low, high))
        if turned is None:
            return None
        growth = growth + turned
    spacings = 2 * math.pi * heights / (GOAL + math.log(2) + growth)
    best = int(np.argmax(spacings))
    # so few digits that every multiple is exact
    mantissa, exponent = math.frexp(float(spacings[best]))
    spacing = math.ldexp(math.floor(math.ldexp(mantissa, DIGITS)), exponent - DIGITS)
    first, last = math.floor((low - REACH) / spacing), math.ceil((high + REACH) / spacing)
    if spacing <= 0 or last - first > MOST_NODES or (last - first) * width > MOST_TERMS:
        return None
    z = spacing * np.arange(first, last + 1, dtype=np.float64)
    mixed = _mixed(law, step, z)
    logs = orders[:, None] * mixed - 0.5 * z * z
    tops = logs.max(axis=1)
    heavy = (logs > tops[:, None] + LIGHT).any(axis=0)
    # the aliases; what the sum lacks on either side, where it falls at a rate of REACH; what was left out
    aliases = math.log(2) + growth[best] - 2 * math.pi * heights[best] / spacing
    ends = np.maximum(logs[:, 0], logs[:, -1]) - tops - math.log(-math.expm1(-REACH * spacing))
    light = LIGHT + math.log(len(z))
    missing = np.logaddexp(np.logaddexp(aliases, ends + math.log(2)), light) + 1e-6
    z, mixed = z[heavy], mixed[heavy]
    density = math.log(spacing) - LOG_ROOT_TWO_PI - 0.5 * z * z
    sizes = 1 + 0.5 * step**2 + step * np.abs(z)
    return Nodes(
        losses=-mixed if law.added else mixed,
        log_masses=density if law.added else density + mixed,
        loss_errors=8 * UNIT * (sizes * _share(law, step, z) + np.abs(mixed)),
        log_missing=missing,
    )


@functools.lru_cache(maxsize=64)
def log_fading(law: SampledLoss, tilt: float) -> float:
    """log of C, where |M(tilt + i t)| / M(tilt) is at most C / t.

    Integrated by parts, |M| is at most the variation of the tilted density of the loss over t: twice the sum
    of its local maxima, of which there are at most two. Over z that density is exp(a m(z) - z^2 / 2) / m'(z),
    with a peak wherever z + step = (a + 1) step share(z).
    """
    step = _step(law)
    order = -tilt if law.added else 1 + tilt
    low = _lowest_peak(law, step, min(order, order + 1)) - step
    high = max(0.0, step * (order + 1))
    count = min(MOST_TRIED, 64 + math.ceil((high - low + 2 * REACH) / 0.05))
    z = np.linspace(low - REACH, high + REACH, count)
    mixed, apart = _mixed(law, step, z), z[1] - z[0]
    total = order * mixed - 0.5 * z * z
    bend = apart**2 / 8 * (1 + (abs(order) + 1) * step**2 / 4)
    scale = float(np.logaddexp.reduce(0.5 * (total[1:] + total[:-1]))) + math.log(apart) - bend
    steep = math.log(step * law.rate) + step * z - 0.5 * step**2 - mixed
    # between two points either log bends by at most 1 + (|a| + 1) step^2 / 4
    most = float((total - steep).max()) + bend
    return float(math.log(4) + most - scale)


def _turned(
    law: SampledLoss,
    step: float,
    orders: Floats,
    frequency: float,
    heights: Floats,
    peaks: tuple[float, float],
) -> Floats | None:
    """How much (in logs) exp(frequency * argument of the mixture) adds to the integral, for each height.

    A bound from above: in each cell the log of the integrand is below the chord of its ends and its
    curvature, and the argument, which rises, is that at the right end.
    """
    reach = math.sqrt(REACH**2 + 2 * frequency * float(heights.max()) * step)
    span = peaks[1] - peaks[0] + 2 * reach
    width = min(0.25, 16 / (frequency * step))
    if span / width > MOST_TRIED:
        return None
    z = np.linspace(peaks[0] - reach, peaks[1] + reach, 1 + math.ceil(span / width))
    width = float(z[1] - z[0])
    logs = orders[:, None] * _mixed(law, step, z) - 0.5 * z * z
    bend = width**2 / 8 * (1 + float(np.abs(orders).max()) * step**2 / 4)
    share = _share(law, step, z)
    angles = heights[:, None] * step
    arguments = frequency * np.arctan2(share * np.sin(angles), 1 - share + share * np.cos(angles))
    cells = np.maximum(logs[:, :-1], logs[:, 1:])[:, None] + arguments[:, 1:] + bend
    log_width = math.log(width)
    inside = np.logaddexp.reduce(cells, axis=-1) + log_width
    # past either end the integrand falls at a rate of `reach`, the argument by less than it could at most
    left = logs[:, :1] + arguments[:, 0] - math.log(reach)
    right = logs[:, -1:] + frequency * angles[:, 0] - math.log(reach)
    most = np.logaddexp(np.logaddexp(inside, left), right)
    # from below: above the chord of the logs, less their curvature
    least = np.logaddexp.reduce(0.5 * (logs[:, :-1] + logs[:, 1:]), axis=-1) + log_width - bend
    return np.asarray((most - least[:, None]).max(axis=0) + 1e-6)


def _lowest_peak(law: SampledLoss, step: float, order: float) -> float:
    """At or below every z at which z = order * step * share(z)."""
    if order >= 0:
        return 0.0
    low, high = order * step, 0.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        share = math.exp(
            min(0.0, math.log(law.rate) + step * middle - 0.5 * step**2 - _one(law, step, middle))
        )
        low, high = (middle, high) if middle < order * step * share else (low, middle)
        if high - low < 0.1:
            break
    return low


def _step(law: SampledLoss) -> float:
    """How far the unit moves the mean, in standard deviations."""
    base = law.base
    if not isinstance(base, GaussianLoss):
        raise TypeError(f"a sample of Gaussian noise was expected, got {base!r}")
    return base.shift / base.sigma


def _one(law: SampledLoss, step: float, z: float) -> float:
    return float(_mixed(law, step, np.array(z)))


def _mixed(law: SampledLoss, step: float, z: Floats) -> Floats:
    return law.mixed(step * z - 0.5 * step**2)


def _share(law: SampledLoss, step: float, z: Floats) -> Floats:
    """How much of the mixture is the law with the unit: the loss's slope over the step."""
    log_share = math.log(law.rate) + step * z - 0.5 * step**2 - _mixed(law, step, z)
    return np.asarray(np.exp(np.minimum(0.0, log_share)))
