"""Every node of the inversion integral at once, where the moments fade late or in patches."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from brdp.noise.base import Floats
from brdp.privacy.contour import ContourSum, Frame, product
from brdp.privacy.transform import UNIT, Transform

# So few nodes are worth their sums one by one.
FEW = 1 << 15
# Ends of the integral that are tried, in shares of the deviation's inverse.
ENDS = np.geomspace(1.0, 1e9, 400)
# Nodes that all together weigh this much less (in logs) than what is allowed are left out.
LIGHT = 6.0


def sweep(
    laws: Sequence[tuple[Transform, int]], frame: Frame, *, variance: float, most_nodes: int
) -> ContourSum | None:
    """The sum over all nodes up to where the moments have provably faded; None where there are too many.

    Each of the transforms is that of one law.
    """
    step, smoothing = 2 * math.pi / frame.period, frame.smoothing
    ends = np.maximum(ENDS / math.sqrt(variance), 8 * step)
    found = _end(laws, frame, ends[ends <= step * (most_nodes // len(laws))])
    if found is None:
        return None
    end, log_beyond, log_density = found
    frequencies = step * np.arange(math.ceil(end / step) + 1, dtype=np.float64)
    s = np.asarray(frame.tilt + 1j * frequencies, dtype=np.complex128)
    logs = np.asarray(0.5 * smoothing * s * (s + 1), dtype=np.complex128)
    # logs of what the moduli are at most, and the errors of the logs
    most, errors = logs.real.copy(), 8 * UNIT * (np.abs(logs) + abs(frame.log_scale))
    for transform, count in laws:
        moments = transform.along(frame.tilt, frequencies)
        if moments is None:
            return None
        size = np.abs(moments.values)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = moments.errors / size
            wrong = -np.log1p(-np.minimum(share, 0.5)) + 8 * UNIT * (4 + abs(moments.log_scale))
            errors += np.where(share < 0.5, count * wrong, np.inf)
            logs += count * (np.log(moments.values) + moments.log_scale)
            most += count * (np.log(size + moments.errors) + moments.log_scale)
    errors += 8 * UNIT * np.where(np.isfinite(logs), np.abs(logs), 0.0)
    # the first node counts by half, and nodes come in pairs
    unit = math.log(2 / frame.period) - frame.log_scale
    denominators = np.log(np.abs(s * (s + 1)))
    known = np.isfinite(logs) & (errors < 0.5)
    shares = most + unit - denominators
    light = ~known | (shares < frame.floor - LIGHT - math.log(len(s)))
    left_out = np.logaddexp.reduce(shares[light], initial=-np.inf) + 1e-9
    log_beyond = float(np.logaddexp(log_beyond, left_out))
    left_out = np.logaddexp.reduce((most + unit)[light], initial=-np.inf) + 1e-9
    log_density = float(np.logaddexp(log_density, left_out))
    heavy = ~light
    logs, errors, s = logs[heavy], errors[heavy], s[heavy]
    if 0 < len(s) <= FEW:
        # what is left can be summed with more care
        batches = [(transform, np.array([float(count)])) for transform, count in laws]
        careful, wrong = product(batches, s, smoothing)
        better = np.isfinite(careful) & (wrong < errors)
        logs, errors = np.where(better, careful, logs), np.where(better, wrong, errors)
    weights = np.exp(logs - frame.log_scale) / (s * (s + 1))
    if heavy[0]:
        weights[0] *= 0.5
    return frame.sum_of(
        frequencies[heavy],
        np.asarray(weights, dtype=np.complex128),
        np.expm1(errors),
        log_beyond=log_beyond,
        log_density_beyond=log_density if smoothing > 0 else -math.inf,
    )


def _end(
    laws: Sequence[tuple[Transform, int]], frame: Frame, ends: Floats
) -> tuple[float, float, float] | None:
    """Where to stop, and logs of what lies beyond: its share of delta, and of the density."""
    fading = -0.5 * frame.smoothing * ends**2
    for transform, count in laws:
        tails = transform.tails(frame.tilt, ends[None])[0]
        fading = fading + count * np.log(np.clip(tails, 1e-300, 1.0))
    beyond = fading - np.log(math.pi * ends)
    enough = np.flatnonzero(beyond <= frame.floor)
    if not len(enough):
        return None
    end = float(ends[enough[0]])
    log_density = -math.inf
    if frame.smoothing > 0:
        # the nodes of a normal density from here on are less than its tail's bound
        log_density = float(fading[enough[0]]) - math.log(math.pi * frame.smoothing * end)
    return end, float(beyond[enough[0]]), log_density
