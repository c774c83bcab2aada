"""How figures look: column widths, type sizes, and a palette that colour-blind readers can tell apart."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brdp._extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN = 3.5
"""One column of a journal page, in inches: every figure fits it, with type of at least 6 points."""

# Okabe and Ito's palette. Colour never stands alone: each use has its own dash or marker too.
PLAIN = "#000000"
PAPER = "#D55E00"
TRUE = "#CC79A7"
EXACT = "#0072B2"
BEST = "#009E73"
PROMISE = "#777777"
SECOND = "#E69F00"
THIRD = "#56B4E9"

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.2,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.titlelocation": "left",
    "lines.linewidth": 1.4,
    "lines.markersize": 3.5,
    "grid.linewidth": 0.4,
    "grid.color": "#dddddd",
    "axes.grid": True,
    "axes.axisbelow": True,
    "figure.dpi": 100,
    "savefig.dpi": 300,
    "svg.hashsalt": "brdp",
    "svg.fonttype": "path",
}


def drawing() -> AbstractContextManager[None]:
    """The settings of every figure, in a `with` block; no display is needed."""
    matplotlib = require("matplotlib", extra="plot")
    matplotlib.use("Agg")
    context: AbstractContextManager[None] = matplotlib.rc_context(_SETTINGS)
    return context


def new_figure(width: float, height: float, **layout: Any) -> tuple[Figure, Any]:
    """A figure of the given size in inches, with its axes as `subplots` gives them."""
    pyplot = require("matplotlib.pyplot", extra="plot")
    figure, axes = pyplot.subplots(
        figsize=(width, height), layout="constrained", squeeze=False, **layout
    )
    return figure, axes


def stacked_figure(width: float, height: float, *, ratios: tuple[float, ...]) -> tuple[Figure, Any]:
    """A figure of axes one under another, each with a left margin of its own."""
    pyplot = require("matplotlib.pyplot", extra="plot")
    figure = pyplot.figure(figsize=(width, height), layout="constrained")
    parts = figure.subfigures(len(ratios), 1, height_ratios=ratios)
    return figure, [part.subplots() for part in parts]


def letter(axes: Axes, text: str) -> None:
    """Put a panel's letter and title above its axes."""
    axes.set_title(text, fontsize=8, loc="left")


def number(value: float) -> str:
    """A number as a figure names it: powers of ten as such, others in full."""
    exponent = round(math.log10(value))
    if abs(exponent) > 2 and math.isclose(value, 10.0**exponent, rel_tol=1e-12):
        return "10" + str(exponent).translate(_RAISED)
    return f"{value:g}"


def scientific(value: float) -> str:
    """A number with two digits and a power of ten."""
    digits, exponent = f"{value:.1e}".split("e")
    return f"{digits}·10" + str(int(exponent)).translate(_RAISED)


def legend_below(figure: Figure, axes: Axes, *, columns: int) -> None:
    """One legend for the whole figure, under it."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, columnspacing=1.2)


def promise_line(axes: Axes, value: float, label: str | None = None) -> None:
    """A thin grey line at what was promised."""
    axes.axhline(
        value, color=PROMISE, linewidth=0.9, linestyle=(0, (1, 1.5)), label=label, zorder=1
    )


def log_y(axes: Axes) -> None:
    """A logarithmic y axis that names its powers of ten only: names between them run together."""
    axes.set_yscale("log")
    axes.yaxis.set_minor_formatter(require("matplotlib.ticker", extra="plot").NullFormatter())


def few_decades(axes: Axes) -> None:
    """Name 1, 2 and 5 on a logarithmic y axis too short for powers of ten; call when limits stand."""
    low, high = axes.get_ylim()
    if high / low > 300:
        return
    steps = (1.0, 2.0, 5.0) if high / low < 30 else (1.0, 3.0)
    names = [k * 10.0**power for power in range(-9, 10) for k in steps]
    axes.set_yticks([x for x in names if low <= x <= high])
    axes.set_yticklabels([f"{x:g}" for x in names if low <= x <= high])
    axes.minorticks_off()
    axes.set_ylim(low, high)


def save(figure: Figure, folder: Path, name: str) -> tuple[Path, Path]:
    """Write PNG and SVG without dates, so that the same numbers give the same files."""
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    figure.align_ylabels()
    figure.savefig(png, metadata={"Software": None})
    figure.savefig(svg, metadata={"Date": None, "Creator": None})
    require("matplotlib.pyplot", extra="plot").close(figure)
    return png, svg
