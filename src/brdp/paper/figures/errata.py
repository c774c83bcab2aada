"""The errata as a panel: evidence, counts, a figure of both, and the page docs/errata.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from brdp.paper.errata import grid
from brdp.paper.errata.catalogue import ERRATA, SURVIVES
from brdp.paper.errata.erratum import Erratum
from brdp.paper.figures import style
from brdp.paper.figures.panel import Panel, Report, Row, Rows, column, pick

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOOKS = {"Gaussian": (style.EXACT, "-"), "Laplace": (style.PAPER, (0, (5, 1.5)))}
_SHOWN_FROM = 1e-6

_INTRODUCTION = """# Errata

What "Budget Recycling Differential Privacy" (Jiang, Du, Sharma and Yan, 45th IEEE Symposium on Security and Privacy)
states and what an exact account finds, in the hope that it is useful to its authors and to those who build on it.
The mechanism is sound and its idea is good; most of the formulas that price it are not upper bounds.

This page is written by `brdp reproduce --only errata --out DIR`, which computes every number on it; a test holds the
page to what the command writes. "Stated" is the paper's number, or its promise; "true" is the exact one (an upper
bound under composition and sampling), unless the quantity says otherwise. Symbols are the paper's: ε_y is the
kernel's budget, q the recycling rate, θ the error bound, Δ the sensitivity, p the kernel's acceptance, p̄ = 1 - p,
Z = 1 - p̄q, L = -log(1-q).
"""


@final
@dataclass(frozen=True)
class ErrataPanel(Panel):
    """Each flaw: a counterexample, how often over a stated grid, and what replaces it."""

    @property
    def name(self) -> str:
        return "errata"

    @property
    def title(self) -> str:
        return "Errata: what does not hold, and how often"

    @property
    def settings(self) -> dict[str, object]:
        return {"errata": [erratum.label for erratum in ERRATA]}

    @property
    def choices(self) -> tuple[str, ...]:
        return (
            "Grids are stated with each count. A promise counts as broken when the exact δ is above it by more "
            "than one part in 1e9; under composition the certified lower bound of the truth is compared.",
        )

    def compute(self, report: Report) -> Rows:
        rows: Rows = []
        for erratum in ERRATA:
            report(erratum.label)
            for one in erratum.evidence():
                rows.append({"part": "evidence", "label": erratum.label, **vars(one)})
            for count in erratum.frequency():
                rows.append({"part": "frequency", "label": erratum.label, **vars(count)})
        for word, kernel_for in grid.KERNELS:
            promised, exact = grid.algorithm_1_deltas(kernel_for)
            ratio = np.sort(np.maximum(exact / promised, 1e-300))
            for rank, value in enumerate(ratio, 1):
                row: Row = {"part": "ratio", "kernel": word}
                rows.append({**row, "ratio": float(value), "share": rank / ratio.size})
        return rows

    def draw(self, rows: Rows) -> Figure:
        counts = [row for row in pick(rows, part="frequency") if int(row["broken"]) > 0]
        figure, (left, right) = style.stacked_figure(style.COLUMN, 6.8, ratios=(1, 1.85))
        for word, (colour, dash) in _LOOKS.items():
            some = pick(rows, part="ratio", kernel=word)
            ratio = [max(value, _SHOWN_FROM / 10) for value in column(some, "ratio")]
            left.plot(
                ratio, column(some, "share"), color=colour, linestyle=dash, label=f"{word} kernel"
            )
        left.axvline(1.0, color=style.PROMISE, linewidth=0.9, linestyle=(0, (1, 1.5)))
        left.annotate(
            "promise broken", (1.0, 0.03), xytext=(3, 0), textcoords="offset points", fontsize=7,
            color=style.PROMISE,
        )  # fmt: skip
        left.set_xscale("log")
        left.set_xlim(_SHOWN_FROM, 1e4)
        left.set_ylim(0, 1.01)
        left.set_xlabel("true δ / promised δ of Algorithm 1's rate")
        left.set_ylabel("share of 1,440 settings")
        left.legend(loc="upper left")
        style.letter(left, "(a) Algorithm 1 over the grid")
        share = [int(row["broken"]) / int(row["settings"]) for row in counts]
        places = np.arange(len(counts))[::-1]
        right.barh(places, share, color=style.THIRD, height=0.62)
        for place, value, row in zip(places, share, counts, strict=True):
            right.annotate(
                f"{int(row['broken']):,}/{int(row['settings']):,}", (value, place), xytext=(3, 0),
                textcoords="offset points", va="center", fontsize=6,
            )  # fmt: skip
        right.set_yticks(places, [f"{row['label']}  {row['short']}" for row in counts], fontsize=6)
        right.set_xlim(0, 1.45)
        right.set_xticks([0, 0.5, 1.0])
        right.grid(visible=False, axis="y")
        right.set_ylim(-0.7, len(counts) - 0.3)
        right.set_xlabel("share of settings")
        style.letter(right, "(b) how often each shows")
        return figure

    def sentences(self, rows: Rows) -> tuple[str, ...]:
        gaussian, laplace = (
            next(
                row
                for row in pick(rows, part="frequency", label="E1")
                if row["short"] == f"Algorithm 1 breaks δ, {word}"
            )
            for word in ("Gaussian", "Laplace")
        )
        return (
            f"Algorithm 1's rate breaks the promised (ε, δ) in {int(gaussian['broken']):,} of "
            f"{int(gaussian['settings']):,} settings for the Gaussian and in {int(laplace['broken']):,} of "
            f"{int(laplace['settings']):,} for the Laplace kernel.",
            "Each flaw, with its derivation, counterexample and replacement, stands below and in errata.md "
            "beside this figure.",
        )

    def page(self, rows: Rows) -> str | None:
        parts = [_INTRODUCTION]
        parts += [_section(erratum, rows) for erratum in ERRATA]
        parts.append("## What survives\n\n" + "\n".join(f"- {line}" for line in SURVIVES) + "\n")
        return "\n".join(parts)


def _section(erratum: Erratum, rows: Rows) -> str:
    lines = [f"## {erratum.label}. {erratum.title}", "", f"*Where:* {erratum.where}.", ""]
    lines += [f"**The paper.** {erratum.says}", "", f"**Why not.** {erratum.derivation}", ""]
    if erratum.points:
        lines += [*(f"- {point}" for point in erratum.points), ""]
    evidence = pick(rows, part="evidence", label=erratum.label)
    if evidence:
        lines += ["| setting | quantity | stated | true | true / stated |", "|---|---|---|---|---|"]
        lines += ["| " + " | ".join(_cells(row)) + " |" for row in evidence]
        lines.append("")
    for row in pick(rows, part="frequency", label=erratum.label):
        lines += [
            f"- Fails in **{int(row['broken']):,} of {int(row['settings']):,}** settings: {row['claim']} "
            f"({row['grid']})."
        ]
    if lines[-1]:
        lines.append("")
    lines += [f"**Instead.** {erratum.replacement}", ""]
    return "\n".join(lines)


def _cells(row: Row) -> list[str]:
    stated, true = float(row["stated"]), float(row["true"])
    ratio = true / stated if stated else math.inf
    return [
        str(row["setting"]),
        str(row["quantity"]),
        _short(stated),
        _short(true),
        _short(ratio, 3),
    ]


def _short(value: float, digits: int = 5) -> str:
    return f"{value:.{digits}g}" if math.isfinite(value) else "∞"
