"""Spark: queries run where its executors run, and only totals per group come back to the driver."""

from __future__ import annotations

import os
import shutil
from typing import Any, final

from brdp import _extras
from brdp.catalog.schema import Schema
from brdp.catalog.source import SparkSource, name_parts
from brdp.data.engine import Engine, EngineFailed, require_same_schema
from brdp.data.kinds import schema_of
from brdp.data.rewrite import rewritten
from brdp.data.rules_spark import spark_rules
from brdp.errors import InvalidInput

NAME = "Spark"
VIEW = "brdp_table"
ACTIVE = "active"
# Settings that change what a value or a text means, as all engines have them. They belong to a session
# of our own beside the user's, which keeps its own.
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.caseSensitive": "false",
    # else ${spark.some.password} in a text of an analyst's becomes the value of that setting
    "spark.sql.variable.substitute": "false",
}


@final
class SparkEngine(Engine):
    """One table or path, seen from a session that shares the user's context and catalog but not its
    settings.
    """

    def __init__(self, source: SparkSource) -> None:
        ibis = _extras.require("ibis", extra="query")
        _extras.require("pyspark", extra="spark")
        _extras.require(
            "pandas", extra="spark"
        )  # Ibis imports it together with its dialect of Spark
        backend = _extras.require("ibis.backends.pyspark", extra="spark")
        self._types = _extras.require("ibis.backends.pyspark.datatypes", extra="spark").PySparkType
        self._source = source
        self._backend: Any = backend.Backend()
        self._backend.register_options()
        self._session = _session(source.session)
        self._described = self._view()
        self._table: Any = ibis.table(ibis.schema(self._ibis_types()), name=VIEW)

    @property
    def table(self) -> Any:
        """The source as an Ibis table."""
        return self._table

    @property
    def schema(self) -> Schema:
        """Names and kinds of its columns."""
        return schema_of(self._table)

    def sql(self, expression: Any) -> str:
        """The SQL of an expression."""
        return str(self._backend.compile(rewritten(expression, spark_rules())))

    def rows(self, expression: Any) -> list[tuple[Any, ...]]:
        """Run an expression; refuse if the columns changed since the table was opened."""
        text = self.sql(expression)
        opened, now = self._described, self._view()
        if now != opened:
            require_same_schema(NAME, dict(opened), dict(now))  # type: ignore[arg-type]
        try:
            return [tuple(row) for row in self._session.sql(text).collect()]
        except Exception as error:  # Spark, Java and the bridge between have no common kind
            raise EngineFailed(NAME, type(error).__name__) from None

    def close(self) -> None:
        """Let the view go. A session that was started lives as long as the process: others may share it."""
        try:
            self._session.catalog.dropTempView(VIEW)
        except Exception as error:  # a server that is gone has dropped it by itself
            del error

    def _view(self) -> tuple[tuple[str, str], ...]:
        """See the source as it is now: names and types of its columns."""
        source, session = self._source, self._session
        try:
            if source.table is not None:
                name = ".".join(_quoted(part) for part in name_parts(source.table))
                session.sql(f"REFRESH TABLE {name}")
                frame = session.sql(f"SELECT * FROM {name}")  # noqa: S608 - quoted, and the owner's own
            else:
                frame = session.read.parquet(source.path)
            frame.createOrReplaceTempView(VIEW)
            return tuple((field.name, field.dataType.simpleString()) for field in frame.schema)
        except Exception as error:  # Spark, Java and the bridge between have no common kind
            raise EngineFailed(
                NAME,
                type(error).__name__,
                expected="a table or Parquet files that open",
                remedy="Check the name. A temporary view belongs to one session: save it as a table, or use "
                "createOrReplaceGlobalTempView and the name global_temp.NAME.",
            ) from None

    def _ibis_types(self) -> dict[str, Any]:
        kinds = _extras.require("ibis.expr.datatypes", extra="query")
        types: dict[str, Any] = {}
        for field in self._session.table(VIEW).schema:
            if field.dataType.simpleString() == "timestamp":
                # an instant, which Ibis would take for a reading of the clock
                types[field.name] = kinds.Timestamp(timezone="UTC")
                continue
            try:
                types[field.name] = self._types.to_ibis(field.dataType)
            except Exception:  # types that Ibis does not know may be counted, and no more
                types[field.name] = kinds.unknown
        return types


def _session(wanted: str) -> Any:
    """A session of our own, over the process's context or one that is started for it."""
    sql = _extras.require("pyspark.sql", extra="spark")
    found = sql.SparkSession.getActiveSession()
    if found is None and wanted == ACTIVE:
        raise InvalidInput(
            "spark",
            expected="a Spark session in this process",
            got="none",
            remedy='Make one with SparkSession.builder first, or name a master: spark = "local[2]".',
        )
    if found is None:
        found = _started(sql, wanted)
    try:
        own = found.newSession()
        for name, value in SETTINGS.items():
            own.conf.set(name, value)
    except Exception as error:  # Spark, Java and the bridge between have no common kind
        raise EngineFailed(NAME, type(error).__name__, expected="a session") from None
    return own


def _started(sql: Any, master: str) -> Any:
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and os.path.exists(f"{home}/bin/java")):
        raise EngineFailed(
            NAME,
            "no Java",
            expected="Java 17 or later on the PATH or under JAVA_HOME",
            remedy="Install a Java runtime, for example: apt-get install default-jre-headless",
        )
    builder = sql.SparkSession.builder.master(master).appName("brdp")
    if master.startswith("local"):
        builder = (
            builder.config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            # 200 tasks for each step are meant for clusters
            .config("spark.sql.shuffle.partitions", str(2 * (os.cpu_count() or 1)))
        )
    try:
        return builder.getOrCreate()
    except Exception as error:  # Spark, Java and the bridge between have no common kind
        raise EngineFailed(
            NAME,
            type(error).__name__,
            expected="a session that starts",
            remedy="Look at what Java wrote to standard error; Spark needs Java 17 or later.",
        ) from None


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
