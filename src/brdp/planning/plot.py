"""The picture of a plan: its noise beside what it is an alternative to, the bound shaded."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brdp._extras import require
from brdp.noise.base import Noise

if TYPE_CHECKING:
    from brdp.planning.result import Alternative, Plan

# Colour-blind safe (Okabe and Ito): the plan in blue, the other in orange.
PLAN, OTHER, BOUND = "#0072B2", "#D55E00", "#56B4E9"


def plot(plan: Plan, path: str | Path | None = None) -> Any:
    """Draw the plan's noise, and beside it the best of the other kind; return the figure.

    Beside recycled noise that is the best plain noise; beside plain noise, the best that recycling makes of
    another kernel.
    """
    figure_module = require("matplotlib.figure", extra="plot")
    figure = figure_module.Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    noise = plan.noise
    reach = max(3 * plan.within, 2.5 * noise.std)
    # on the integers the bound takes in the whole of its last bars
    bound = math.floor(plan.within) + 0.5 if noise.lattice else plan.within
    axes.axvspan(-bound, bound, color=BOUND, alpha=0.18, lw=0)
    axes.axvline(-bound, color=BOUND, lw=0.8)
    axes.axvline(bound, color=BOUND, lw=0.8)
    other = beside(plan)
    # a plan for a confidence differs from others in what it costs, not in how often it is within
    by_epsilon = other is not None and other.epsilon != plan.epsilon
    if other is not None:
        label = _label(other.noise, other.acceptance, other.epsilon, by_epsilon=by_epsilon)
        _draw(axes, other.noise, reach, OTHER, label, "--")
    label = _label(noise, plan.acceptance, plan.epsilon, by_epsilon=by_epsilon)
    _draw(axes, noise, reach, PLAN, label, "-")
    axes.set_xlabel("noise, in the units of the answer")
    axes.set_ylabel("probability" if noise.lattice else "density")
    axes.set_xlim(-reach, reach)
    axes.set_ylim(bottom=0)
    together = f", {plan.count} releases together" if plan.count > 1 else ""
    axes.set_title(
        f"within ±{plan.within:g} at epsilon {plan.epsilon:.4g}, delta {plan.delta:g}{together}",
        fontsize=11,
    )
    # below the axes: inside, it would cover the noise
    figure.legend(frameon=False, loc="outside lower center", ncols=2, fontsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if path is not None:
        figure.savefig(path, dpi=160)
    return figure


def beside(plan: Plan) -> Alternative | None:
    """The best plain noise beside a recycled plan, the best recycled one of another kernel beside a plain one."""
    others = [
        a
        for a in plan.alternatives
        if a.recycled != plan.recycles
        and (plan.recycles or type(a.noise.kernel) is not type(plan.noise.kernel))
    ]
    if not others:
        return None
    costs = {a.epsilon for a in plan.alternatives}
    return min(others, key=lambda a: a.epsilon if len(costs) > 1 else -a.acceptance)


def _label(noise: Noise, acceptance: float, epsilon: float, *, by_epsilon: bool) -> str:
    from brdp.planning.result import percent

    what = "plain" if noise.kernel is noise else "recycled"
    worth = f"epsilon {epsilon:.4g}" if by_epsilon else f"{percent(acceptance)} within"
    return f"{what} {type(noise.kernel).__name__}: {worth}"


def _draw(axes: Any, noise: Noise, reach: float, colour: str, label: str, line: str) -> None:
    if noise.lattice:
        k = np.arange(-np.floor(reach), np.floor(reach) + 1)
        axes.step(k, noise.pdf(k), where="mid", color=colour, label=label, ls=line, lw=1.6)
        return
    # a jump at an edge is drawn as one: a point on either side of it
    edges = np.asarray([*noise.recycler.edges])
    x = np.concatenate([np.linspace(-reach, reach, 4001), np.nextafter(edges, -np.inf), edges])
    x = np.sort(np.concatenate([x, np.nextafter(edges, np.inf)]))
    x = x[(x >= -reach) & (x <= reach)]
    axes.plot(x, noise.pdf(x), color=colour, label=label, ls=line, lw=1.6)
