"""How figures look: column widths, type sizes, and a palette that colour-blind readers can tell apart."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brdp._extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN = 3.5
"""One column of a journal page, in inches."""
PAGE = 7.2
"""The full width of a page, in inches."""

# Okabe and Ito's palette. Colour never stands alone: each use has its own dash or marker too.
PLAIN = "#000000"
PAPER = "#D55E00"
TRUE = "#CC79A7"
EXACT = "#0072B2"
BEST = "#009E73"
PROMISE = "#777777"
SECOND = "#E69F00"
THIRD = "#56B4E9"

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


def letter(axes: Axes, text: str) -> None:
    """Put a panel's letter and title above its axes."""
    axes.set_title(text, fontsize=8, loc="left")


def promise_line(axes: Axes, value: float, label: str | None = None) -> None:
    """A thin grey line at what was promised."""
    axes.axhline(
        value, color=PROMISE, linewidth=0.9, linestyle=(0, (1, 1.5)), label=label, zorder=1
    )


def log_y(axes: Axes) -> None:
    """A logarithmic y axis that names its powers of ten only: names between them run together."""
    axes.set_yscale("log")
    axes.yaxis.set_minor_formatter(require("matplotlib.ticker", extra="plot").NullFormatter())


def save(figure: Figure, folder: Path, name: str) -> tuple[Path, Path]:
    """Write PNG and SVG without dates, so that the same numbers give the same files."""
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    figure.savefig(png, metadata={"Software": None})
    figure.savefig(svg, metadata={"Date": None, "Creator": None})
    require("matplotlib.pyplot", extra="plot").close(figure)
    return png, svg
