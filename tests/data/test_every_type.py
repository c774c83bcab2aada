"""Every type of column that DuckDB has, in every place of a query: totals or a refusal of ours, nothing else.

The rows hold the extremes of each type, so an engine that fails at a value fails here.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

from brdp.catalog import Clip, Column, ColumnUnit, RowUnit, Table
from brdp.catalog.source import ParquetSource
from brdp.data import BoundingKey, DuckDBEngine, exact_totals
from brdp.errors import InvalidInput
from brdp.query import as_query, column, resolve, table, totals_of_query

KEY = BoundingKey(b"0123456789abcdef")
TYPES = {
    "TINYINT": ["-128", "127"],
    "SMALLINT": ["-32768", "32767"],
    "INTEGER": ["-2147483648", "2147483647"],
    "BIGINT": ["-9223372036854775808", "9223372036854775807"],
    "HUGEINT": [
        "-170141183460469231731687303715884105728",
        "170141183460469231731687303715884105727",
    ],
    "UTINYINT": ["0", "255"],
    "UBIGINT": ["0", "18446744073709551615"],
    "FLOAT": ["'nan'", "'inf'", "'-inf'", "3.4e38", "1e-45"],
    "DOUBLE": ["'nan'", "'inf'", "'-inf'", "1.7e308", "5e-324"],
    "DECIMAL(38,10)": ["-9999999999999999999999999999.9999999999", "0.5"],
    "DECIMAL(4,2)": ["-99.99", "99.99"],
    "VARCHAR": ["''", "'\U0001f600'", "'1e999'", "'nan'", "'x'", "'2020-01-01'"],
    "BOOLEAN": ["true", "false"],
    "DATE": ["'0001-01-01'", "'9999-12-31'", "'infinity'", "'5877642-06-25 (BC)'"],
    "TIMESTAMP": ["'0001-01-01'", "'9999-12-31 23:59:59'", "'infinity'", "'-infinity'"],
    "TIMESTAMPTZ": ["'0001-01-01'", "'infinity'"],
    "TIMESTAMP_S": ["'0001-01-01'", "'290000-01-01'", "'infinity'"],
    "TIMESTAMP_MS": ["'0001-01-01'", "'290000-01-01'", "'-infinity'"],
    "UHUGEINT": ["0", "340282366920938463463374607431768211455"],
    "DECIMAL(38,38)": ["'-0.99999999999999999999999999999999999999'", "'0.5'"],
    "TIMETZ": ["'00:00:00+15:59:59'", "'24:00:00'"],
    "BIGNUM": ["'1'", f"'{'9' * 300}'"],
    "JSON": ["'{\"a\":1}'", "'1'"],
    "TIMESTAMP_NS": ["'1970-01-01'", "'2200-01-01'"],
    "TIME": ["'00:00:00'", "'23:59:59.999999'"],
    "INTERVAL": ["'1 month'", "'-100 years'"],
    "UUID": ["'00000000-0000-0000-0000-000000000000'"],
    "BLOB": ["''", "'\\xFF'"],
    "BIGINT[]": ["[1]", "[]"],
    "STRUCT(a INT)": ["{'a': 1}"],
    "ENUM('x', 'y')": ["'x'", "'y'"],
}
WHOLE = Clip(Fraction(-10), Fraction(10), integer=True)
REAL = Clip(Fraction(-1, 3), Fraction(10**9))


def queries():
    start = table("t")
    yield from (
        start.count(),
        start.count("v"),
        start.count_units(),
        start.sum("v"),
        start.mean("v"),
    )
    yield start.histogram("v", [-1, 0.5, 100])
    for keys in (["x", "1"], [1, -3, 10**12], [True, False]):
        yield start.count().count_units().sum("n").group_by(v=keys)
    literals = [Fraction(1, 2), 0, -(10**30), 2**63, 2**64, "x", "2020-01-01", True]
    for literal in literals:
        for condition in (
            column("v") == literal,
            ~(column("v") < literal),
            column("v").is_in([literal, literal]),
        ):
            yield start.count().where(condition)
    yield start.count().where(column("v").is_null())
    yield start.count().where(~column("v").between("2020-01-01", "2021-01-01T10:00:00+01:00"))


def engine_of(kind: str) -> DuckDBEngine:
    values = ", ".join(
        f"({index}, CAST({value} AS {kind}))" for index, value in enumerate([*TYPES[kind], "NULL"])
    )
    return DuckDBEngine(f"SELECT * FROM (VALUES {values}) AS rows(n, v)")


@pytest.mark.parametrize("kind", TYPES)
def test_totals_or_a_refusal(kind):
    base = Table(
        name="t",
        source=ParquetSource(("none",)),
        unit=RowUnit(),
        columns=(Column("v", clip=REAL), Column("n", clip=WHOLE)),
    )
    tables = [
        base,
        replace(base, columns=(Column("v", clip=WHOLE), Column("n", clip=WHOLE))),
        replace(base, unit=ColumnUnit("v"), rows_per_unit=2),
        replace(base, unit=ColumnUnit("n"), rows_per_unit=2, row_key=("v",)),
        replace(base, unit=ColumnUnit("n"), rows_per_unit=3, groups_per_unit=1),
    ]
    answered = 0
    with engine_of(kind) as engine:
        for declared, asked in itertools.product(tables, queries()):
            query = as_query(asked.epsilon(1))
            try:
                found = exact_totals(query, table=declared, engine=engine, key=KEY)
            except InvalidInput:
                continue
            answered += 1
            resolved = resolve(query, declared, engine.schema)
            assert all(
                isinstance(found.of(total)[0][0], int)
                for total in totals_of_query(resolved, declared)
            )
    assert answered >= 5
