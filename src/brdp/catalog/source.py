"""Where a table's rows are. Descriptions only: opening one is the data layer's work.

A new kind of source is one more final class here and one function registered for it in
brdp.data.sources.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from brdp.errors import InvalidInput


class Source(ABC):
    """Where the rows are. Abstract."""

    @abstractmethod
    def description(self) -> str:
        """A line for people and for the fingerprint of a stored answer; holds no secret."""


def _paths(paths: tuple[str, ...]) -> None:
    if not paths or any(not path or "\x00" in path for path in paths):
        raise InvalidInput("source", expected="at least one path or glob", got=list(paths))


@final
@dataclass(frozen=True)
class ParquetSource(Source):
    """Parquet files, by paths or globs."""

    paths: tuple[str, ...]

    def __post_init__(self) -> None:
        _paths(self.paths)

    def description(self) -> str:
        return "parquet " + " ".join(self.paths)


@final
@dataclass(frozen=True)
class CSVSource(Source):
    """CSV files (plain or .gz), by paths or globs; every file starts with the same line of column
    names.

    All columns are read as text: guessing types from the values would let an unusual row decide
    whether a query fails.
    """

    paths: tuple[str, ...]
    delimiter: str = ","

    def __post_init__(self) -> None:
        _paths(self.paths)
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n\x00':
            raise InvalidInput(
                "delimiter", expected="one character such as ',' or ';'", got=self.delimiter
            )

    def description(self) -> str:
        return f"csv {self.delimiter!r} " + " ".join(self.paths)
