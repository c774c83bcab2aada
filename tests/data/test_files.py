"""CSV and Parquet files: nothing sniffed from values, broken lines left out, globs, and the bundled table."""

from __future__ import annotations

import csv
import gzip
import random
import threading
from fractions import Fraction

import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

from brdp.catalog import (
    Clip,
    Column,
    CSVSource,
    Kind,
    ParquetSource,
    RowUnit,
    Table,
    parse_catalog,
    read_schema,
)
from brdp.data import BoundingKey, exact_totals, open_source
from brdp.datasets import adult_attribution, adult_path
from brdp.errors import InvalidInput
from brdp.query import parse, totals_of_query

KEY = BoundingKey(b"0123456789abcdef")


def total(source, sql="SELECT COUNT(*) FROM t EPSILON 1", **columns):
    declared = tuple(Column(name, clip=clip) for name, clip in columns.items())
    table = Table(name="t", source=source, unit=RowUnit(), columns=declared)
    engine = open_source(source)
    query = parse(sql)
    found = exact_totals(query, table=table, engine=engine, key=KEY)
    engine.close()
    return [found.of(each)[0][0] for each in totals_of_query(query, table)]


def written(folder, name, text):
    path = folder / name
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return str(path)


def test_types_are_never_guessed(tmp_path):
    # a sniffing reader sees integers in the first 20,000 lines and fails at the last
    text = b"v\n" + b"1\n" * 50_000 + b"oops\n"
    source = CSVSource((written(tmp_path, "a.csv", text),))
    assert read_schema(source) == {"v": Kind.TEXT}
    clip = Clip(Fraction(0), Fraction(5), integer=True)
    assert total(source, "SELECT COUNT(*), SUM(v) FROM t EPSILON 1", v=clip) == [50_001, 50_000]


@pytest.mark.parametrize(
    "line",
    [b"1,2,3", b"1", b'"open', b'a"b,c', b"\xff\xfe,x", b"", b",", b'"a""b",c', b"x\x00y,z"],
)
def test_a_broken_line_raises_nothing(tmp_path, line):
    text = b"a,b\n1,2\n" + line + b"\n"
    (found,) = total(CSVSource((written(tmp_path, "a.csv", text),)))
    assert found in (1, 2)


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
@pytest.mark.parametrize("value", [b"x\ry,2", b"3,4\r\n5,6", b"3,4\n5,6", b'"x\ry",2', b"3,4\r5,6"])
def test_line_ends_of_another_sort_raise_nothing(tmp_path, ends, value):
    # DuckDB's strict mode fails at the first of them, and so says what is in a row
    lines = [b"a,b", *[b"1,2"] * 50, value, *[b"1,2"] * 50, b""]
    (found,) = total(CSVSource((written(tmp_path, "a.csv", ends.join(lines)),)))
    assert 100 <= found <= 102


def test_random_bytes_raise_nothing(tmp_path):
    """Whatever stands in a line, the question is answered. (Strict mode fails at half of these.)"""
    rng = random.Random(1)
    pieces = [
        b'"',
        b",",
        b"\r",
        b"\n",
        b"\r\n",
        b"\0",
        b"\xff",
        b"a",
        b"1",
        b" ",
        b"\\",
        b'""',
        b"\x1a",
        b"'",
    ]
    for _ in range(100):
        junk = b"".join(rng.choices(pieces, k=rng.randrange(1, 30)))
        path = written(tmp_path, "a.csv", b"a,b\n" + b"1,2\n" * 20 + junk + b"\n" + b"1,2\n" * 20)
        with open_source(CSVSource((path,))) as engine:
            engine.rows(engine.table)


def test_gzip_delimiters_and_quotes(tmp_path):
    text = b'name;v\n"a;b";1\n"say ""hi""";2\n'
    source = CSVSource((written(tmp_path, "a.csv.gz", text),), delimiter=";")
    assert total(
        source, "SELECT COUNT(*) FROM t WHERE name IN ('a;b', 'say \"hi\"') EPSILON 1"
    ) == [2]


def test_globs_and_one_layout(tmp_path):
    written(tmp_path, "a1.csv", b"a,b\n1,2\n")
    written(tmp_path, "a2.csv", b"a,b\n1,2\n3,4\n")
    assert total(CSVSource((str(tmp_path / "a*.csv"),))) == [3]
    written(tmp_path, "a3.csv", b"b,a\n1,2\n")
    with pytest.raises(InvalidInput, match="every file"):
        open_source(CSVSource((str(tmp_path / "a*.csv"),)))


@pytest.mark.parametrize("text", [b"", b"a,a\n1,2\n", b"a,,b\n", b"\xff\xff\n"])
def test_a_header_that_names_no_columns(tmp_path, text):
    with pytest.raises(InvalidInput):
        total(CSVSource((written(tmp_path, "a.csv", text),)))


def test_missing_and_wrong_files(tmp_path):
    with pytest.raises(InvalidInput, match="exists"):
        open_source(ParquetSource((str(tmp_path / "none.parquet"),)))
    with pytest.raises(InvalidInput, match="exists"):
        open_source(CSVSource((str(tmp_path / "*.csv"),)))
    wrong = written(tmp_path, "wrong.parquet", b"secret text")
    with pytest.raises(InvalidInput, match="Parquet") as failure:
        open_source(ParquetSource((wrong,)))
    assert "secret" not in str(failure.value)
    with pytest.raises(InvalidInput, match="Parquet"):
        read_schema(ParquetSource((wrong,)))


def test_parquet(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = str(tmp_path / "it's a.parquet")
    parquet.write_table(
        pyarrow.table({"v": [1.0, 2.0], "n": [1, 2], "s": ["a", None], "l": [[1], [2]]}), path
    )
    assert read_schema(ParquetSource((path,))) == {
        "v": Kind.REAL, "n": Kind.INTEGER, "s": Kind.TEXT, "l": Kind.OTHER,
    }  # fmt: skip
    assert total(ParquetSource((path,)), "SELECT COUNT(*), COUNT(s) FROM t EPSILON 1") == [2, 1]


@pytest.mark.parametrize("second", ["'secret'", "'12'", "7::INTEGER", "1e300::DOUBLE", None])
def test_parquet_files_of_several_layouts_are_refused(tmp_path, second):
    # DuckDB would cast the second file's values to the first one's type, and fail at some
    duckdb = pytest.importorskip("duckdb")
    files = (str(tmp_path / "1.parquet"), str(tmp_path / "2.parquet"))
    other = "0 AS other" if second is None else f"{second} AS a"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT 5::BIGINT AS a) TO '{files[0]}'")
        connection.execute(f"COPY (SELECT {other}) TO '{files[1]}'")
    for read in (read_schema, open_source):
        with pytest.raises(InvalidInput, match="every file") as refusal:
            read(ParquetSource(files))
        assert "secret" not in str(refusal.value)


def test_parquet_files_may_have_more_columns_and_another_order(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT 5::BIGINT AS a, 1 AS b) TO '{tmp_path}/1.parquet'")
        connection.execute(
            f"COPY (SELECT 2 AS c, 3 AS b, 4::BIGINT AS a) TO '{tmp_path}/2.parquet'"
        )
    clip = Clip(Fraction(0), Fraction(9), integer=True)
    source = ParquetSource((f"{tmp_path}/*.parquet",))
    assert total(source, "SELECT COUNT(*), SUM(a) FROM t EPSILON 1", a=clip) == [2, 9]


@pytest.mark.parametrize("places", [("1", "2"), ("1", "home")])
def test_columns_that_directories_name_are_text(tmp_path, places):
    # guessed from all of them, the type would be that of numbers until somebody is at home
    duckdb = pytest.importorskip("duckdb")
    for place in places:
        (tmp_path / f"place={place}").mkdir()
        with duckdb.connect() as connection:
            connection.execute(f"COPY (SELECT 1 AS a) TO '{tmp_path}/place={place}/x.parquet'")
    source = ParquetSource((f"{tmp_path}/*/*.parquet",))
    assert read_schema(source)["place"] is Kind.TEXT
    assert total(source, "SELECT COUNT(*) FROM t WHERE place = '1' EPSILON 1") == [1]


def test_the_bundled_table_against_a_plain_reader():
    with gzip.open(adult_path(), "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 48_842
    assert sum(any(value == "?" for value in row.values()) for row in rows) == 3_620
    assert "CC BY 4.0" in adult_attribution()
    catalog = parse_catalog(
        f"""
        [tables.adult]
        source = "{adult_path()}"
        unit = "row"
        budget = {{ epsilon = 1, delta = 1e-6 }}
        [tables.adult.columns.age]
        clip = [17, 90]
        integer = true
        [tables.adult.columns.sex]
        categories = ["Female", "Male"]
        """
    )
    table = catalog.table("adult")
    engine = open_source(table.source)
    query = parse(
        "SELECT sex, COUNT(*) AS n WITHIN 20, SUM(age) WITHIN 90 FROM adult "
        "WHERE education_num >= 13 GROUP BY sex CONFIDENCE 0.95"
    )
    results = []

    def ask():
        results.append(exact_totals(query, table=table, engine=engine, key=KEY))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    count, age = totals_of_query(query, table)
    for found in results:
        assert found.keys == (("Female",), ("Male",))
        for key, (rows_counted,), (ages,) in zip(
            found.keys, found.of(count), found.of(age), strict=True
        ):
            own = [row for row in rows if row["sex"] == key[0] and int(row["education_num"]) >= 13]
            assert (rows_counted, ages) == (len(own), sum(int(row["age"]) for row in own))
    assert len(results) == 4
