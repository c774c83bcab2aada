"""Figure 3 of the paper: the recycling rate against the kernel's budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from brdp.paper.figures import style
from brdp.paper.figures.panel import Panel, Report, Rows, column, pick
from brdp.paper.formulas.budget import gaussian_for, split_at
from brdp.paper.formulas.leakage import baseline_rate
from brdp.paper.truth import curve_of, largest_safe_rate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOOKS = {
    "baseline": ("Remark 1", style.SECOND, (0, (3, 1.2, 1, 1.2))),
    "paper": ("Algorithm 1", style.PAPER, "-"),
    "exact": ("largest exact q", style.EXACT, (0, (5, 1.5))),
}


@final
@dataclass(frozen=True)
class RatePanel(Panel):
    """The baseline, Algorithm 1, and the largest rate that truly keeps the promise."""

    epsilon: float = 3.0
    deltas: tuple[float, ...] = (1e-3, 1e-5, 1e-8)
    sensitivity: float = 1.0
    within: float = 1.0
    points: int = 25

    @property
    def name(self) -> str:
        return "rate"

    @property
    def title(self) -> str:
        return "Figure 3: recycling rate q against the kernel's budget ε_y"

    @property
    def settings(self) -> dict[str, object]:
        return vars(self).copy()

    @property
    def choices(self) -> tuple[str, ...]:
        return (
            "The caption leaves δ to the figure: 0.001, 1e-5 and 1e-8 are taken. "
            "Its y = 10 does not matter: noise does not depend on the answer.",
        )

    def compute(self, report: Report) -> Rows:
        # closer together at the ends, where the curves bend
        kernel_epsilon = (
            0.5 * (1 - np.cos(np.linspace(0.09, 0.98, self.points) * np.pi)) * self.epsilon
        )
        rows: Rows = []
        for delta in self.deltas:
            report(f"delta {delta:g}")
            split = split_at(
                kernel_epsilon,
                epsilon=self.epsilon,
                delta=delta,
                sensitivity=self.sensitivity,
                lower=-self.within,
                upper=self.within,
                kernel_for=gaussian_for,
            )
            baseline = baseline_rate(epsilon=self.epsilon, kernel_epsilon=kernel_epsilon)
            for i, e_y in enumerate(kernel_epsilon):
                kernel = split.kernel.at(i)
                exact = largest_safe_rate(
                    kernel, epsilon=self.epsilon, delta=delta, lower=-self.within, upper=self.within
                )
                rates = {"baseline": baseline[i], "paper": split.rate[i], "exact": exact}
                for series, rate in rates.items():
                    curve = curve_of(
                        kernel, lower=-self.within, upper=self.within, rate=float(rate)
                    )
                    rows.append(
                        {
                            "delta": delta,
                            "series": series,
                            "kernel_epsilon": float(e_y),
                            "rate": float(rate),
                            "true_delta": float(curve.delta(epsilon=self.epsilon)),
                            "true_epsilon": float(curve.epsilon_or_infinity(delta=delta)),
                        }
                    )
        return rows

    def draw(self, rows: Rows) -> Figure:
        figure, axes = style.new_figure(
            style.COLUMN, 4.6, nrows=3, ncols=len(self.deltas), sharex=True, sharey="row",
            height_ratios=(1.4, 1, 1),
        )  # fmt: skip
        for i, delta in enumerate(self.deltas):
            top, middle, bottom = axes[:, i]
            for series, (label, colour, dash) in _LOOKS.items():
                some = pick(rows, delta=delta, series=series)
                x = column(some, "kernel_epsilon")
                look = {"color": colour, "linestyle": dash}
                ratio = [max(d / delta, 1e-12) for d in column(some, "true_delta")]
                top.plot(x, column(some, "rate"), label=label, **look)
                middle.plot(x, ratio, **look)
                bottom.plot(x, column(some, "true_epsilon"), **look)
            style.letter(top, f"({'abc'[i]}) δ = {style.number(delta)}")
            style.promise_line(middle, 1.0)
            style.promise_line(bottom, self.epsilon)
            style.log_y(middle)
            bottom.set_xticks([1, 2, 3])
            bottom.set_xlim(0, 1.05 * self.epsilon)
        axes[0, 0].set_ylabel("recycling rate q")
        axes[1, 0].set_ylabel("true / promised δ")
        axes[2, 0].set_ylabel("true ε at δ")
        axes[0, 0].set_ylim(-0.02, 1.02)
        axes[1, 0].set_ylim(1e-9, 1e2)
        axes[2, len(self.deltas) // 2].set_xlabel(r"budget of the kernel, $\varepsilon_y$")
        style.legend_below(figure, axes[0, 0], columns=3)
        for axis, value in ((axes[1, -1], 1.0), (axes[2, -1], self.epsilon)):
            axis.annotate(
                "promise", (0.03, value), xycoords=axis.get_yaxis_transform(), xytext=(0, 2),
                textcoords="offset points", fontsize=7, color=style.PROMISE,
            )  # fmt: skip
        axes[2, 0].set_ylim(0, 1.2 * self.epsilon)
        return figure

    def sentences(self, rows: Rows) -> tuple[str, ...]:
        paper = pick(rows, series="paper")
        ratio = [float(row["true_delta"]) / float(row["delta"]) for row in paper]
        broken = sum(value > 1 + 1e-9 for value in ratio)
        wasted = sum(value < 0.01 for value in ratio)
        above = sum(
            float(e["rate"]) > float(p["rate"])
            for e, p in zip(pick(rows, series="exact"), paper, strict=True)
        )
        return (
            f"Of {len(paper)} points at ε = {self.epsilon:g}, Algorithm 1's rate breaks the promise in "
            f"{broken} (up to {max(ratio):.2g} times δ, at small ε_y) and spends less than 1 % of δ in "
            f"{wasted}.",
            f"The largest rate that keeps the promise exactly is above Algorithm 1's in {above} of "
            f"{len(paper)} points.",
        )
