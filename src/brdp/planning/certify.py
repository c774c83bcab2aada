"""Ending a search on the private side: the exact curve has the last word."""

from __future__ import annotations

import math
from collections.abc import Callable

from brdp.noise.base import Noise
from brdp.planning.request import Budget

# A promise of delta = 0 is kept by the largest loss.
FIRST_STEP = 1e-12
LAST_STEP = 0.5
PRECISE = 1e-11


def overrun(noise: Noise, budget: Budget) -> float:
    """How far the noise is over the budget: at most 0 exactly where it is certified to fit.

    Guarantee: at 0 or below, the noise is (epsilon, delta)-private at the budget's sensitivity.
    """
    curve = noise.privacy(sensitivity=budget.sensitivity)
    if budget.delta == 0:
        return curve.largest_loss - budget.epsilon
    # the log may be rounded, so it must clear the target by more than an ulp
    target = math.nextafter(math.log(budget.delta), -math.inf)
    return float(curve.log_delta(epsilon=budget.epsilon)) - target


def least_fitting(
    make: Callable[[float], Noise | None], start: float, *, budget: Budget, grow: float = 1.0
) -> Noise | None:
    """Find the least parameter near `start` whose noise fits the budget; None if none near it does.

    `make` turns the parameter into noise (None where there is none). More of it must cost less, at
    least from just below the answer to just above it. `grow` is -1 where less of it costs less.
    """

    def over(step: float) -> tuple[float, Noise | None]:
        noise = make(start * (1 + grow * step))
        return (math.inf if noise is None else overrun(noise, budget)), noise

    here, noise = over(0.0)
    # walk towards the edge of the fitting side in growing steps, then close in on it
    forward = here > 0
    sign = 1.0 if forward else -1.0
    inner, best = (math.nan, None) if forward else (0.0, noise)
    outer, outer_over = (0.0, here) if forward else (math.nan, math.nan)
    step = FIRST_STEP
    while step <= LAST_STEP:
        value, noise = over(sign * step)
        if value <= 0:
            inner, inner_over, best = sign * step, value, noise
            if forward:
                break
        else:
            outer, outer_over = sign * step, value
            if not forward:
                break
        here = value
        step *= 8
    if best is None or math.isnan(outer):
        return best
    inner_over = overrun(best, budget)
    for _ in range(60):
        if (
            abs(inner - outer) <= PRECISE * (1 + abs(inner))
            or abs(inner - outer) <= 0.2 * FIRST_STEP
        ):
            break
        # false position, kept off the ends, falls back to halving where a value is infinite
        share = 0.5
        if math.isfinite(outer_over) and outer_over > inner_over:
            share = min(max(-inner_over / (outer_over - inner_over), 0.02), 0.9)
        middle = inner + share * (outer - inner)
        value, noise = over(middle)
        if value <= 0 and noise is not None:
            inner, inner_over, best = middle, value, noise
            if value > -1e-9:
                break
        else:
            outer, outer_over = middle, value
    return best
