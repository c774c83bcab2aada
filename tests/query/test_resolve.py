"""A query against the owner's declarations: true names, keys, bins, and refusals before any data."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

pytest.importorskip("sqlglot")

from brdp.catalog import Clip, Column, ColumnUnit, Kind, ParquetSource, RowUnit, Table
from brdp.errors import InvalidInput
from brdp.query import Count, CountDistinctUnits, Histogram, parse, resolve, table

SCHEMA = {
    "User": Kind.TEXT, "g": Kind.TEXT, "n": Kind.INTEGER, "b": Kind.BOOLEAN, "a": Kind.REAL, "A b": Kind.REAL,
    "d": Kind.DATE, "t": Kind.TIMESTAMP, "odd": Kind.OTHER, "x": Kind.REAL, "X": Kind.REAL,
}  # fmt: skip
TABLE = Table(
    name="visits",
    source=ParquetSource(("v.parquet",)),
    unit=ColumnUnit("User"),
    rows_per_unit=3,
    rows_at_least=10,
    columns=(
        Column("g", categories=("x", "y")),
        Column("a", clip=Clip(Fraction(0), Fraction(9)), bins=(Fraction(0), Fraction(1))),
    ),
)


def resolved(text, declared=TABLE):
    return resolve(parse(text + " EPSILON 1"), declared, SCHEMA)


def test_names_are_completed():
    query = resolved(
        "SELECT COUNT(DISTINCT user), SUM(\"A\"), HISTOGRAM(a) FROM VISITS WHERE USER = 'x' GROUP BY G"
    )
    assert query.table == "visits"
    assert query.items[0].aggregate == CountDistinctUnits()
    assert query.items[2].aggregate == Histogram("a", (Fraction(0), Fraction(1)))
    assert query.where.column == "User"
    assert query.group_by[0].keys == ("x", "y")
    assert query.rows_at_least == 10
    assert resolved("SELECT COUNT(*) FROM visits ROWS_AT_LEAST 50").rows_at_least == 50


def test_keys_from_the_query_come_first():
    assert resolved("SELECT COUNT(*) FROM visits WHERE g IN ('q', 'r') GROUP BY g").group_by[
        0
    ].keys == ("q", "r")
    assert resolved("SELECT COUNT(*) FROM visits WHERE n = 4 AND a > 1 GROUP BY n").group_by[
        0
    ].keys == (4,)
    # an IN under OR or NOT does not list all groups
    assert resolved("SELECT COUNT(*) FROM visits WHERE g IN ('q') OR a > 1 GROUP BY g").group_by[
        0
    ].keys == ("x", "y")
    assert resolved("SELECT COUNT(*) FROM visits WHERE NOT g IN ('q') GROUP BY g").group_by[
        0
    ].keys == ("x", "y")
    built = table("visits").group_by(g=["k"]).count().epsilon(1).query()
    assert resolve(built, TABLE, SCHEMA).group_by[0].keys == ("k",)


def test_every_row_a_unit():
    rows = replace(TABLE, unit=RowUnit(), rows_per_unit=1)
    query = resolve(table("visits").count_units().epsilon(1).query(), rows, SCHEMA)
    assert query.items[0].aggregate == Count()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("SELECT COUNT(*) FROM visit", "visits"),
        ("SELECT COUNT(nothing) FROM visits", "one of the table's columns"),
        ("SELECT COUNT(usr) FROM visits", "Did you mean 'User'?"),
        ('SELECT COUNT("xX") FROM visits', "Did you mean"),
        ("SELECT SUM(n) FROM visits", "clip"),
        ("SELECT AVG(g) FROM visits", "clip"),
        ("SELECT SUM(d) FROM visits", "dates"),
        ("SELECT HISTOGRAM(odd, 1, 2) FROM visits", "another kind"),
        ("SELECT HISTOGRAM(n) FROM visits", "edges"),
        ("SELECT COUNT(DISTINCT g) FROM visits", "not there yet"),
        ("SELECT COUNT(*) FROM visits GROUP BY n", "public keys"),
        ("SELECT COUNT(*) FROM visits GROUP BY a", "grouping"),
        (
            "SELECT COUNT(*) FROM visits WHERE g IN (1, 2) AND b IN ('x') GROUP BY b",
            "true or false",
        ),
        ("SELECT COUNT(*) FROM visits WHERE n = 'x'", "without"),
        ("SELECT COUNT(*) FROM visits WHERE d = 5", "dates"),
        ("SELECT COUNT(*) FROM visits WHERE d = 'yesterday'", "2026-11-18"),
        ("SELECT COUNT(*) FROM visits WHERE t > '2026-13-01'", "timestamps"),
        ("SELECT COUNT(*) FROM visits WHERE odd = 'x'", "another kind"),
        ("SELECT COUNT(*) FROM visits WHERE b = 1", "true or false"),
        (
            "SELECT COUNT(*) FROM visits WHERE b IN (true) AND n IN (1) AND nowhere IS NULL",
            "columns",
        ),
    ],
)
def test_refusals(text, says):
    with pytest.raises(InvalidInput, match=says):
        resolved(text)


def test_an_ambiguous_name():
    with pytest.raises(InvalidInput, match="double quotes"):
        resolve(
            parse("SELECT COUNT(xx) FROM visits EPSILON 1"),
            TABLE,
            {"Xx": Kind.REAL, "xX": Kind.REAL},
        )


def test_keys_must_fit_the_column():
    built = table("visits").group_by(n=["text"]).count().epsilon(1).query()
    with pytest.raises(InvalidInput, match="keys"):
        resolve(built, TABLE, SCHEMA)


def test_too_many_cells():
    many = tuple(range(2000))
    built = (
        table("visits").group_by(n=many, g=[str(key) for key in many]).count().epsilon(1).query()
    )
    with pytest.raises(InvalidInput, match="4,000,000"):
        resolve(built, TABLE, SCHEMA)
