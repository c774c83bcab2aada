"""Engines that are away, refuse, or hold something else than they did: errors of ours, without a word of
theirs.
"""

from __future__ import annotations

import shutil
import sys
from decimal import Decimal
from fractions import Fraction

import pyarrow
import pytest
from pyarrow import parquet

from brdp.catalog import Clip, Column, PostgresSource, RowUnit, SparkSource, Table
from brdp.data import BoundingKey, EngineFailed, FrameSource, exact_totals, open_source
from brdp.errors import BrdpError, InvalidInput, MissingExtra
from brdp.query import parse, totals_of_query
from tests.engines.conftest import NO_POSTGRES
from tests.ledger.server import Server, binaries

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


def test_a_server_that_goes_away_and_comes_back():
    if binaries() is None:
        pytest.skip(NO_POSTGRES)
    server = Server()
    try:
        url = server.database()
        run(url, "CREATE TABLE t AS SELECT 4242 AS v")
        engine = open_source(PostgresSource(url, "t"))
        assert summed(engine) == (4242.0, 1)
        server.kill()
        with pytest.raises(EngineFailed, match="no server that answers") as failure:
            summed(engine)
        assert "4242" not in str(failure.value)
        server.start()
        assert summed(engine) == (4242.0, 1)
    finally:
        server.stop()


def test_a_server_that_ends_the_session_in_the_middle(server):
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


@pytest.mark.parametrize(
    "url", ["postgresql://127.0.0.1:1/x", "postgresql://h/x?nothing=1", "postgresql://[/x"]
)
def test_no_server(url):
    pytest.importorskip("psycopg", reason=NO_POSTGRES)
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


def test_no_session_and_no_java(monkeypatch):
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setattr(sql.SparkSession, "getActiveSession", staticmethod(lambda: None))
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
