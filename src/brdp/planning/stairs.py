"""Plans with a staircase kernel: optimal for one pure release, and nearly so with a small delta.

The steps are as wide as the sensitivity, so the loss takes few values and everything is closed form.
A staircase may be recycled at the edge of one of its stairs; with rate 1 it is then a finite staircase.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from brdp.noise import Recycled, Staircase
from brdp.noise.base import Floats, Noise
from brdp.planning.certify import least_fitting, overrun
from brdp.planning.request import Budget, Candidate

DROPS = np.concatenate([np.linspace(0.05, 0.98, 48), np.linspace(0.985, 1.1, 24)])
STAIRS = np.arange(48.0)[:, None]
REFINEMENTS = 3


@final
@dataclass(frozen=True, slots=True)
class _Steps:
    """The geometry: half the core, the width of a step, and which stair the asked bound ends on.

    On the lattice every integer is a cell of width 1, so that the formulas are those of the reals.
    """

    half_core: float
    step: float
    asked: int
    lattice: bool

    @classmethod
    def of(cls, step: float, within: float, *, lattice: bool) -> _Steps:
        edge = math.floor(within) + 0.5 if lattice else within
        asked = math.ceil(edge / step) - 1
        return cls(edge - asked * step, step, asked, lattice)

    def kernel(self, drop: float) -> Staircase:
        core = self.half_core - 0.5 if self.lattice else self.half_core
        return Staircase(core=core, step=self.step, drop=drop, integer=self.lattice)

    def noise(self, drop: float, stair: int, weight: float) -> Noise | None:
        """The staircase recycled at the outer edge of that stair."""
        rate = 1 - weight
        if not 0 <= rate <= 1:
            return None
        edge = self.half_core + stair * self.step
        within = edge - 0.5 if self.lattice else edge
        return Recycled(self.kernel(drop), within=within, rate=rate)

    def top(self, drop: Floats) -> Floats:
        """Density of the core."""
        return 0.5 / (self.half_core + self.step / np.expm1(drop))

    def tail(self, drop: Floats, stair: Floats) -> Floats:
        """Mass of one side past that stair."""
        return self.top(drop) * self.step * np.exp(-drop * stair) / np.expm1(drop)

    @property
    def reach(self) -> float:
        """Up to where in the core the loss is a full drop."""
        return min(self.half_core, self.step - self.half_core)


def kernel(drop: float, sensitivity: float, within: float, *, lattice: bool) -> Staircase:
    """The staircase of that drop with the core that suits the bound."""
    return _Steps.of(sensitivity, within, lattice=lattice).kernel(drop)


def plain(budget: Budget, *, lattice: bool) -> Candidate | None:
    """The steepest staircase that fits the budget by itself."""
    steps = _Steps.of(budget.sensitivity, budget.within, lattice=lattice)
    drop = float(_plain_drop(steps, budget))
    noise = least_fitting(steps.kernel, drop, budget=budget, grow=-1.0)
    return None if noise is None else Candidate.of(noise, budget.within)


def recycled(budget: Budget, *, lattice: bool) -> Candidate | None:
    """The best drop, stair and rate together; delta = 0 leaves nothing for a recycler to gain."""
    if budget.delta == 0:
        return None
    steps = _Steps.of(budget.sensitivity, budget.within, lattice=lattice)
    best = _search(steps, budget)
    if best is None:
        return None
    _, drop, stair, weight = best

    def make(weight: float) -> Noise | None:
        return steps.noise(drop, stair, weight)

    if weight == 0:
        noise = make(0.0)
        if noise is not None and overrun(noise, budget) <= 0:
            return Candidate.of(noise, budget.within)
        weight = 1e-12
    noise = least_fitting(make, weight, budget=budget)
    return None if noise is None else Candidate.of(noise, budget.within)


def acceptance_found(budget: Budget, *, lattice: bool) -> float:
    """Return the acceptance of the best staircase, plain or recycled, uncertified."""
    best = (
        None
        if budget.delta == 0
        else _search(_Steps.of(budget.sensitivity, budget.within, lattice=lattice), budget)
    )
    return max(plain_acceptance_found(budget, lattice=lattice), best[0] if best else 0.0)


def plain_acceptance_found(budget: Budget, *, lattice: bool) -> float:
    """Return the acceptance of the plain staircase, uncertified."""
    steps = _Steps.of(budget.sensitivity, budget.within, lattice=lattice)
    return float(1 - 2 * steps.tail(_plain_drop(steps, budget), np.array(float(steps.asked))))


def _plain_drop(steps: _Steps, budget: Budget) -> Floats:
    """delta = P(loss = drop) (1 - exp(epsilon - drop)), solved by iteration: P hardly depends on it."""
    drop = np.array(budget.epsilon)
    for _ in range(30):
        lossy = 0.5 + steps.top(drop) * steps.reach
        drop = budget.epsilon - np.log1p(-np.minimum(budget.delta / lossy, 0.999))
    return drop


def _search(steps: _Steps, budget: Budget) -> tuple[float, float, int, float] | None:
    """(acceptance, drop, stair, weight) of the best one-level recycler at the edge of a stair."""
    drops = budget.epsilon * DROPS
    best: tuple[float, float, int, float] | None = None
    stairs = STAIRS
    for _ in range(REFINEMENTS):
        weight, acceptance = _weigh(steps, budget, drops, stairs)
        if not np.isfinite(acceptance).any():
            break
        row, column = divmod(int(np.nanargmax(acceptance)), acceptance.shape[1])
        found = float(acceptance[row, column])
        if best is None or found > best[0]:
            best = found, float(drops[column]), int(stairs[row, 0]), float(weight[row, column])
        drops = np.linspace(drops[max(column - 1, 0)], drops[min(column + 1, len(drops) - 1)], 25)
        stairs = stairs[row : row + 1]
    return best


def _weigh(steps: _Steps, budget: Budget, drop: Floats, stair: Floats) -> tuple[Floats, Floats]:
    """The least weight outside the stair, and the acceptance it gives; nan where none fits.

    Left of the bound the loss is a drop; on the last stair inside, P is kept and Q is not, which adds
    -log r; on the stairs further in it is a drop again. The budget is linear in r.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return _weighed(steps, budget, drop, stair)


def _weighed(steps: _Steps, budget: Budget, drop: Floats, stair: Floats) -> tuple[Floats, Floats]:
    top, tail = steps.top(drop), steps.tail(drop, stair)
    last = np.where(
        stair >= 1,
        top * np.exp(-drop * stair) * steps.step,
        top * (steps.reach + steps.half_core),
    )
    inner = np.where(stair >= 1, 0.5 + top * steps.reach - tail - last, 0.0)
    share = np.maximum(-np.expm1(budget.epsilon - drop), 0.0)
    ratio = np.exp(budget.epsilon - drop)
    excess = last + inner * share - budget.delta * (1 - 2 * tail)
    weight = np.maximum(excess, 0.0) / (last * ratio + 2 * tail * budget.delta - tail * share)
    weight = np.where((weight <= 1) & (weight >= 0), weight, np.nan)
    inside = 1 - 2 * tail
    wanted = 1 - 2 * steps.tail(drop, np.array(float(steps.asked)))
    good = np.where(stair >= steps.asked, wanted, inside + weight * (wanted - inside))
    return weight, good / (inside + 2 * weight * tail)
