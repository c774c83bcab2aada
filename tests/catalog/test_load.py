"""brdp.toml: what it means, and that every mistake is named by file, key and remedy."""

from __future__ import annotations

from fractions import Fraction

import pytest

from brdp.catalog import (
    Budget,
    Catalog,
    Clip,
    Column,
    ColumnUnit,
    CSVSource,
    ParquetSource,
    Relation,
    RowUnit,
    Table,
    load_catalog,
    parse_catalog,
)
from brdp.errors import InvalidInput

WHOLE = """
ledger = "state/ledger.sqlite"

[tables.visits]
source = ["data/a/*.parquet", "data/b.parquet"]
version = "2026-11"
unit = { column = "user" }
relation = "replace"
rows_per_unit = 5
groups_per_unit = 3
row_key = ["day", "visit"]
rows_at_least = 1000
[tables.visits.budget]
epsilon = 3
delta = 1e-6
[tables.visits.columns.age]
clip = [0, 120]
integer = true
bins = [0, 18, 65.5]
[tables.visits.columns."odd name"]
clip = [-0.1, 0.1]
[tables.visits.columns.place]
categories = ["home", "work"]
[tables.visits.columns.level]
categories = [1, 2, 3]

[tables.adult]
source = "adult.csv.gz"
unit = "row"
budget = { epsilon = 1.0, delta = 0 }
"""


def test_everything():
    catalog = parse_catalog(WHOLE, folder="/owner")
    assert catalog == Catalog(
        tables=(
            Table(
                name="visits",
                source=ParquetSource(("/owner/data/a/*.parquet", "/owner/data/b.parquet")),
                unit=ColumnUnit("user"),
                rows_per_unit=5,
                groups_per_unit=3,
                relation=Relation.REPLACE,
                columns=(
                    Column(
                        "age",
                        clip=Clip(Fraction(0), Fraction(120), integer=True),
                        bins=(0, 18, Fraction(131, 2)),
                    ),
                    Column("odd name", clip=Clip(Fraction(-1, 10), Fraction(1, 10))),
                    Column("place", categories=("home", "work")),
                    Column("level", categories=(1, 2, 3)),
                ),
                row_key=("day", "visit"),
                version="2026-11",
                rows_at_least=1000,
                budget=Budget(epsilon=3.0, delta=1e-6),
            ),
            Table(
                name="adult",
                source=CSVSource(("/owner/adult.csv.gz",)),
                unit=RowUnit(),
                version="1",
                budget=Budget(epsilon=1.0, delta=0.0),
            ),
        ),
        ledger="/owner/state/ledger.sqlite",
    )
    assert hash(catalog.tables)
    assert catalog.table("visits").group_limit == 3
    assert catalog.table("visits").column("nobody declared me") == Column("nobody declared me")


def test_paths_start_from_the_files_own_folder(tmp_path):
    file = tmp_path / "brdp.toml"
    file.write_text(WHOLE)
    assert load_catalog(file).table("adult").source == CSVSource((str(tmp_path / "adult.csv.gz"),))
    file.write_bytes(b"\xff")
    with pytest.raises(InvalidInput, match="UTF-8"):
        load_catalog(file)
    with pytest.raises(InvalidInput, match="brdp init"):
        load_catalog(tmp_path / "none.toml")


def test_an_unknown_table():
    with pytest.raises(
        InvalidInput, match=r"brdp.toml \(visits, adult\), got 'adlut'. Did you mean 'adult'\?"
    ):
        parse_catalog(WHOLE).table("adlut")


TABLE = '[tables.t]\nsource = "t.csv"\nunit = "row"\nbudget = { epsilon = 1, delta = 0 }\n'


def changed(old, new):
    assert old in TABLE
    return TABLE.replace(old, new)


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ("", "brdp.toml", "brdp init"),
        ("x = ", "brdp.toml", "valid TOML"),
        ("x = " + "[" * 5000, "brdp.toml", "TOML"),
        ("[table.t]\n", "table", "Did you mean 'tables'?"),
        ("tables = 3", "tables", "[tables.adult]"),
        ("[tables]\n", "tables", "at least one table"),
        ("tables.t = 3", "tables.t", "a table of keys"),
        (changed("source", "sorce"), "tables.t.source", "a path or glob"),
        (changed('"t.csv"', "3"), "tables.t.source", "text in quotes"),
        (changed('"t.csv"', "[]"), "tables.t.source", "text in quotes"),
        (changed('"t.csv"', '"t.data"'), "tables.t.source", 'format = "parquet"'),
        (changed('"t.csv"', '"t.sqlite"'), "tables.t.source", "Save the table as Parquet"),
        (changed('"t.csv"', '["t.csv", "t.parquet"]'), "tables.t.source", "all end"),
        (changed('"t.csv"', '"t.parquet"\ndelimiter = ";"'), "tables.t.delimiter", "no delimiter"),
        (changed('"t.csv"', '"t.csv"\ndelimiter = ";;"'), "tables.t.delimiter", "one character"),
        (changed('"t.csv"', '"t.csv"\nformat = "excel"'), "tables.t.format", "csv"),
        (changed('"t.csv"', '"postgresql://me:hunter2@host/db"'), "tables.t.table", "a table's name"),
        (changed('"t.csv"', '"s3://me:hunter2@bucket/x"'), "tables.t.source", "read by Spark"),
        (changed('"t.csv"', '{ postgres = "me:hunter2@h/d", table = "x" }'), "tables.t.source", "postgresql://"),
        (changed('"t.csv"', '{ spark = "local" }'), "tables.t.source", "one of the two"),
        (changed('"t.csv"', '{ table = "x" }'), "tables.t.source.spark", "Name the engine"),
        (changed('"t.csv"', '{ spark = "local", table = "x", pth = "y" }'), "tables.t.source.pth", "path"),
        (changed('unit = "row"\n', ""), "tables.t.unit", "a row or a column"),
        (changed('"row"', '"user_id"'), "tables.t.unit", 'unit = { column = "user_id" }'),
        (changed('"row"', "{}"), "tables.t.unit.column", "text in quotes"),
        (changed('"row"', '{ colum = "u" }'), "tables.t.unit.column", "text in quotes"),
        (changed('"row"', '{ column = "u", x = 1 }'), "tables.t.unit.x", "one of column"),
        (changed('"row"', '{ column = "u" }'), "tables.t.rows_per_unit", "rows_per_unit = 5"),
        (TABLE + "rows_per_unit = 2", "tables.t.rows_per_unit", "1 where the unit is a row"),
        (TABLE + "groups_per_unit = 2", "tables.t.groups_per_unit", "1 where the unit is a row"),
        (TABLE + "rows_per_unit = 0", "tables.t.rows_per_unit", "1 or above"),
        (TABLE + "rows_per_unit = 1.5", "tables.t.rows_per_unit", "1 or above"),
        (TABLE + "rows_per_unit = true", "tables.t.rows_per_unit", "1 or above"),
        (TABLE + "rows_at_least = -1", "tables.t.rows_at_least", "1 or above"),
        (TABLE + 'realtion = "replace"', "tables.t.realtion", "Did you mean 'relation'?"),
        (TABLE + "banana = 1", "tables.t.banana", "one of"),
        (TABLE + 'relation = "swap"', "tables.t.relation", "add_remove"),
        (TABLE + "version = 3", "tables.t.version", "text in quotes"),
        (TABLE + "row_key = [1]", "tables.t.row_key", "text in quotes"),
        (changed("budget = { epsilon = 1, delta = 0 }", ""), "tables.t.budget", "epsilon = 1.0, delta = 1e-6"),
        (changed("epsilon = 1,", ""), "tables.t.budget.epsilon", "epsilon = 1.0"),
        (changed("epsilon = 1", "epsilon = 0"), "tables.t.budget.epsilon", "above 0"),
        (changed("epsilon = 1", "epsilon = inf"), "tables.t.budget.epsilon", "finite"),
        (changed("epsilon = 1", "epsilon = nan"), "tables.t.budget.epsilon", "finite"),
        (changed("epsilon = 1", "epsilon = true"), "tables.t.budget.epsilon", "finite"),
        (changed("delta = 0", "delta = 1"), "tables.t.budget.delta", "[0, 1)"),
        (changed("delta = 0", "delta = -1e-9"), "tables.t.budget.delta", "[0, 1)"),
        (changed("delta = 0", "dleta = 0"), "tables.t.budget.delta", "finite"),
        (TABLE + "columns = 1", "tables.t.columns", "a table of keys"),
        (TABLE + "[tables.t.columns.a]\nclip = [5, 1]", "tables.t.columns.a.clip", "smaller bound first"),
        (TABLE + "[tables.t.columns.a]\nclip = [1, 1]", "tables.t.columns.a.clip", "low below high"),
        (TABLE + "[tables.t.columns.a]\nclip = [1]", "tables.t.columns.a.clip", "[low, high]"),
        (TABLE + "[tables.t.columns.a]\nclip = []", "tables.t.columns.a.clip", "[low, high]"),
        (TABLE + "[tables.t.columns.a]\nclip = 3", "tables.t.columns.a.clip", "[0, 10]"),
        (TABLE + "[tables.t.columns.a]\nclip = [0, nan]", "tables.t.columns.a.clip", "finite"),
        (TABLE + "[tables.t.columns.a]\nclip = [0, inf]", "tables.t.columns.a.clip", "finite"),
        (TABLE + '[tables.t.columns.a]\nclip = [0, "9"]', "tables.t.columns.a.clip", "finite"),
        (TABLE + "[tables.t.columns.a]\nclip = [0, 1e40]", "tables.t.columns.a.clip", "unit of measure"),
        (TABLE + "[tables.t.columns.a]\nclip = [0, 1e-40]", "tables.t.columns.a.clip", "unit of measure"),
        (TABLE + "[tables.t.columns.a]\nclip = [0, 0.5]\ninteger = true", "tables.t.columns.a.clip", "whole bounds"),
        (TABLE + "[tables.t.columns.a]\nclip = [0, 1e17]\ninteger = true", "tables.t.columns.a.clip", "2^53"),
        (TABLE + "[tables.t.columns.a]\ninteger = true", "tables.t.columns.a.integer", "clip"),
        (TABLE + "[tables.t.columns.a]\ninteger = 1", "tables.t.columns.a.integer", "true or false"),
        (TABLE + "[tables.t.columns.a]\nclpi = [0, 1]", "tables.t.columns.a.clpi", "Did you mean 'clip'?"),
        (TABLE + "[tables.t.columns.a]\ncategories = []", "tables.t.columns.a.categories", "keys"),
        (TABLE + "[tables.t.columns.a]\ncategories = 'x'", "tables.t.columns.a.categories", "a list"),
        (TABLE + "[tables.t.columns.a]\ncategories = [1, 'x']", "tables.t.columns.a.categories", "all text"),
        (TABLE + "[tables.t.columns.a]\ncategories = [1, true]", "tables.t.columns.a.categories", "all text"),
        (TABLE + "[tables.t.columns.a]\ncategories = [[1]]", "tables.t.columns.a.categories", "all text"),
        (TABLE + "[tables.t.columns.a]\ncategories = [0.5]", "tables.t.columns.a.categories", "all text"),
        (TABLE + "[tables.t.columns.a]\ncategories = ['x', 'x']", "tables.t.columns.a.categories", "once"),
        (TABLE + "[tables.t.columns.a]\nbins = [0]", "tables.t.columns.a.bins", "2 to"),
        (TABLE + "[tables.t.columns.a]\nbins = [0, 2, 1]", "tables.t.columns.a.bins", "rise"),
    ],
)  # fmt: skip
def test_mistakes(text, key, says):
    with pytest.raises(InvalidInput) as refusal:
        parse_catalog(text)
    message = str(refusal.value)
    assert "brdp.toml" in message
    assert key in message
    assert says in message
    assert "hunter2" not in message
    assert "\n" not in message


def test_toml_dates_and_tables_in_the_wrong_place_raise_nothing_else():
    for value in ("1979-05-27", "{ a = 1 }", "[[1], [2]]", '""', "-0.0", "0x10"):
        for name in (
            "source",
            "format",
            "version",
            "unit",
            "relation",
            "rows_per_unit",
            "row_key",
            "budget",
            "columns",
        ):
            lines = [line for line in TABLE.splitlines() if not line.startswith(name)]
            text = "\n".join([*lines, f"{name} = {value}"])
            try:
                parse_catalog(text)
            except InvalidInput as refusal:
                assert "brdp.toml" in str(refusal)  # noqa: PT017 - some values are allowed


def test_tables_are_found_without_regard_to_case_where_that_names_one():
    text = TABLE.replace("tables.t", "tables.Visits")
    assert parse_catalog(text).table("visits").name == "Visits"
    both = parse_catalog(text + TABLE.replace("tables.t", "tables.visits"))
    assert [both.table(name).name for name in ("Visits", "visits")] == ["Visits", "visits"]
    with pytest.raises(InvalidInput, match="Visits"):
        both.table("VISITS")
