"""Engines that fail in the middle of a question, and tables that change between two: what was charged stays
charged, asking again completes it without a charge, and a stored answer stands.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from brdp.catalog.source import ParquetSource, PostgresSource, Source, SparkSource
from brdp.data import EngineFailed
from tests.engines.asking import curator_of, spent
from tests.engines.test_failures import run
from tests.ledger.server import Server

TOTAL = "SELECT SUM(v) AS a WITHIN 60 FROM people EPSILON 0.5"
COUNT = "SELECT COUNT(*) AS a WITHIN 20 FROM people WHERE v < 40 EPSILON 0.5"
PATIENCE = 60.0


def until(found: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def ask_and_fail(source: Source, ledger: Path, interrupt: Callable[[], None]) -> None:
    """Ask, have the engine interrupted while it computes, and see the charge stay."""
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            with curator_of(source, ledger) as curator:
                curator.ask(TOTAL)
        except BaseException as error:
            failures.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    interrupt()
    asking.join(PATIENCE)
    assert not asking.is_alive()
    (failure,) = failures
    assert isinstance(failure, EngineFailed), failure
    assert "charged stays charged" in str(failure)


def completes(source: Source, ledger: Path) -> None:
    """The interrupted question is answered without a charge, once."""
    with curator_of(source, ledger) as curator:
        (charge,) = curator.history()
        cost = spent(curator)
        assert cost > 0
        answer = curator.ask(TOTAL)
        assert (answer.epsilon, answer.delta, answer.replayed) == (0, 0, False)
        again = curator.ask(TOTAL)
        assert again.replayed
        assert again.value() == answer.value()
        assert curator.history() == [charge]
        assert spent(curator) == cost


def test_postgres_is_killed_in_the_middle_of_a_query(server: Server, tmp_path: Path) -> None:
    url = server.database()
    run(
        url,
        "CREATE TABLE pause AS SELECT 600::float8 AS seconds",
        "CREATE TABLE numbers AS SELECT generate_series(1, 50) AS v",
        "CREATE VIEW people AS SELECT v FROM numbers, (SELECT pg_sleep(seconds) FROM pause OFFSET 0) AS waited",
    )

    def interrupt() -> None:
        import psycopg

        sleeping = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        with psycopg.connect(url, autocommit=True) as connection:
            until(lambda: connection.execute(sleeping).fetchall())
        server.kill()

    source = PostgresSource(url, "people")
    try:
        ask_and_fail(source, tmp_path / "ledger.sqlite", interrupt)
        # the server is away: the same error, and no second charge
        with (
            curator_of(source, tmp_path / "ledger.sqlite") as curator,
            pytest.raises(EngineFailed, match="no server that answers"),
        ):
            curator.ask(TOTAL)
    finally:
        server.start()
    run(url, "UPDATE pause SET seconds = 0")
    completes(source, tmp_path / "ledger.sqlite")


def test_a_spark_job_is_cancelled_in_the_middle(spark, tmp_path: Path) -> None:
    def view(rows: int) -> None:
        spark.range(rows).selectExpr("id % 50 AS v").createOrReplaceGlobalTempView("people")

    def interrupt() -> None:
        until(spark.sparkContext.statusTracker().getActiveJobsIds)
        time.sleep(0.2)
        spark.sparkContext.cancelAllJobs()

    source = SparkSource("active", table="global_temp.people")
    view(10**13)
    ask_and_fail(source, tmp_path / "ledger.sqlite", interrupt)
    view(50)
    completes(source, tmp_path / "ledger.sqlite")


CHILD = """
import os, signal, subprocess, sys, threading, time
from pyspark.sql import SparkSession
from brdp.catalog.source import SparkSource
from brdp.data import EngineFailed
from tests.engines.asking import curator_of
from tests.engines.test_interrupted import TOTAL, until

spark = (SparkSession.builder.master("local[1]").config("spark.driver.host", "127.0.0.1")
         .config("spark.driver.bindAddress", "127.0.0.1").config("spark.ui.enabled", "false").getOrCreate())
spark.range(10**13).selectExpr("id % 50 AS v").createOrReplaceGlobalTempView("people")
java = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())
jobs = spark.sparkContext.statusTracker().getActiveJobsIds

def kill():
    until(jobs)
    os.kill(java, signal.SIGKILL)

threading.Thread(target=kill).start()
with curator_of(SparkSource("active", table="global_temp.people"), sys.argv[1]) as curator:
    for _ in range(2):
        try:
            curator.ask(TOTAL)
        except EngineFailed as error:
            print(error, flush=True)
os._exit(0)
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_java_of_spark_is_killed_in_the_middle(spark, tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    ledger = tmp_path / "ledger.sqlite"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(ledger)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"},
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    said = [line for line in done.stdout.splitlines() if line.startswith("Spark: ")]
    assert len(said) == 2, done.stdout
    assert all("no Spark that answers" in line and "charged stays" in line for line in said)
    spark.range(50).selectExpr("id % 50 AS v").createOrReplaceGlobalTempView("people")
    completes(SparkSource("active", table="global_temp.people"), ledger)


Written = Callable[[pyarrow.Table], None]


@pytest.fixture(params=["duckdb", "postgres", "spark"])
def changing(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Source, Written]:
    """A source in each engine, and what writes another table in its place."""
    if request.param == "postgres":
        url = request.getfixturevalue("server").database()

        def write_rows(table: pyarrow.Table) -> None:
            kind = "text" if table.schema.field("v").type == pyarrow.string() else "bigint"
            values = ", ".join(f"('{value}')" for value in table["v"].to_pylist())
            run(url, "DROP TABLE IF EXISTS people", f"CREATE TABLE people (v {kind})",
                f"INSERT INTO people VALUES {values}")  # fmt: skip

        return PostgresSource(url, "people"), write_rows
    if request.param == "spark":
        request.getfixturevalue("spark")
    path = tmp_path / "people.parquet"

    def write_file(table: pyarrow.Table) -> None:
        path.unlink(missing_ok=True)
        parquet.write_table(table, path)

    if request.param == "spark":
        return SparkSource("active", path=str(path)), write_file
    return ParquetSource((str(path),)), write_file


def test_a_table_that_changes_between_questions(changing, tmp_path: Path) -> None:
    source, write = changing
    ledger = tmp_path / "ledger.sqlite"
    numbers = pyarrow.table({"v": list(range(50))})
    write(numbers)
    with curator_of(source, ledger) as curator:
        first = curator.ask(TOTAL)
        cost = spent(curator)
        # other rows: what was answered is not answered anew, and costs nothing
        write(pyarrow.table({"v": [1] * 40}))
        again = curator.ask(TOTAL)
        assert again.replayed
        assert again.value() == first.value()
        # a column of another type: a clear error, and a charge that stays
        write(pyarrow.table({"v": ["private"] * 40}))
        with pytest.raises(EngineFailed) as failure:
            curator.ask(COUNT)
        assert "charged stays charged" in str(failure.value)
        assert "private" not in str(failure.value)
        charged = spent(curator)
        assert charged > cost
        assert curator.ask(TOTAL).value() == first.value()
    write(numbers)
    with curator_of(source, ledger) as curator:
        answer = curator.ask(COUNT)
        assert (answer.epsilon, answer.delta, answer.replayed) == (0, 0, False)
        assert spent(curator) == charged
        assert len(curator.history()) == 2
