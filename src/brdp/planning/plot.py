"""The picture of a plan: its noise beside the best plain noise, the bound shaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brdp._extras import require
from brdp.noise.base import Noise

if TYPE_CHECKING:
    from brdp.planning.result import Plan

# Colour-blind safe (Okabe and Ito): plain in orange, the plan in blue.
PLAN, PLAIN, BOUND = "#0072B2", "#D55E00", "#56B4E9"


def plot(plan: Plan, path: str | Path | None = None) -> Any:
    """Draw the plan's noise and the best plain noise; return the figure."""
    figure_module = require("matplotlib.figure", extra="plot")
    figure = figure_module.Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    plain = max(
        (a for a in plan.alternatives if not a.recycled), key=lambda a: a.acceptance, default=None
    )
    reach = max(3 * plan.within, 2.5 * plan.noise.std)
    axes.axvspan(-plan.within, plan.within, color=BOUND, alpha=0.18, lw=0)
    axes.axvline(-plan.within, color=BOUND, lw=0.8)
    axes.axvline(plan.within, color=BOUND, lw=0.8)
    if plain is not None and plain.noise != plan.noise:
        label = f"plain {type(plain.noise).__name__}: {_share(plain.noise, plan)} within"
        _draw(axes, plain.noise, reach, PLAIN, label, "--")
    what = "recycled" if plan.recycles else "plain"
    kernel = type(plan.noise.kernel).__name__
    _draw(axes, plan.noise, reach, PLAN, f"{what} {kernel}: {_share(plan.noise, plan)} within", "-")
    axes.set_xlabel("noise, in the units of the answer")
    axes.set_ylabel("probability" if plan.noise.lattice else "density")
    axes.set_xlim(-reach, reach)
    axes.set_ylim(bottom=0)
    axes.set_title(
        f"within ±{plan.within:g} at epsilon {plan.epsilon:.4g}, delta {plan.delta:g}", fontsize=11
    )
    # below the axes: inside, it would cover the noise
    figure.legend(frameon=False, loc="outside lower center", ncols=2, fontsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if path is not None:
        figure.savefig(path, dpi=160)
    return figure


def _share(noise: Noise, plan: Plan) -> str:
    return f"{100 * noise.acceptance(within=plan.within):.1f} %"


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
