"""Real engines: a PostgreSQL server of our own, and Spark in local mode. Each is started once a session."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator

import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

from tests.engines.places import Place, in_duckdb, in_postgres, in_spark
from tests.ledger.server import Server

NO_SPARK = (
    "PySpark or Java is not installed: queries in Spark are not tested (make engines installs both)"
)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A session of the test's own, as a user would have one; brdp finds it."""
    java = shutil.which("java") or os.environ.get("JAVA_HOME")
    if not java or importlib.util.find_spec("pyspark") is None:
        pytest.skip(NO_SPARK)
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("brdp tests")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "2g")
        # a minute of small queries: what a better compiler gains costs more than it brings
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "OFF")
        # what a user's session may be set to: it must change nothing
        .config("spark.sql.ansi.enabled", "true")
        .config("spark.sql.session.timeZone", "Asia/Tokyo")
        .config("spark.sql.parser.escapedStringLiterals", "true")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgres_place(server: Server) -> Place:
    return in_postgres(server.database())


@pytest.fixture(scope="session")
def spark_place(spark: object, tmp_path_factory: pytest.TempPathFactory) -> Place:
    return in_spark(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="session", params=["duckdb", "postgres", "spark"])
def place(request: pytest.FixtureRequest) -> Place:
    """Each engine in turn."""
    if request.param == "duckdb":
        return in_duckdb
    found: Place = request.getfixturevalue(f"{request.param}_place")
    return found
