"""The same Arrow table put into each engine."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet, types

from brdp.catalog.source import PostgresSource, Source, SparkSource
from brdp.data import Engine, FrameSource, open_source

NAMES = itertools.count(1)
Place = Callable[[pyarrow.Table], Source]


def in_duckdb(table: pyarrow.Table) -> Source:
    return FrameSource(table)


def in_postgres(url: str) -> Place:
    import psycopg
    from psycopg import sql

    def put(table: pyarrow.Table) -> Source:
        name = f"Rows {next(NAMES)}"
        columns = [
            sql.SQL("{} {}").format(sql.Identifier(field.name), sql.SQL(postgres_type(field.type)))
            for field in table.schema
        ]
        with psycopg.connect(url) as connection:
            connection.execute(
                sql.SQL("CREATE TABLE {} ({})").format(
                    sql.Identifier(name), sql.SQL(", ").join(columns)
                )
            )
            into = sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(name))
            with connection.cursor() as cursor, cursor.copy(into) as copy:
                for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                    copy.write_row(row)
        return PostgresSource(url, name)

    return put


def postgres_type(kind: Any) -> str:
    names = {
        pyarrow.int16(): "smallint",
        pyarrow.int32(): "integer",
        pyarrow.int64(): "bigint",
        pyarrow.float32(): "real",
        pyarrow.float64(): "double precision",
        pyarrow.string(): "text",
        pyarrow.bool_(): "boolean",
        pyarrow.date32(): "date",
        pyarrow.timestamp("us"): "timestamp",
        pyarrow.timestamp("us", "UTC"): "timestamptz",
    }
    return f"numeric({kind.precision}, {kind.scale})" if types.is_decimal(kind) else names[kind]


def in_spark(folder: Path) -> Place:
    def put(table: pyarrow.Table) -> Source:
        path = folder / f"{next(NAMES)}.parquet"
        parquet.write_table(table, path)
        return SparkSource("local[2]", path=str(path))

    return put


def opened(place: Place, table: pyarrow.Table) -> Engine:
    return open_source(place(table))
