"""Figure 6 of the paper: the optimal sampling rate and the acceptance against the size of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from brdp.paper.figures import style
from brdp.paper.figures.panel import Panel, Report, Rows, column, pick
from brdp.paper.formulas.subsampling import (
    AverageQuery,
    CountQuery,
    Query,
    SumQuery,
    acceptance_of_the_sum,
    optimal_sampling_rate,
)
from brdp.paper.truth import exact_plan, split_noise
from brdp.privacy.subsample import subsample

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_COLOURS = {"sum": style.SECOND, "average": style.BEST, "count": style.EXACT}
_MARKERS = {"sum": "s", "average": "^", "count": "o"}


@final
@dataclass(frozen=True)
class SamplingPanel(Panel):
    """Algorithm 4 for the three queries, what it promises, what it gives, and what it costs."""

    epsilon: float = 0.1
    delta: float = 1e-5
    deviation: float = 10.0
    share: float = 0.1
    populations: tuple[int, ...] = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
    budgets: tuple[tuple[str, float, float], ...] = (
        ("sum", 22.0, 5.0),
        ("average", 0.0017, 1.0),
        ("count", 1.0, 3.0),
    )
    tolerance: float = 1e-3

    @property
    def name(self) -> str:
        return "sampling"

    @property
    def title(self) -> str:
        return "Figure 6: optimal sampling rate and acceptance against the number of people N"

    @property
    def settings(self) -> dict[str, object]:
        return vars(self).copy()

    @property
    def choices(self) -> tuple[str, ...]:
        return (
            "The caption gives σ_x, ε, δ and p_c but neither Δ nor θ: those of the Adult panels are "
            "taken (sum Δ = 22, θ = 5; average Δ = 0.0017, θ = 1; count Δ = 1, θ = 3), and N from "
            "1,000 to 100,000.",
        )

    def compute(self, report: Report) -> Rows:
        queries: dict[str, Query] = {
            "sum": SumQuery(self.deviation),
            "average": AverageQuery(self.deviation),
            "count": CountQuery(self.share),
        }
        n = np.array(self.populations, float)
        rows: Rows = []
        for word, sensitivity, within in self.budgets:
            report(f"Algorithm 4, {word}")
            found = optimal_sampling_rate(
                epsilon=self.epsilon,
                delta=self.delta,
                sensitivity=sensitivity,
                lower=-within,
                upper=within,
                population=n,
                query=queries[word],
                tolerance=self.tolerance,
            )
            true_acceptance = acceptance_of_the_sum(found.split, found.sampling_deviation)
            plain = exact_plan(
                sensitivity=sensitivity,
                within=within,
                epsilon=self.epsilon,
                delta=self.delta,
                kernel="gaussian",
            )
            for i, population in enumerate(self.populations):
                report(f"{word}, N = {population:,}")
                p = float(found.sampling_rate[i])
                curve = subsample(
                    split_noise(found.split.at(i)), sensitivity=sensitivity / p, sampling_rate=p
                )
                rows.append(
                    {
                        "query": word,
                        "population": population,
                        "sampling_rate": p,
                        "rate": float(found.split.rate[i]),
                        "paper_acceptance": float(found.acceptance[i]),
                        "true_acceptance": float(true_acceptance[i]),
                        "true_epsilon": float(curve.epsilon(delta=self.delta)),
                        "true_delta": float(curve.delta(epsilon=self.epsilon)),
                        "exact_sampling_rate": 1.0,
                        "exact_acceptance": float(plain.acceptance),
                    }
                )
        return rows

    def draw(self, rows: Rows) -> Figure:
        figure, axes = style.new_figure(style.COLUMN, 5.6, nrows=3, sharex=True)
        first, second, third = axes[:, 0]
        for word, colour in _COLOURS.items():
            some = pick(rows, query=word)
            x = column(some, "population")
            look = {"color": colour, "marker": _MARKERS[word]}
            first.plot(x, column(some, "sampling_rate"), label=word, **look)
            second.plot(x, column(some, "paper_acceptance"), **look)
            second.plot(x, column(some, "true_acceptance"), linestyle=(0, (1, 1)), **look)
            second.plot(
                x,
                column(some, "exact_acceptance"),
                color=colour,
                linestyle=(0, (5, 1.5)),
                linewidth=1,
            )
            third.plot(x, column(some, "true_epsilon"), **look)
        first.plot(
            [min(self.populations), max(self.populations)], [1, 1], color=style.PLAIN,
            linestyle=(0, (5, 1.5)), linewidth=1, label="(a) exact: p = 1",
        )  # fmt: skip
        style.promise_line(third, self.epsilon)
        third.set_xscale("log")
        third.set_xlabel("people in the data, N")
        first.set_ylabel("sampling rate p")
        first.set_ylim(-0.03, 1.06)
        second.set_ylabel("acceptance rate")
        style.log_y(second)
        third.set_ylabel(f"true ε at δ = {style.number(self.delta)}")
        style.log_y(third)
        third.set_ylim(bottom=0.35 * self.epsilon)
        third.annotate(
            f"promised ε = {self.epsilon:g}", (max(self.populations), self.epsilon), fontsize=7,
            xytext=(0, -9), textcoords="offset points", ha="right", color=style.PROMISE,
        )  # fmt: skip
        handles, labels = first.get_legend_handles_labels()
        kinds = [
            _line("-", "Algorithm 4's claim"),
            _line((0, (1, 1)), "its noise, in truth"),
            _line((0, (5, 1.5)), "exact plan, p = 1"),
        ]
        labels += ["(b) Algorithm 4's claim", "(b) its noise, in truth", "(b) exact plan, p = 1"]
        figure.legend([*handles, *kinds], labels, loc="outside lower center", ncols=2)
        style.letter(first, "(a) Algorithm 4's choice")
        style.letter(second, "(b) acceptance")
        style.letter(third, "(c) what it truly costs")
        return figure

    def sentences(self, rows: Rows) -> tuple[str, ...]:
        said = [
            "Rescaling the sample's answer by 1/p multiplies its sensitivity by 1/p, which the paper "
            "leaves out; panel (c) is the exact ε of the noise it would add, amplified by the sampling."
        ]
        for word, _, _ in self.budgets:
            some = pick(rows, query=word)
            rates, costs = column(some, "sampling_rate"), column(some, "true_epsilon")
            said.append(
                f"{word.capitalize()}: p from {min(rates):.3f} to {max(rates):.3f}; true ε up to "
                f"{max(costs):.3g} for a promised {self.epsilon:g}."
            )
        said.append(
            "At equal promises p = 1 is best for the accuracy of one release: sampling buys speed."
        )
        return tuple(said)


def _line(dash: Any, label: str) -> Line2D:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=style.PROMISE, linestyle=dash, label=label)
