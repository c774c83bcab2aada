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
    from brdp.curator.display import remarks, sheets

    console = Console(file=stream)
    for sheet in sheets(answer):
        table = Table()
        for index, name in enumerate(sheet.lines[0]):
            table.add_column(Text(name), justify="left" if index < sheet.keys else "right")
        for line in sheet.lines[1:]:
            table.add_row(*map(Text, line))
        console.print(table)
    console.print(Text(remarks(answer)))
