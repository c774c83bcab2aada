"""Where a table's rows are. Descriptions only: opening one is the data layer's work.

A new kind of source is one more final class here and one function registered for it in
brdp.data.sources.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import final

from brdp.errors import InvalidInput

POSTGRES_SCHEMES = ("postgresql://", "postgres://")


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


def name_parts(table: str | tuple[str, ...], *, argument: str = "table") -> tuple[str, ...]:
    """A table's name as its parts: text is cut at its dots, a tuple holds names with dots in them."""
    parts = tuple(table.split(".")) if isinstance(table, str) else table
    if not 1 <= len(parts) <= 3 or any(not part or "\x00" in part for part in parts):
        raise InvalidInput(
            argument,
            expected="a table's name, such as visits or shop.visits",
            got=table,
            remedy="A name with a dot in it is written as a list of its parts.",
        )
    return parts


@final
@dataclass(frozen=True)
class PostgresSource(Source):
    """A table or view of a PostgreSQL database. Names are taken as written, in any case.

    The URL may hold a password, and is shown nowhere. Better leave it out: PGPASSWORD, PGPASSFILE
    and ~/.pgpass are read too.
    """

    url: str = field(repr=False)
    table: str | tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.url.startswith(POSTGRES_SCHEMES) or "\x00" in self.url:
            raise InvalidInput(
                "source",
                expected="a URL such as postgresql://reader@host/database",
                got="another text",  # it may hold a password
            )
        if len(name_parts(self.table)) > 2:
            raise InvalidInput("table", expected="table or schema.table", got=self.table)

    def description(self) -> str:
        # everything up to the last @ before the path may hold a password, all after ? a secret
        place = self.url.partition("://")[2].partition("?")[0].rpartition("@")[2]
        return f"postgresql {place} {'.'.join(name_parts(self.table))}"


@final
@dataclass(frozen=True)
class SparkSource(Source):
    """A Spark table, or Parquet files by a path that Spark reads.

    `session` is "active" for the session that the process already has, or a Spark master such as
    local[4], spark://host:7077 or yarn, where a session is started if the process has none.
    """

    session: str
    table: str | tuple[str, ...] | None = None
    path: str | None = None

    def __post_init__(self) -> None:
        if not self.session:
            raise InvalidInput("spark", expected='"active" or a Spark master', got="nothing")
        if (self.table is None) == (self.path is None) or self.path == "":
            raise InvalidInput(
                "source",
                expected="a Spark table or a path, one of the two",
                got="both" if self.table is not None else "neither",
                remedy='For example: source = { spark = "local[2]", table = "shop.visits" }',
            )
        if self.table is not None:
            name_parts(self.table)

    def description(self) -> str:
        place = self.path if self.table is None else ".".join(name_parts(self.table))
        return f"spark {place}"
