"""Figures 7 and 8 of the paper: noisy answers and acceptance on Adult and on Gowalla.

One panel is one query on one data set: above, 1,000 answers on each of ten disjoint subsets;
below, the acceptance against epsilon; each as printed, with its true cost, and exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from brdp.paper.figures import style
from brdp.paper.figures.asks import Ask, AskAverage, AskCount, AskSum, Source
from brdp.paper.figures.mechanisms import (
    LEAST_SAMPLE,
    Budget,
    Mechanism,
    cost_of,
    exact_mechanisms,
    paper_mechanisms,
    sampling_rates,
)
from brdp.paper.figures.panel import Panel, Report, Row, Rows, column, pick
from brdp.paper.figures.people import file_mark
from brdp.paper.formulas.kernel import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LOOKS = {
    "Lap-DP": (style.PLAIN, (0, (1, 1)), "o"),
    "Gau-DP": (style.PROMISE, (0, (1, 1)), "s"),
    "Lap-BRDP": (style.PAPER, "-", "o"),
    "Gau-BRDP": (style.EXACT, "-", "s"),
    "SMP-Lap-BRDP": (style.SECOND, (0, (4, 1.5)), "^"),
    "SMP-Gau-BRDP": (style.BEST, (0, (4, 1.5)), "v"),
}
_QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975)
_MARKS = ("low", "first", "median", "third", "high")


@final
@dataclass(frozen=True)
class AnswersPanel(Panel):
    """The six mechanisms on one query of one data set."""

    source: Source
    ask: Ask
    left: Budget
    right: Budget
    epsilons: tuple[float, ...]
    people: int = 10_000
    parts: int = 10
    answers: int = 1000
    seed: int = 45

    @property
    def name(self) -> str:
        return f"{self.source.name}-{self.ask.word}"

    @property
    def title(self) -> str:
        figure = {"adult": "Figure 7", "gowalla": "Figure 8"}[self.source.name]
        return f"{figure}: {self.ask.word} query on {self.source.name.capitalize()}"

    @property
    def settings(self) -> dict[str, object]:
        path = self.source.path
        return {
            "source": self.source.name,
            "file": path.name,
            "sha256": file_mark(path) if path.is_file() else "",
            "ask": repr(self.ask),
            "left": vars(self.left).copy(),
            "right": vars(self.right).copy(),
            "epsilons": self.epsilons,
            "people": self.people,
            "parts": self.parts,
            "answers": self.answers,
            "seed": self.seed,
        }

    @property
    def choices(self) -> tuple[str, ...]:
        own = (
            "10,000 people are chosen at random and split into ten disjoint subsets by their order in the "
            "file (with fewer people, all are used). Values are clipped so that one person moves the answer "
            "by at most the caption's Δ; the paper does not say how its Δ came about, and the same Δ for "
            "both data sets cannot come from the data.",
            "Sampled mechanisms use Algorithm 4's rate for a subset, with the spread of the clipped values, "
            f"searched from p = {LEAST_SAMPLE:g}: searched from 0, as printed, it can end at a sample of "
            "three people (errata, E16). The Laplace ones use the Gaussian's rate, as the paper does. In "
            "(c) and (f) they have noise for Δ/p and keep the promise. Samples are Poisson: each person is kept "
            "with probability p, which is what the cost is exact for.",
        )
        return (*self.source.choices, *own)

    def compute(self, report: Report) -> Rows:
        report(f"reading {self.source.path.name}")
        people = self.source.people()
        subsets = people.subsets(people=self.people, parts=self.parts, seed=self.seed)
        rng = np.random.default_rng(self.seed)
        rows: Rows = [{"part": "source", "source": people.source, "size": subsets[0].size}]
        report("left")
        rows += self._rows("left", [self.left], subsets, rng, report)
        budgets = [
            Budget(e, self.right.delta, self.right.sensitivity, self.right.within)
            for e in self.epsilons
        ]
        rows += self._rows("right", budgets, subsets, rng, report)
        return rows

    def _rows(
        self,
        part: str,
        budgets: list[Budget],
        subsets: list[Floats],
        rng: np.random.Generator,
        report: Report,
    ) -> Rows:
        amounts = [self.ask.amounts(values, budgets[0].sensitivity) for values in subsets]
        query = self.ask.sampling(
            np.concatenate(amounts) if self.ask.word != "average" else amounts[0]
        )
        rates = sampling_rates(budgets, query=query, population=subsets[0].size)
        rows: Rows = []
        for budget, p in zip(budgets, rates, strict=True):
            report(f"{part}, epsilon {budget.epsilon:g}")
            versions = {
                "paper": paper_mechanisms(budget, sampling_rate=p),
                "exact": exact_mechanisms(budget, sampling_rate=p),
            }
            for version, mechanisms in versions.items():
                for mechanism in mechanisms:
                    rows += self._measured(part, version, mechanism, budget, amounts, rng)
        return rows

    def _measured(
        self,
        part: str,
        version: str,
        mechanism: Mechanism,
        budget: Budget,
        amounts: list[Floats],
        rng: np.random.Generator,
    ) -> Rows:
        errors = np.stack(
            [mechanism.answers(values, count=self.answers, rng=rng) for values in amounts]
        )
        cost = cost_of(mechanism, budget)
        head: Row = {
            "part": part,
            "version": version,
            "mechanism": mechanism.name,
            "epsilon": budget.epsilon,
        }
        total: Row = {
            **head,
            "subset": "all",
            "acceptance": float(np.mean(np.abs(errors) <= budget.within)),
            "claimed_acceptance": mechanism.claimed,
            "sampling_rate": mechanism.sampling_rate,
            "true_epsilon": cost.epsilon,
            "true_delta": cost.delta,
            "noise": repr(mechanism.noise),
        }
        rows: Rows = [total]
        if part == "left":
            for i, some in enumerate(errors):
                marks = dict(zip(_MARKS, map(float, np.quantile(some, _QUANTILES)), strict=True))
                rows.append({**head, "subset": str(i), **marks})
        return rows

    def draw(self, rows: Rows) -> Figure:
        figure, grid = style.new_figure(
            style.COLUMN, 8.8, nrows=6, height_ratios=(1.25, 0.8, 1.25, 1, 0.8, 1)
        )
        axes = grid[:, 0]
        for one, below in ((0, 2), (1, 2), (3, 5), (4, 5)):
            axes[one].sharex(axes[below])
        for boxes, lines, version in ((axes[0], axes[3], "paper"), (axes[2], axes[5], "exact")):
            self._boxes(boxes, rows, version)
            self._lines(lines, rows, version)
        self._left_cost(axes[1], rows)
        self._right_cost(axes[4], rows)
        style.letter(axes[0], f"(a) paper: ε = {self.left.epsilon:g}, {self._words(self.left)}")
        style.letter(axes[1], "(b) paper, true cost of (a)")
        style.letter(axes[2], "(c) exact, at the promise of (a)")
        style.letter(axes[3], f"(d) paper: {self._words(self.right)}")
        style.letter(axes[4], "(e) paper, true cost of (d)")
        style.letter(axes[5], "(f) exact, at the promise of (d)")
        for one in axes[3:5]:
            one.tick_params(labelbottom=False)
        for one in axes[:2]:
            one.tick_params(labelbottom=False)
        axes[5].set_xlabel(f"promised ε (at δ = {style.number(self.right.delta)})")
        style.legend_below(figure, axes[3], columns=3)
        return figure

    @property
    def _unit(self) -> str:
        return "people" if self.ask.word == "count" else self.source.unit

    def _words(self, budget: Budget) -> str:
        return f"Δ = {budget.sensitivity:g}, θ = {budget.within:g}"

    def _boxes(self, axes: Axes, rows: Rows, version: str) -> None:
        theta = self.left.within
        for i, (mechanism, (colour, _, _)) in enumerate(_LOOKS.items()):
            some = [
                row
                for row in pick(rows, part="left", version=version, mechanism=mechanism)
                if row["subset"] != "all"
            ]
            x = i + 0.078 * (np.arange(len(some)) - 0.5 * (len(some) - 1))
            mark = {name: np.array(column(some, name)) for name in _MARKS}
            axes.vlines(x, mark["low"], mark["high"], color=colour, linewidth=0.5)
            axes.bar(
                x, mark["third"] - mark["first"], 0.055, mark["first"], color=colour, linewidth=0
            )
            axes.plot(x, mark["median"], "_", color="white", markersize=2.2, markeredgewidth=0.7)
            (total,) = pick(rows, part="left", version=version, mechanism=mechanism, subset="all")
            axes.annotate(
                f"{float(total['acceptance']):.3f}", (i, 1.0), xycoords=("data", "axes fraction"),
                xytext=(0, -8), textcoords="offset points", ha="center", va="top", fontsize=7,
            )  # fmt: skip
        axes.annotate(
            "share within ±θ:", (0.01, 1.0), xycoords="axes fraction", va="top", fontsize=6
        )
        for bound in (-theta, theta):
            axes.axhline(bound, color=style.PROMISE, linewidth=0.9, linestyle=(0, (1, 1.5)))
        axes.set_yscale("symlog", linthresh=theta, linscale=0.8)
        reach = max(column([r for r in pick(rows, part="left") if "high" in r], "high"))
        reach = max(reach, 1.5 * theta)
        axes.set_ylim(-2.0 * reach, 20.0 * reach)
        powers = [k for k in range(-6, 9) if 2.5 * theta < 10.0**k < 3.0 * reach]
        below = [k for k in powers if 10.0**k < 2.0 * reach]
        ticks = [*(-(10.0**k) for k in below), -theta, 0.0, theta, *(10.0**k for k in powers)]
        names = [*(f"$-10^{k}$" for k in below), "−θ", "0", "θ", *(f"$10^{k}$" for k in powers)]
        axes.set_yticks(ticks, names)
        axes.minorticks_off()
        axes.set_ylabel(f"error ({self._unit})")
        self._names(axes)

    def _names(self, axes: Axes) -> None:
        axes.set_xticks(range(len(_LOOKS)), [m.replace("-BRDP", "\nBRDP") for m in _LOOKS])
        axes.tick_params(axis="x", labelsize=6)
        axes.grid(visible=False, axis="x")
        axes.set_xlim(-0.6, len(_LOOKS) - 0.4)

    def _lines(self, axes: Axes, rows: Rows, version: str) -> None:
        for mechanism, (colour, dash, marker) in _LOOKS.items():
            some = pick(rows, part="right", version=version, mechanism=mechanism)
            axes.plot(
                column(some, "epsilon"), column(some, "acceptance"), color=colour, linestyle=dash,
                marker=marker, label=mechanism, markersize=3, linewidth=1.1,
            )  # fmt: skip
        self._epsilon_axis(axes)
        axes.set_ylim(-0.03, 1.05)
        axes.set_ylabel("acceptance rate")

    def _epsilon_axis(self, axes: Axes) -> None:
        if max(self.epsilons) > 50 * min(self.epsilons):
            axes.set_xscale("log")

    def _left_cost(self, axes: Axes, rows: Rows) -> None:
        for i, (mechanism, (colour, _, marker)) in enumerate(_LOOKS.items()):
            (total,) = pick(rows, part="left", version="paper", mechanism=mechanism, subset="all")
            ratio = float(total["true_epsilon"]) / self.left.epsilon
            axes.plot([i], [ratio], marker=marker, color=colour, markersize=5)
            words = f"{ratio:,.0f}×" if ratio >= 100 else f"{ratio:.3g}×"
            axes.annotate(
                words,
                (i, ratio),
                xytext=(0, 5),
                textcoords="offset points",
                ha="center",
                fontsize=7,
            )
        style.promise_line(axes, 1.0)
        style.log_y(axes)
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, 0.5) / 1.5, max(high, 2.0) ** 1.25 * 2.0)
        style.few_decades(axes)
        axes.set_ylabel("true / promised ε")
        self._names(axes)

    def _right_cost(self, axes: Axes, rows: Rows) -> None:
        for mechanism, (colour, dash, marker) in _LOOKS.items():
            some = pick(rows, part="right", version="paper", mechanism=mechanism)
            ratio = [float(row["true_epsilon"]) / float(row["epsilon"]) for row in some]
            axes.plot(
                column(some, "epsilon"), ratio, color=colour, linestyle=dash, marker=marker,
                markersize=3, linewidth=1.1,
            )  # fmt: skip
        self._epsilon_axis(axes)
        style.promise_line(axes, 1.0)
        style.log_y(axes)
        axes.set_ylabel("true / promised ε")

    def sentences(self, rows: Rows) -> tuple[str, ...]:
        source = pick(rows, part="source")[0]

        def total(version: str, mechanism: str) -> Row:
            return pick(rows, part="left", version=version, mechanism=mechanism, subset="all")[0]

        sampled = total("paper", "SMP-Gau-BRDP")
        along = pick(rows, part="right", version="paper", mechanism="SMP-Gau-BRDP", subset="all")
        rates = [f"{rate:.2f}" for rate in column(along, "sampling_rate")]
        said = [
            f"Data: {source['source']}; ten subsets of {int(source['size']):,} people.",
            f"At ε = {self.left.epsilon:g}: Gaussian {float(total('paper', 'Gau-DP')['acceptance']):.3f}, "
            f"recycled by the paper {float(total('paper', 'Gau-BRDP')['acceptance']):.3f}, recycled exactly "
            f"{float(total('exact', 'Gau-BRDP')['acceptance']):.3f}; Laplace "
            f"{float(total('paper', 'Lap-DP')['acceptance']):.3f}, "
            f"{float(total('paper', 'Lap-BRDP')['acceptance']):.3f}, "
            f"{float(total('exact', 'Lap-BRDP')['acceptance']):.3f} (shares of "
            f"{self.parts * self.answers:,} answers: within 0.01 of the truth).",
            f"The sampled Gaussian mechanism (p = {float(sampled['sampling_rate']):.3f}) truly costs ε = "
            f"{float(sampled['true_epsilon']):.3g} at δ = {self.left.delta:g}, or δ = "
            f"{float(sampled['true_delta']):.2g} at ε = {self.left.epsilon:g}; made to keep the promise it "
            f"accepts {float(total('exact', 'SMP-Gau-BRDP')['acceptance']):.3f}.",
            f"Along (d) Algorithm 4 takes p = {', '.join(rates)}: near 0.1, where its search begins, it "
            "answers from a tenth of the people (errata, E16).",
        ]
        if self.ask.word == "average":
            said.append(
                "With the caption's Δ and θ every mechanism is within the bounds at the caption's ε; only "
                "far smaller ε tell them apart, hence the logarithmic axis of (d) to (f)."
            )
        return tuple(said)


def panels_for(source: Source, *, above: float) -> list[AnswersPanel]:
    """The three queries on one source, with the captions' budgets."""
    delta = 1e-5
    return [
        AnswersPanel(
            source, AskSum(), Budget(0.5, delta, 22.0, 5.0), Budget(0.5, delta, 12.0, 10.0),
            (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0),
        ),
        AnswersPanel(
            source, AskAverage(), Budget(0.05, delta, 0.0017, 1.0), Budget(0.05, delta, 0.0012, 1.0),
            (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1),
        ),
        AnswersPanel(
            source, AskCount(above), Budget(0.1, delta, 1.0, 3.0), Budget(0.1, delta, 1.0, 3.0),
            (0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0),
        ),
    ]  # fmt: skip
