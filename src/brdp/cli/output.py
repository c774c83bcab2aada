"""What commands print: one JSON object on stdout, or aligned columns for people."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, final


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object; infinities, which JSON lacks, become "inf"."""
    json.dump(_plain(value), sys.stdout, allow_nan=False)
    sys.stdout.write("\n")


def _plain(value: Any) -> Any:
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Align cells: the first column to the left, the others to the right."""
    table = [header, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    lines = []
    for row in table:
        cells = [
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


@final
class Percent:
    """A line on a terminal's stderr, rewritten at each hundredth."""

    def __init__(self, what: str, unit: str) -> None:
        self._what = what
        self._unit = unit
        self._shown = -1

    def __call__(self, done: int, total: int) -> None:
        """So much of the whole is done."""
        percent = 100 * done // total
        if percent != self._shown:
            self._shown = percent
            end = "\n" if done == total else ""
            line = f"\r{self._what}: {percent} % of {total:,} {self._unit}"
            print(line, end=end, file=sys.stderr, flush=True)
