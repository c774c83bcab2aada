"""Answers on a terminal: a rich table where rich is installed and somebody is looking, else plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from brdp.curator import Answer


def show(answer: Answer, stream: TextIO) -> None:
    """Print an answer."""
    if not (stream.isatty() and answer.rows):
        print(answer, file=stream)
        return
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        print(answer, file=stream)
        return
    from brdp.curator.display import number

    table = Table()
    first = answer.rows[0]
    for name in first.key:
        table.add_column(Text(name))
    for name in first.cells:
        table.add_column(Text(name), justify="right")
    for row in answer.rows:
        cells = [
            number(cell.value) + ("" if cell.within is None else f" ±{cell.within:,.4g}")
            for cell in row.cells.values()
        ]
        table.add_row(*(Text(text) for text in [*map(str, row.key.values()), *cells]))
    Console(file=stream).print(table)
    rest = str(answer).split("\n\n", 1)[-1]
    print(rest, file=stream)
