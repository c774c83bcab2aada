"""Figure 2 of the paper: the density of the released noise, and 100,000 draws of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from brdp.noise import Noise
from brdp.paper.figures import style
from brdp.paper.figures.panel import Panel, Report, Rows, column, pick
from brdp.paper.formulas.budget import gaussian_for, optimal_split
from brdp.paper.truth import exact_plan, split_noise, true_cost

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOOKS = {
    "Gaussian DP": (style.PLAIN, (0, (1, 1))),
    "paper": (style.PAPER, "-"),
    "exact": (style.EXACT, (0, (5, 1.5))),
}


@final
@dataclass(frozen=True)
class NoisePanel(Panel):
    """Gaussian DP, the paper's split, and the exact plan, as densities and as draws."""

    epsilon: float = 2.0
    delta: float = 1e-5
    sensitivity: float = 1.0
    within: float = 1.0
    draws: int = 100_000
    seed: int = 20240519
    reach: float = 6.0

    @property
    def name(self) -> str:
        return "noise"

    @property
    def title(self) -> str:
        return "Figure 2: noise distribution"

    @property
    def settings(self) -> dict[str, object]:
        return vars(self).copy()

    @property
    def choices(self) -> tuple[str, ...]:
        return ("The caption gives no sensitivity: 1 is taken.",)

    def _noises(self) -> dict[str, Noise]:
        split = optimal_split(
            epsilon=self.epsilon,
            delta=self.delta,
            sensitivity=self.sensitivity,
            lower=-self.within,
            upper=self.within,
            kernel_for=gaussian_for,
        )
        chosen = exact_plan(
            sensitivity=self.sensitivity,
            within=self.within,
            epsilon=self.epsilon,
            delta=self.delta,
            kernel="gaussian",
        )
        plain = gaussian_for(*(np.asarray(x) for x in (self.epsilon, self.delta, self.sensitivity)))
        return {
            "Gaussian DP": plain.noise(),
            "paper": split_noise(split),
            "exact": chosen.noise,
        }

    def compute(self, report: Report) -> Rows:
        grid = np.linspace(-self.reach, self.reach, 601)
        bins = np.linspace(-self.reach, self.reach, 121)
        rng = np.random.default_rng(self.seed)
        rows: Rows = []
        for series, noise in self._noises().items():
            report(series)
            cost = true_cost(
                noise.privacy(sensitivity=self.sensitivity), epsilon=self.epsilon, delta=self.delta
            )
            drawn = noise.sample(self.draws, rng=rng)
            rows.append(
                {
                    "part": "cost",
                    "series": series,
                    "acceptance": float(noise.acceptance(within=self.within)),
                    "measured_acceptance": float(np.mean(np.abs(drawn) <= self.within)),
                    "standard_deviation": float(noise.std),
                    "true_delta": cost.delta,
                    "true_epsilon": cost.epsilon,
                }
            )
            for x, y in zip(grid, noise.pdf(grid), strict=True):
                rows.append({"part": "density", "series": series, "x": float(x), "y": float(y)})
            counts, _ = np.histogram(drawn, bins)
            heights = counts / (self.draws * np.diff(bins))
            for left, height in zip(bins[:-1], heights, strict=True):
                rows.append(
                    {"part": "draws", "series": series, "x": float(left), "y": float(height)}
                )
        return rows

    def draw(self, rows: Rows) -> Figure:
        figure, axes = style.new_figure(style.COLUMN, 4.3, nrows=2)
        top, bottom = axes[:, 0]
        for series, (colour, dash) in _LOOKS.items():
            (cost,) = pick(rows, part="cost", series=series)
            density = pick(rows, part="density", series=series)
            label = f"{series}: {float(cost['acceptance']):.3f} within ±θ"
            if series != "Gaussian DP":
                label += f", true δ = {style.scientific(float(cost['true_delta']))}"
            top.plot(
                column(density, "x"),
                column(density, "y"),
                color=colour,
                linestyle=dash,
                label=label,
            )
            drawn = pick(rows, part="draws", series=series)
            edges = [*column(drawn, "x"), self.reach]
            bottom.stairs(column(drawn, "y"), edges, color=colour, linestyle=dash, linewidth=1.1)
        for one, part in ((top, 0.62), (bottom, 0.95)):
            for bound in (-self.within, self.within):
                one.axvline(
                    bound, 0, part, color=style.PROMISE, linewidth=0.8, linestyle=(0, (1, 1.5))
                )
            one.set_xlim(-self.reach, self.reach)
            one.set_ylabel("density (1/Δ)")
        highest = max(column(pick(rows, part="density"), "y"))
        top.set_ylim(0, 1.7 * highest)
        bottom.set_ylim(0, 1.1 * highest)
        ticks = np.arange(0, highest + 0.05, 0.1)
        top.set_yticks(ticks)
        bottom.set_yticks(ticks)
        top.legend(loc="upper left")
        bottom.set_xlabel("noise (in sensitivities Δ)")
        style.letter(
            top, f"(a) density, ε = {self.epsilon:g}, δ = {style.number(self.delta)}, θ = Δ = 1"
        )
        style.letter(bottom, f"(b) {self.draws:,} draws")
        return figure

    def sentences(self, rows: Rows) -> tuple[str, ...]:
        cost = {str(row["series"]): row for row in pick(rows, part="cost")}
        paper, exact, plain = cost["paper"], cost["exact"], cost["Gaussian DP"]
        return (
            f"Acceptance within ±θ is {float(plain['acceptance']):.3f} for plain Gaussian noise, "
            f"{float(paper['acceptance']):.3f} for the paper's split and "
            f"{float(exact['acceptance']):.3f} for the exact plan at the same promise.",
            f"The paper's split truly costs δ = {float(paper['true_delta']):.3g} at "
            f"ε = {self.epsilon:g} (promised {self.delta:g}), or ε = "
            f"{float(paper['true_epsilon']):.4f} at δ = {self.delta:g}: it leaves the budget unspent.",
            "As printed, the objective (eq:budget) is least at q = 0, and the figure would show the "
            "plain kernel; the corrected objective is used for every curve named 'paper'.",
        )
