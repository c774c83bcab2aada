"""The owner's brdp.toml, checked whole before anything else happens."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from brdp.catalog.clip import Clip
from brdp.catalog.reader import Reader
from brdp.catalog.source import (
    POSTGRES_SCHEMES,
    CSVSource,
    ParquetSource,
    PostgresSource,
    Source,
    SparkSource,
)
from brdp.catalog.table import Budget, Catalog, Column, Key, Rule, Table, check_edges, check_keys
from brdp.catalog.unit import ColumnUnit, Relation, RowUnit, Unit
from brdp.errors import InvalidInput

LARGEST_FILE = 10_000_000
CSV_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")
OTHER_ENDINGS = (
    ".sqlite",
    ".sqlite3",
    ".db",
    ".duckdb",
    ".xlsx",
    ".json",
    ".jsonl",
    ".arrow",
    ".feather",
)
PARQUET_ENDINGS = (".parquet", ".parq", ".pq")
Built = TypeVar("Built")


def load_catalog(path: str | Path) -> Catalog:
    """Read and check a brdp.toml; relative paths in it start from its own folder."""
    file = Path(path)
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise InvalidInput(file.name, expected="a file below 10 MB", got="a larger one")
        text = file.read_text(encoding="utf-8")
    except OSError:
        raise InvalidInput(
            "config",
            expected="a brdp.toml that can be read",
            got=str(path),
            remedy="Write a first one with: brdp init TABLE",
        ) from None
    except UnicodeDecodeError:
        raise InvalidInput(file.name, expected="text in UTF-8", got="other bytes") from None
    return parse_catalog(text, file=file.name, folder=file.parent)


def parse_catalog(text: str, *, file: str = "brdp.toml", folder: str | Path = ".") -> Catalog:
    """Check the text of a brdp.toml."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(file, expected="valid TOML", got=str(error)) from None
    except RecursionError:
        raise InvalidInput(file, expected="valid TOML", got="too many nested brackets") from None
    reader = Reader(values, file=file)
    ledger = reader.text("ledger", default="brdp-ledger.sqlite")
    tables = reader.inner("tables", remedy="Start with a line such as [tables.adult].")
    reader.finish()
    if tables is None:
        raise InvalidInput(
            file,
            expected="at least one table",
            got="none",
            remedy="Start with a line such as [tables.adult], or run: brdp init TABLE",
        )
    found = tuple(_table(name, inner, Path(folder)) for name, inner in tables.all_inner())
    if not found:
        raise tables.refuse("", expected="at least one table", got="none")
    if "://" not in ledger:
        ledger = str(Path(folder) / ledger)
    return Catalog(tables=found, ledger=ledger, origin=file)


def _table(name: str, reader: Reader, folder: Path) -> Table:
    source = _source(reader, folder)
    unit = _unit(reader)
    relation = _relation(reader)
    rows = reader.whole("rows_per_unit")
    groups = reader.whole("groups_per_unit")
    if isinstance(unit, ColumnUnit) and rows is None:
        raise reader.refuse(
            "rows_per_unit",
            expected="the most rows of one unit that a query may use",
            got="nothing",
            remedy="Write for example: rows_per_unit = 5",
        )
    row_key = reader.texts("row_key")
    version = reader.text("version", default="1")
    at_least = reader.whole("rows_at_least")
    at_most = reader.whole("rows_at_most")
    budget = _budget(reader)
    columns = reader.inner("columns")
    found: tuple[Column, ...] = ()
    if columns is not None:
        found = tuple(_column(key, inner) for key, inner in columns.all_inner())
    reader.finish()
    return _named(
        reader,
        lambda: Table(
            name=name,
            source=source,
            unit=unit,
            rows_per_unit=rows or 1,
            groups_per_unit=groups,
            relation=relation,
            columns=found,
            row_key=row_key,
            version=version,
            rows_at_least=at_least,
            rows_at_most=at_most,
            budget=budget,
        ),
    )


def _source(reader: Reader, folder: Path) -> Source:
    remedy = 'Write a path or glob, for example: source = "data/*.parquet"'
    if isinstance(reader.raw("source"), dict):
        return _engine_source(reader, folder)
    written = reader.texts("source", remedy=remedy)
    form = reader.text("format", default="auto")
    delimiter = reader.text("delimiter") if reader.has("delimiter") else None
    if not written:
        raise reader.refuse("source", expected="a path or glob", got="nothing", remedy=remedy)
    if len(written) == 1 and written[0].startswith(POSTGRES_SCHEMES):
        if form != "auto" or delimiter is not None:
            raise reader.refuse(
                "source", expected="no format and no delimiter for a database", got="one"
            )
        name = _table_name(reader)
        return _named(reader, lambda: PostgresSource(written[0], name))
    for path in written:
        if "://" in path:
            raise reader.refuse(
                "source",
                expected="a path or glob of Parquet or CSV files, or a PostgreSQL URL",
                got=path.partition("://")[0] + "://...",  # what follows may hold a password
                remedy="Object stores are read by Spark: "
                'source = { spark = "active", path = "s3a://bucket/visits" }',
            )
    if form not in ("auto", "parquet", "csv"):
        raise reader.refuse("format", expected='"parquet" or "csv"', got=form)
    if form == "auto":
        endings = [path.lower() for path in written]
        if all(path.endswith(PARQUET_ENDINGS) for path in endings):
            form = "parquet"
        elif all(path.endswith(CSV_ENDINGS) for path in endings):
            form = "csv"
        else:
            other = any(path.endswith(OTHER_ENDINGS) for path in endings)
            raise reader.refuse(
                "source",
                expected="paths that all end in .parquet or all in .csv",
                got=list(written),
                remedy="Save the table as Parquet first."
                if other
                else 'Say which it is: format = "parquet" or format = "csv".',
            )
    paths = tuple(str(folder / path) for path in written)
    if form == "parquet":
        if delimiter is not None:
            raise reader.refuse("delimiter", expected="no delimiter for Parquet", got=delimiter)
        return ParquetSource(paths)
    if delimiter is None:
        delimiter = "\t" if ".tsv" in written[0].lower() else ","
    return _named(reader, lambda: CSVSource(paths, delimiter=delimiter))


def _engine_source(reader: Reader, folder: Path) -> Source:
    """source = { postgres = URL, table = NAME } or { spark = SESSION, table = NAME or path = PATH }."""
    inner = reader.inner("source")
    assert inner is not None  # noqa: S101 - a dict was just seen
    if inner.has("postgres"):
        url = inner.text("postgres")
        table = _table_name(inner)
        inner.finish()
        return _named(inner, lambda: PostgresSource(url, table))
    session = inner.text(
        "spark", remedy='Name the engine: postgres = "postgresql://...", or spark = "local[2]".'
    )
    name = _table_name(inner) if inner.has("table") else None
    path = inner.text("path") if inner.has("path") else None
    inner.finish()
    if path is not None and "://" not in path:
        path = str(folder / path)
    return _named(inner, lambda: SparkSource(session, table=name, path=path))


def _table_name(reader: Reader) -> str | tuple[str, ...]:
    remedy = 'Write for example: table = "shop.visits"'
    names = reader.texts("table", remedy=remedy)
    if not names:
        raise reader.refuse("table", expected="a table's name", got="nothing", remedy=remedy)
    return names[0] if len(names) == 1 else names


def _unit(reader: Reader) -> Unit:
    remedy = 'Write unit = "row", or unit = { column = "user_id" }.'
    value = reader.raw("unit")
    if value == "row":
        return RowUnit()
    if isinstance(value, dict):
        inner = reader.inner("unit")
        assert inner is not None  # noqa: S101 - a dict was just seen
        column = inner.text("column", remedy=remedy)
        inner.finish()
        return ColumnUnit(column)
    if isinstance(value, str) and value:
        remedy = f'For a column, write unit = {{ column = "{value}" }}; for rows, unit = "row".'
    raise reader.refuse(
        "unit",
        expected="whom privacy protects: a row or a column",
        got="nothing" if value is None else value,
        remedy=remedy,
    )


def _relation(reader: Reader) -> Relation:
    value = reader.text("relation", default=Relation.ADD_REMOVE.value)
    for relation in Relation:
        if relation.value == value:
            return relation
    raise reader.refuse(
        "relation",
        expected='"add_remove" or "replace"',
        got=value,
        remedy='If unsure, leave it out: it is then "add_remove".',
    )


def _budget(reader: Reader) -> Budget:
    remedy = (
        f"Write [{reader.where('budget').partition(': ')[2]}] with epsilon = 1.0, delta = 1e-6."
    )
    inner = reader.inner("budget", remedy=remedy)
    if inner is None:
        raise reader.refuse("budget", expected="epsilon and delta", got="nothing", remedy=remedy)
    epsilon = inner.number("epsilon", remedy=remedy)
    delta = inner.number("delta", remedy=remedy)
    rule = inner.text("filter", default="") or None
    known = [rule.value for rule in Rule]
    if rule is not None and rule not in known:
        raise inner.refuse("filter", expected=f"one of {', '.join(known)}", got=rule)
    queries = inner.whole("queries")
    inner.finish()
    return _named(
        inner,
        lambda: Budget(
            epsilon=float(epsilon),
            delta=float(delta),
            rule=None if rule is None else Rule(rule),
            queries=queries or 1000,
        ),
    )


def _column(name: str, reader: Reader) -> Column:
    numbers = reader.numbers("clip")
    integer = reader.flag("integer")
    clip = None
    if reader.has("clip"):
        if len(numbers) != 2:
            raise reader.refuse(
                "clip", expected="[low, high]", got=[float(number) for number in numbers]
            )
        low, high = numbers
        clip = Clip(low, high, integer=integer, argument=reader.where("clip"))
    elif integer:
        raise reader.refuse(
            "integer",
            expected="a clip range beside it",
            got="none",
            remedy="Write for example: clip = [0, 100]",
        )
    categories = _categories(reader)
    bins = reader.numbers("bins")
    if reader.has("bins"):
        check_edges(bins, argument=reader.where("bins"))
    reader.finish()
    return _named(reader, lambda: Column(name, clip=clip, categories=categories, bins=bins))


def _categories(reader: Reader) -> tuple[Key, ...]:
    value = reader.raw("categories")
    if value is None:
        return ()
    if not isinstance(value, list):
        raise reader.refuse("categories", expected="a list of public keys", got=value)
    check_keys(value, argument=reader.where("categories"))
    return tuple(value)


def _named(reader: Reader, build: Callable[[], Built]) -> Built:
    """Build a value; what it refuses is named by file and key."""
    try:
        return build()
    except InvalidInput as error:
        raise reader.refuse(
            error.argument, expected=error.expected, got=error.got, remedy=error.remedy
        ) from None
