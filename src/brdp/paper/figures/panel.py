"""What a panel of the report is: settings, numbers, a drawing, and sentences about them."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Value: TypeAlias = float | int | str
Row: TypeAlias = dict[str, Value]
Rows: TypeAlias = list[Row]
Report: TypeAlias = Callable[[str], None]
"""Called with a few words whenever a panel gets a step further."""


class Panel(ABC):
    """One figure or table of the paper. Everything but `compute` is cheap."""

    @property
    @abstractmethod
    def name(self) -> str:
        """A short name, for files and for --only."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What the paper calls it, and what it shows."""

    @property
    @abstractmethod
    def settings(self) -> dict[str, object]:
        """Everything the numbers depend on but the program itself; hashed to know what is done."""

    @property
    @abstractmethod
    def choices(self) -> tuple[str, ...]:
        """Settings that the paper leaves open, and what was chosen."""

    @abstractmethod
    def compute(self, report: Report) -> Rows:
        """The numbers, as rows of a table."""

    @abstractmethod
    def draw(self, rows: Rows) -> Figure:
        """The figure, from the rows alone."""

    @abstractmethod
    def sentences(self, rows: Rows) -> tuple[str, ...]:
        """What the figure shows, in a few sentences, from the rows alone."""

    def table(self, rows: Rows) -> tuple[list[str], list[list[str]]] | None:
        """A table for the report (header, cells), where a figure alone would not do."""
        del rows
        return None

    def page(self, rows: Rows) -> str | None:
        """A page of its own in Markdown beside the figure, where there is one."""
        del rows
        return None


def pick(rows: Rows, **wanted: Value) -> Rows:
    """The rows whose named cells have the wanted values."""
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def column(rows: Rows, key: str) -> list[float]:
    """One numeric column."""
    return [float(row[key]) for row in rows]


def keys_of(rows: Rows) -> list[str]:
    """The column names of all rows, in order of first appearance."""
    return list(dict.fromkeys(key for row in rows for key in row))


def as_csv(rows: Rows) -> str:
    """The rows as CSV; cells that a row does not have stay empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, keys_of(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def as_json(panel: Panel, rows: Rows) -> str:
    """The rows with the settings they were made with; infinities and nan become text."""
    clean = [{key: _plain(value) for key, value in row.items()} for row in rows]
    whole = {"name": panel.name, "title": panel.title, "settings": panel.settings, "rows": clean}
    return json.dumps(whole, indent=1, allow_nan=False)


def rows_of(text: str) -> Rows:
    """The rows of a file that `as_json` wrote."""
    return [{key: _number(value) for key, value in row.items()} for row in json.loads(text)["rows"]]


def _plain(value: Value) -> Value:
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    return value


def _number(value: Value) -> Value:
    return float(value) if value in ("Infinity", "-Infinity", "NaN") else value


def digest(parts: Sequence[str | bytes]) -> str:
    """One hash over several texts."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "big") + data)
    return whole.hexdigest()
