"""Figures as a reader sees them: labelled axes, and no text upon other text."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from brdp.datasets import adult_path
from brdp.paper.figures import style
from brdp.paper.figures.catalogue import all_panels
from brdp.paper.figures.composition import CompositionPanel
from brdp.paper.figures.noise import NoisePanel
from brdp.paper.figures.panel import Panel
from brdp.paper.figures.rate import RatePanel

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
from matplotlib.text import Text

LEAST_TYPE = 6.0
"""Points; a figure is one column wide, so this is what a reader of a journal gets."""
TALLEST = 9.0
"""Inches; the height of a journal's column."""


def texts_of(figure: Any) -> Iterator[tuple[str, Any]]:
    """Every text that is drawn, with its box on the page."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    outside = {id(text) for axes in figure.axes for text in _ticks_out_of_view(axes)}
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip() and id(text) not in outside:
            box = text.get_window_extent(renderer)
            if box.width > 0 and box.height > 0:
                yield text.get_text(), box


def _ticks_out_of_view(axes: Any) -> Iterator[Any]:
    """Tick labels that matplotlib keeps but does not draw: beyond the limits, or switched off."""
    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            inside = min(low, high) <= tick.get_loc() <= max(low, high)
            yield tick.label2
            if not inside or not tick.label1.get_visible():
                yield tick.label1


def overlaps(figure: Any) -> list[tuple[str, str]]:
    """Pairs of texts that lie upon each other by more than a pixel."""
    found = []
    for (a, first), (b, second) in itertools.combinations(list(texts_of(figure)), 2):
        wide = min(first.x1, second.x1) - max(first.x0, second.x0)
        high = min(first.y1, second.y1) - max(first.y0, second.y0)
        if wide > 1 and high > 1:
            found.append((a, b))
    return found


def cut_off(figure: Any) -> list[str]:
    """Texts that run over the edge of the figure by more than a pixel."""
    wide, high = figure.canvas.get_width_height()
    return [
        text
        for text, box in texts_of(figure)
        if box.x0 < -1 or box.y0 < -1 or box.x1 > wide + 1 or box.y1 > high + 1
    ]


def check(panel: Panel) -> None:
    rows = panel.compute(lambda words: None)
    with style.drawing():
        figure = panel.draw(rows)
        try:
            assert overlaps(figure) == []
            assert cut_off(figure) == []
            for axes in figure.axes:
                shared_x = axes.get_shared_x_axes().get_siblings(axes)
                shared_y = axes.get_shared_y_axes().get_siblings(axes)
                named = [
                    *(one.get_xlabel() for one in shared_x),
                    *(one.get_xticklabels() for one in shared_x),
                ]
                assert any(named), panel.name
                assert any(one.get_ylabel() or one.get_yticklabels() for one in shared_y), (
                    panel.name
                )
            assert figure.get_size_inches()[0] <= style.COLUMN
            assert figure.get_size_inches()[1] <= TALLEST
            assert min(text.get_fontsize() for text in figure.findobj(Text)) >= LEAST_TYPE
        finally:
            import matplotlib.pyplot as plt

            plt.close(figure)
    assert all(panel.sentences(rows))


@pytest.mark.parametrize(
    "panel",
    [NoisePanel(draws=5000), RatePanel(points=5), CompositionPanel(counts=(1, 10, 1000))],
    ids=lambda panel: panel.name,
)
def test_quick_figures_are_readable(panel: Panel) -> None:
    check(panel)


def test_control_overlapping_texts_are_found() -> None:
    with style.drawing():
        figure, axes = style.new_figure(3.0, 2.0)
        axes[0, 0].text(0.5, 0.5, "one")
        axes[0, 0].text(0.52, 0.5, "other")
        assert ("one", "other") in overlaps(figure)


def test_control_texts_over_the_edge_are_found() -> None:
    with style.drawing():
        figure, axes = style.new_figure(3.0, 2.0)
        axes[0, 0].set_title(
            "a title that is far longer than the axes below it are wide, and so is cut"
        )
        assert len(cut_off(figure)) == 1


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "panel", all_panels(adult=adult_path(), gowalla=None), ids=lambda panel: panel.name
)
def test_every_figure_is_readable(panel: Panel) -> None:
    check(panel)
