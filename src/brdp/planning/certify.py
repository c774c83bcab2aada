"""Ending a search on the private side: the exact curve has the last word."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from brdp.noise.base import Noise
from brdp.planning.request import Budget

# Relative steps away from where the search pointed to, and how closely the edge is approached. The curve is rounded
# up by about 1e-11, which a step of CLEAR makes up for.
FIRST_STEP, LAST_STEP, GROWTH = 1e-12, 0.5, 32
CLEAR = 3e-11
PRECISE, LEAST_STEP = 1e-11, 4e-11
# A log delta (or, without one, an epsilon, relatively) this close below its target is close enough.
CLOSE = 1e-8
MOST_TRIALS = 60


def overrun(noise: Noise, budget: Budget) -> float:
    """How far the noise is over the budget: at most 0 exactly where it is certified to fit.

    Guarantee: at 0 or below, the noise is (epsilon, delta)-private at the budget's sensitivity.
    """
    curve = noise.privacy(sensitivity=budget.sensitivity)
    if budget.delta == 0:
        return (curve.largest_loss - budget.epsilon) / budget.epsilon
    # the log may be rounded, so it must clear the target by more than an ulp
    target = math.nextafter(math.log(budget.delta), -math.inf)
    return float(curve.log_delta(epsilon=budget.epsilon)) - target


def least_fitting(
    make: Callable[[float], Noise | None],
    start: float,
    *,
    budget: Budget,
    grow: float = 1.0,
    first: float = FIRST_STEP,
) -> Noise | None:
    """Find the least parameter near `start` whose noise fits the budget; None if none near it does.

    `make` turns the parameter into noise (None where there is none). More of it must cost less, at
    least from just below the answer to just above it. `grow` is -1 where less of it costs less;
    `first` is the first relative step away from the start.
    """

    def tried(step: float) -> _Trial:
        noise = make(start * (1 + grow * step))
        return _Trial(step, math.inf if noise is None else overrun(noise, budget), noise)

    fits, fails = _bracket(tried, first)
    if fits is None or fails is None:
        return None if fits is None else fits.noise
    for _ in range(MOST_TRIALS):
        near = abs(fits.step - fails.step) <= PRECISE * abs(fits.step) + LEAST_STEP
        if near or fits.over > -CLOSE:
            break
        # false position, kept off the ends; halving where a value is infinite
        share = 0.5
        if math.isfinite(fits.over) and math.isfinite(fails.over):
            share = min(max(-fits.over / (fails.over - fits.over), 0.02), 0.9)
        trial = tried(fits.step + share * (fails.step - fits.step))
        if trial.over > 0:
            fails = trial
        else:
            fits = trial
    return fits.noise


@final
@dataclass(frozen=True, slots=True)
class _Trial:
    """A relative step away from the start, and what it gave."""

    step: float
    over: float
    noise: Noise | None


def _bracket(tried: Callable[[float], _Trial], first: float) -> tuple[_Trial | None, _Trial | None]:
    """The last trial on one side of the edge and the first on the other, in growing steps."""
    before = tried(0.0)
    forward = before.over > 0
    if not forward and before.over > -CLOSE:
        return before, None
    step = first if forward else -first
    while abs(step) <= LAST_STEP:
        after = tried(step)
        if (after.over > 0) != forward:
            return (after, before) if forward else (before, after)
        before = after
        step *= GROWTH
    return (None, before) if forward else (before, None)
