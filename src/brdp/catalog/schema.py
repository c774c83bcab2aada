"""The kinds of columns, as far as a query needs to tell them apart, and how a file's schema is read
without its rows.
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
from collections.abc import Mapping
from enum import Enum
from functools import singledispatch
from pathlib import Path
from typing import final

from brdp import _extras
from brdp.catalog.source import CSVSource, ParquetSource, Source
from brdp.errors import InvalidInput

LONGEST_HEADER = 1_000_000


@final
class Kind(Enum):
    """What a column's values are."""

    INTEGER = "whole numbers"
    REAL = "numbers"
    TEXT = "text"
    BOOLEAN = "true or false"
    DATE = "dates"
    TIMESTAMP = "timestamps"
    OTHER = "values of another kind"


Schema = Mapping[str, Kind]


def files_of(paths: tuple[str, ...]) -> tuple[str, ...]:
    """The files that paths and globs stand for, in one order."""
    found: list[str] = []
    for path in paths:
        matches = sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else [path]
        present = [match for match in matches if Path(match).is_file()]
        if not present:
            raise InvalidInput(
                "source", expected="a file that exists", got=path, remedy="Check the path or glob."
            )
        found.extend(present)
    return tuple(dict.fromkeys(found))


@singledispatch
def read_schema(source: Source) -> Schema:
    """The names and kinds of a source's columns, from headers and metadata alone."""
    raise InvalidInput("source", expected="a source of files", got=type(source).__name__)


@read_schema.register
def _csv(source: CSVSource) -> Schema:
    return dict.fromkeys(csv_header(source), Kind.TEXT)


def csv_header(source: CSVSource) -> tuple[str, ...]:
    """The column names of CSV files, which must be the same in all of them."""
    headers = {file: _first_line(file, source.delimiter) for file in files_of(source.paths)}
    (first, header), *others = headers.items()
    for file, other in others:
        if other != header:
            raise InvalidInput(
                "source",
                expected=f"the column names of {Path(first).name} in every file",
                got=Path(file).name,
                remedy="Give files of one layout to one table.",
            )
    for name in header or ("",):
        if not name or header.count(name) > 1:
            raise InvalidInput(
                "source", expected="a first line that names every column once", got=name
            )
    return header


def _first_line(file: str, delimiter: str) -> tuple[str, ...]:
    with open(file, "rb") as raw:
        compressed = raw.read(2) == b"\x1f\x8b"
    opened = gzip.open(file, "rb") if compressed else open(file, "rb")  # noqa: SIM115
    try:
        with opened as stream:
            # a limit: a file that is one endless line must not fill the memory
            line = stream.readline(LONGEST_HEADER).decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError):
        raise InvalidInput(
            "source", expected="a CSV file in UTF-8, plain or gzip", got=Path(file).name
        ) from None
    return tuple(next(csv.reader(io.StringIO(line), delimiter=delimiter), []))


@read_schema.register
def _parquet(source: ParquetSource) -> Schema:
    duckdb = _extras.require("duckdb", extra="query")
    files = files_of(source.paths)
    with duckdb.connect() as connection:
        try:
            rows = connection.execute(
                "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM read_parquet(?))",
                [list(files)],
            ).fetchall()
        except duckdb.Error:
            raise InvalidInput(
                "source",
                expected="Parquet files",
                got=[Path(file).name for file in files[:3]],
            ) from None
    return {name: _kind(text) for name, text in rows}


def _kind(duckdb_type: str) -> Kind:
    base = duckdb_type.split("(")[0].upper()
    if base in {
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "UTINYINT",
        "USMALLINT",
        "UINTEGER",
        "UBIGINT",
    }:
        return Kind.INTEGER
    if base in {"HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL"}:
        return Kind.REAL
    plain = {"VARCHAR": Kind.TEXT, "BOOLEAN": Kind.BOOLEAN, "DATE": Kind.DATE}
    if base.startswith("TIMESTAMP"):
        return Kind.TIMESTAMP
    # arrays print as VARCHAR[]
    return Kind.OTHER if duckdb_type.endswith("]") else plain.get(base, Kind.OTHER)
