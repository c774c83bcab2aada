"""The least weight outside the bound that a budget allows: the heart of every one-level plan.

Write r = 1 - q for the weight outside. The unnormalised excess

    h(r) = sum over pieces of max(0, w_P P - exp(epsilon) w_Q Q) - delta (p + r (1 - p))

is convex in r, because each weight is linear in r: the feasible r form an interval, and Newton's method
from r = 0 climbs to its left end without ever passing it. Each step solves the linear function that the
current sets {loss > epsilon} define.
"""

from __future__ import annotations

import numpy as np

from brdp.noise.base import Floats
from brdp.planning.shapes import Shape

# Newton's steps: a rough search may stop early, on the side where the weight is a little too small.
ROUGHLY = 6
PRECISELY = 40
SETTLED = 1e-10


def least_weight(
    shape: Shape,
    scale: Floats,
    bound: Floats,
    *,
    shift: float,
    epsilon: float,
    delta: float,
    steps: int = PRECISELY,
) -> Floats:
    """Return the least feasible weight for each (scale, bound); nan where no weight up to 1 is.

    On the lattice `bound` is a half-integer edge. No error control: certify what comes out.
    """
    scale, bound = np.broadcast_arrays(scale, bound)
    if delta == 0:
        # the loss is shift / scale everywhere left of 0, and -log r more where P is inside and Q is not
        with np.errstate(over="ignore"):  # infinite where nothing fits
            weight = np.exp(shift / scale - epsilon)
        return np.where(weight <= 1, weight, np.nan)
    ratio = np.exp(epsilon)

    def masses(low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """P and exp(epsilon) Q of the interval, 0 where it is empty."""
        empty = high <= low
        mine = shape.cdf(high, scale) - shape.cdf(low, scale)
        other = shape.cdf(high - shift, scale) - shape.cdf(low - shift, scale)
        return np.where(empty, 0.0, mine), np.where(empty, 0.0, ratio * other)

    first, last = np.minimum(bound, shift - bound), np.maximum(bound, shift - bound)
    infinity = np.full(scale.shape, np.inf)
    crossing = shape.crossing(np.full(scale.shape, epsilon), scale, shift)
    # both outside: the same weight on both, wherever the kernel's own loss exceeds epsilon
    outer = [
        np.subtract(*masses(low, np.minimum(high, crossing)))
        for low, high in ((-infinity, -bound), (shift + bound, infinity))
    ]
    middle = np.subtract(*masses(first, np.minimum(last, crossing)))
    overlap = 2 * bound >= shift
    constant = np.where(overlap, middle, 0.0)
    slope = outer[0] + outer[1] + np.where(overlap, 0.0, middle)
    inside = shape.cdf(bound, scale) - shape.cdf(-bound, scale)

    weight = np.zeros(scale.shape)
    infeasible = np.zeros(scale.shape, dtype=bool)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for _ in range(steps):
            boost = np.log(weight)
            # P inside and Q outside: the loss gains -log r; P outside and Q inside: it loses as much
            gain = shape.crossing(epsilon + boost, scale, shift)
            loss = shape.crossing(epsilon - boost, scale, shift)
            kept, lost = masses(-bound, np.minimum(first, gain))
            held, missed = masses(last, np.minimum(shift + bound, loss))
            # h(r) = level + tilt r on the current sets
            level = constant + kept - missed - delta * inside
            tilt = slope - lost + held - delta * (1 - inside)
            above = level + tilt * weight > 0
            infeasible |= above & (tilt >= 0)
            following = np.where(above & ~infeasible, -level / tilt, weight)
            change = np.abs(following - weight)
            weight = following
            if np.all((change <= SETTLED * weight) | infeasible):
                break
    return np.where(infeasible | (weight > 1), np.nan, weight)
