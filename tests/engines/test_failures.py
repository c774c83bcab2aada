"""Engines that are away, refuse, or hold something else than they did: errors of ours, without a word of
theirs.
"""

from __future__ import annotations

import io
import shutil
import sys
from decimal import Decimal
from fractions import Fraction
from logging import StreamHandler

import pyarrow
import pytest
from pyarrow import parquet

from brdp.catalog import (
    Clip,
    Column,
    ColumnUnit,
    PostgresSource,
    RowUnit,
    SparkSource,
    Table,
)
from brdp.cli import main
from brdp.data import BoundingKey, EngineFailed, FrameSource, exact_totals, open_source
from brdp.data.spark_session import LOGGERS
from brdp.errors import BrdpError, InvalidInput, MissingExtra
from brdp.query import parse, resolve, totals_of_query

KEY = BoundingKey(b"0123456789abcdef")
WIDE = Clip(Fraction(-(10**6)), Fraction(10**6))


def summed(engine, column="v"):
    table = Table(
        name="t", source=FrameSource(None), unit=RowUnit(), columns=(Column(column, clip=WIDE),)
    )
    query = parse(f'SELECT SUM("{column}"), COUNT("{column}") FROM t EPSILON 1')
    found = exact_totals(query, table=table, engine=engine, key=KEY)
    totals = [found.of(total)[0][0] for total in totals_of_query(query, table)]
    return float(totals[0] * WIDE.resolution), totals[1]


def run(url, *statements):
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_server_that_goes_away_and_comes_back(server):
    url = server.database()
    run(url, "CREATE TABLE t AS SELECT 4242 AS v")
    engine = open_source(PostgresSource(url, "t"))
    assert summed(engine) == (4242.0, 1)
    server.kill()
    try:
        with pytest.raises(EngineFailed, match="no server that answers") as failure:
            summed(engine)
    finally:
        server.start()
    assert "4242" not in str(failure.value)
    assert summed(engine) == (4242.0, 1)


def test_a_server_that_gives_up_in_the_middle(server):
    url = server.database()
    run(url, "CREATE TABLE t (v int)")
    engine = open_source(PostgresSource(url, "t"))
    # the view waits for a minute; the server gives up on it
    run(
        url,
        "DROP TABLE t",
        "CREATE VIEW t AS SELECT 1 AS v FROM (SELECT pg_sleep(60)) AS s",
        f"ALTER ROLE {server.user} SET statement_timeout = '200ms'",
    )
    try:
        with pytest.raises(EngineFailed, match="QueryCanceled"):
            summed(engine)
    finally:
        run(url, f"ALTER ROLE {server.user} RESET statement_timeout")


def test_a_wrong_password(server):
    url = server.database()
    run(url, "CREATE ROLE stranger LOGIN PASSWORD 'right'", "CREATE TABLE t (v int)")
    rules = server.data / "pg_hba.conf"
    kept = rules.read_text()
    rules.write_text("host all stranger 127.0.0.1/32 scram-sha-256\n" + kept)
    try:
        run(url, "SELECT pg_reload_conf()", "SELECT pg_sleep(0.3)")
        strange = url.replace(f"//{server.user}@", "//stranger:hunter2@")
        with pytest.raises(EngineFailed, match="refuses") as failure:
            open_source(PostgresSource(strange, "t"))
        assert "hunter2" not in str(failure.value)
        # the right one is let in, and then may not read the table
        right = strange.replace("hunter2", "right")
        with pytest.raises(EngineFailed, match="may read"):
            open_source(PostgresSource(right, "t"))
    finally:
        rules.write_text(kept)
        run(url, "SELECT pg_reload_conf()")


def test_what_is_left_is_told_without_the_server(tmp_path, capsys):
    """Else a spend that was noted would end in an error, and be noted again."""
    config = tmp_path / "brdp.toml"
    config.write_text(
        'ledger = "ledger.sqlite"\n[tables.t]\nsource = { postgres = "postgresql://127.0.0.1:1/x", table = "t" }\n'
        'unit = "row"\nbudget = { epsilon = 3.0, delta = 1e-6 }\n'
    )
    arguments = ["charge", "t", "--epsilon", "1", "--note", "elsewhere", "--config", str(config)]
    assert main(["budget", *arguments]) == 0
    said = capsys.readouterr().out
    assert "2 left of 3" in said
    assert "no server that answers" in said


@pytest.mark.parametrize(
    "url", ["postgresql://127.0.0.1:1/x", "postgresql://h/x?nothing=1", "postgresql://[/x"]
)
def test_no_server(url):
    with pytest.raises(BrdpError):
        open_source(PostgresSource(url, "t"))


def test_a_postgres_table_that_changed(server):
    url = server.database()
    run(url, "CREATE TABLE t (v int, w int)", "INSERT INTO t VALUES (4242, 1)")
    engine = open_source(PostgresSource(url, "t"))
    run(url, "ALTER TABLE t ALTER v TYPE text USING 'private'")
    with pytest.raises(EngineFailed, match="a change in v") as failure:
        summed(engine)
    assert "private" not in str(failure.value)
    run(url, "ALTER TABLE t DROP v")
    with pytest.raises(EngineFailed, match="a change in v"):
        summed(engine)
    run(url, "DROP TABLE t")
    with pytest.raises(EngineFailed, match="the table t"):
        summed(engine)
    with pytest.raises(EngineFailed, match="the table t"):
        open_source(PostgresSource(url, "t"))


def test_a_database_in_another_encoding(server):
    url = server.database()
    run(url, "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")  # fmt: skip
    other = url.replace("/postgres?", "/latin?")
    with pytest.raises(InvalidInput, match="UTF8"):
        open_source(PostgresSource(other, "pg_class"))


EXTREMES = {
    "smallint": ["-32768", "32767"],
    "bigint": ["-9223372036854775808", "9223372036854775807"],
    "real": ["'NaN'", "'-Infinity'", "3.4e38", "1e-45"],
    "double precision": ["'NaN'", "'Infinity'", "1.7e308", "5e-324", "'-0'"],
    "numeric": ["'NaN'", "'Infinity'", "'-Infinity'", "'1e131000'", "'-1e131000'", "'1e-16000'"],
    "numeric(1000, 0)": ["'NaN'", "'1e999'", "'-1e999'"],
    "numeric(3, -500)": ["'123e500'"],
    "numeric(3, 500)": ["'1e-498'"],
    "text": ["''", "'\U0001f600'", "'1e999'", "repeat('9', 20000)", "repeat('1_', 20000)", "repeat('x', 20000)"],
    "char(6)": ["'7'", "'x'"],
    "name": ["'x'"],
    "boolean": ["true", "false"],
    "date": ["'infinity'", "'-infinity'", "'4714-11-24 BC'", "'5874897-12-31'"],
    "timestamp": ["'infinity'", "'4714-11-24 BC'", "'294276-12-31'"],
    "timestamptz": ["'-infinity'", "'2020-01-01 12:00+14'"],
    "time": ["'24:00'"],
    "interval": ["'-178000000 years'"],
    "uuid": ["'00000000-0000-0000-0000-000000000000'"],
    "bytea": ["'\\xff'"],
    "json": ["'{}'"],
    "money": ["'-92233720368547758.08'"],
    "inet": ["'::1'"],
    "bigint[]": ["'{1}'", "'{}'"],
    "bit(3)": ["B'101'"],
}  # fmt: skip
ASKED = [
    "SELECT SUM(v), COUNT(v), AVG(v) FROM t",
    "SELECT HISTOGRAM(v, -1, 0, 7) FROM t",
    "SELECT COUNT(*) FROM t WHERE v > 0.5 AND v < 1e300 OR v IN (7, 8)",
    "SELECT COUNT(*) FROM t WHERE v IS NULL",
    "SELECT COUNT(*) FROM t WHERE v >= '2020-01-01'",
    "SELECT COUNT(*), COUNT(DISTINCT v) FROM t WHERE v IN ('x', '7') GROUP BY v",
    "SELECT COUNT(*) FROM t WHERE v IN (7, 8) GROUP BY v",
    "SELECT COUNT(*) FROM t WHERE v IN (true, false) GROUP BY v",
]


def test_no_value_of_any_type_of_postgres_makes_a_question_fail(server):
    url = server.database()
    answered = dict.fromkeys(EXTREMES, 0)
    for kind, values in EXTREMES.items():
        rows = ", ".join(f"(CAST({value} AS {kind}))" for value in [*values, "NULL"])
        run(url, "DROP TABLE IF EXISTS t", f"CREATE TABLE t (v {kind})", f"INSERT INTO t VALUES {rows}")  # fmt: skip
        with open_source(PostgresSource(url, "t")) as engine:
            for unit, row_key in [(RowUnit(), ()), (ColumnUnit("v"), ("v",))]:
                table = Table(
                    name="t",
                    source=FrameSource(None),
                    unit=unit,
                    columns=(Column("v", clip=WIDE),),
                    row_key=row_key,
                )
                for asked in ASKED:
                    try:
                        query = resolve(parse(asked + " EPSILON 1"), table, engine.schema)
                        exact_totals(query, table=table, engine=engine, key=KEY)
                        answered[kind] += 1
                    except InvalidInput:
                        continue  # a refusal by the column's kind, before data are read
    # what a type does not allow is refused, but each may be counted, and numbers may be summed
    assert min(answered.values()) >= 1
    assert answered["numeric"] >= 4
    assert answered["text"] >= 12


def test_postgres_types_of_its_own(server):
    url = server.database()
    run(
        url,
        "CREATE TYPE mood AS ENUM ('fine', 'bad')",
        "CREATE TABLE t (e mood, c char(8), j json, n numeric, v real, i int4range)",
        "INSERT INTO t VALUES ('fine', 'padded', '{}', '1e1000', 1, NULL), ('bad', 'x', NULL, '-1e1000', 2, '[1,2)'),"
        " ('bad', 'x', NULL, 'NaN', 'NaN', NULL), (NULL, NULL, NULL, '1e-400', 'Infinity', NULL),"
        " ('fine', 'padded', NULL, '2.5', '-Infinity', NULL), ('fine', 'x', NULL, 'Infinity', NULL, NULL)",
    )
    engine = open_source(PostgresSource(url, "t"))
    assert summed(engine, "n") == (10**6 - 10**6 + 2.5 + 10**6, 5)
    assert summed(engine, "v") == (3.0, 4)
    table = Table(name="t", source=FrameSource(None), unit=RowUnit())
    query = parse(
        "SELECT COUNT(*), COUNT(j), COUNT(i) FROM t WHERE c IN ('padded', 'x') AND e IN ('bad', 'fine') "
        "GROUP BY c, e EPSILON 1"
    )
    found = exact_totals(query, table=table, engine=engine, key=KEY)
    counts = [[cell[0] for cell in found.of(total)] for total in totals_of_query(query, table)]
    assert counts == [[0, 2, 2, 1], [0, 1, 0, 0], [0, 0, 1, 0]]


def test_spark_files_that_changed(spark, tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.table({"v": [4242]}), path)
    engine = open_source(SparkSource("active", path=str(path)))
    assert summed(engine) == (4242.0, 1)
    path.unlink()
    parquet.write_table(pyarrow.table({"v": ["private"]}), path)
    with pytest.raises(EngineFailed, match="a change in v") as failure:
        summed(engine)
    assert "private" not in str(failure.value)
    shutil.rmtree(path, ignore_errors=True)
    path.unlink(missing_ok=True)
    with pytest.raises(EngineFailed, match="files that open"):
        summed(engine)


def test_spark_tables_and_views(spark):
    spark.sql("CREATE TABLE odd_name AS SELECT 7 AS v")
    spark.createDataFrame([(Decimal("3.5"),)], ["v"]).createOrReplaceGlobalTempView("seen")
    assert summed(open_source(SparkSource("active", table="odd_name"))) == (7.0, 1)
    assert summed(open_source(SparkSource("local[2]", table="global_temp.seen"))) == (3.5, 1)
    spark.range(3).createOrReplaceTempView("hidden")
    for name in ("hidden", "nothing"):
        with pytest.raises(EngineFailed, match="global_temp"):
            open_source(SparkSource("active", table=name))
    # the user's own settings are as they were
    assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"


def test_spark_texts_under_a_collation_and_padded(spark):
    if not spark.version.startswith("3."):
        spark.sql("CREATE TABLE loose (u STRING COLLATE UTF8_LCASE, k STRING COLLATE UNICODE_CI)")  # fmt: skip
        spark.sql(
            "INSERT INTO loose VALUES ('A', 'red'), ('a', 'RED'), ('b', 'R\u00e9d'), ('B', 'red ')"
        )
        found = counted_by(SparkSource("active", table="loose"), "u", ["red", "RED"])
        # four units, and no key is another in disguise
        assert found == [4, 1, 1]
    spark.sql("CREATE TABLE padded (u CHAR(6), k VARCHAR(6)) USING parquet")
    spark.sql("INSERT INTO padded VALUES ('x', 'x '), ('x ', 'x'), ('X', 'X'), ('secret', 'y')")
    assert counted_by(SparkSource("active", table="padded"), "u", ["x", "x "], key="k") == [3, 1, 1]
    assert counted_by(SparkSource("active", table="padded"), "k", ["x", "X"], key="u") == [4, 2, 1]


def counted_by(source, unit, keys, key="k"):
    """How many units there are, and how many rows of each key."""
    with open_source(source) as engine:
        found = []
        for asked in (f"COUNT(DISTINCT {unit}) FROM t", f"COUNT(*) FROM t GROUP BY {key}"):
            table = Table(
                name="t",
                source=FrameSource(None),
                unit=ColumnUnit(unit) if "DISTINCT" in asked else RowUnit(),
                columns=(Column(key, categories=tuple(keys)),),
            )
            query = resolve(parse(f"SELECT {asked} EPSILON 1"), table, engine.schema)
            totals = exact_totals(query, table=table, engine=engine, key=KEY)
            (total,) = totals_of_query(query, table)
            found += [cell[0] for cell in totals.of(total)]
    return found


def test_nothing_of_a_view_that_fails_is_said_or_logged(spark):
    logging = pytest.importorskip("pyspark.logger", reason="pyspark 3.5 has no loggers of its own")
    spark.sql("CREATE TABLE words AS SELECT 'private' AS s")
    # made where ANSI mode is on, which the view remembers: its cast fails, and quotes the value
    spark.sql("CREATE VIEW computing AS SELECT CAST(s AS INT) AS v FROM words")
    said = io.StringIO()
    loggers = [logging.PySparkLogger.getLogger(name) for name in LOGGERS]
    handlers = [StreamHandler(said) for _ in loggers]
    for logger, handler in zip(loggers, handlers, strict=True):
        logger.addHandler(handler)
    try:
        engine = open_source(SparkSource("active", table="computing"))
        with pytest.raises(EngineFailed) as failure:
            summed(engine)
        assert "private" not in str(failure.value)
        assert said.getvalue() == ""
        # the control: the user's own questions are logged as ever
        with pytest.raises(Exception, match="private"):
            spark.sql("SELECT v + 1 FROM computing").collect()
        assert "private" in said.getvalue()
    finally:
        for logger, handler in zip(loggers, handlers, strict=True):
            logger.removeHandler(handler)


def test_no_session_and_no_java(monkeypatch):
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setattr(sql.SparkSession, "getActiveSession", staticmethod(lambda: None))
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    with pytest.raises(InvalidInput, match="Make one with"):
        open_source(SparkSource("active", table="t"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(EngineFailed, match="Java 17"):
        open_source(SparkSource("local[1]", table="t"))


def test_no_pyspark(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingExtra, match=r"brdp\[spark\]"):
        open_source(SparkSource("local[1]", table="t"))
