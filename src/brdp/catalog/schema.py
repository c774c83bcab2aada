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
# Columns that directories name (place=home/) are text: a type guessed from those names is a guess from data.
PARQUET = "hive_types_autocast = false"


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
    return {name: _kind(text) for name, text in parquet_columns(source).items()}


def quoted(text: str) -> str:
    """A text literal of DuckDB, which knows no escape but the doubled quote.

    Not a parameter: at the first of those DuckDB imports pandas, where there is one.
    """
    return "'" + text.replace("'", "''") + "'"


def parquet_columns(source: ParquetSource) -> dict[str, str]:
    """The columns of Parquet files and DuckDB's names of their types, which must be the same in all of them.

    DuckDB takes the first file's types and casts the others' values to them: a cast may fail at one value.
    """
    duckdb = _extras.require("duckdb", extra="query")
    files = files_of(source.paths)
    with duckdb.connect() as connection:

        def described(file: str) -> dict[str, str]:
            text = (
                "SELECT column_name, column_type "  # noqa: S608 - escaped
                f"FROM (DESCRIBE SELECT * FROM read_parquet({quoted(file)}, {PARQUET}))"
            )
            return dict(connection.execute(text).fetchall())

        try:
            # files whose footers say the same are alike; only one of each sort need be looked at
            sorts = connection.execute(
                "SELECT min(file_name) FROM ("  # noqa: S608 - escaped
                "SELECT file_name, string_agg(concat_ws('/', name, type, converted_type, "
                "logical_type, scale, precision, num_children), '//' ORDER BY number) AS layout FROM (SELECT *, "
                "row_number() OVER () AS number "
                f"FROM parquet_schema([{', '.join(map(quoted, files))}])) GROUP BY file_name) GROUP BY layout"
            ).fetchall()
            first = described(files[0])
            others = {file: described(file) for (file,) in sorted(sorts)}
        except duckdb.Error:
            raise InvalidInput(
                "source",
                expected="Parquet files",
                got=[Path(file).name for file in files[:3]],
            ) from None
    for file, columns in others.items():
        for name, kind in first.items():
            if columns.get(name) != kind:
                raise InvalidInput(
                    "source",
                    expected=f"column {name} of type {kind}, as in {Path(files[0]).name}, in every file",
                    got=f"{Path(file).name}: {columns.get(name, 'no such column')}",
                    remedy="Give files of one layout to one table.",
                )
    return first


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
