"""A Spark session of our own, beside the user's: with settings that hold for every engine, and no word of
Spark's about the data.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from brdp import _extras
from brdp.data.engine import EngineFailed
from brdp.errors import InvalidInput

NAME = "Spark"
ACTIVE = "active"
# Settings that change what a value or a text means, as all engines have them. They belong to a session
# of our own, so the user's keeps its own.
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.caseSensitive": "false",
    # else ${spark.some.password} in a text of an analyst's becomes the value of that setting
    "spark.sql.variable.substitute": "false",
    # else one date before 1900 in a file of Spark 2's makes a question fail (Spark 3.5)
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
}
# pyspark 4 writes what went wrong, values included, to standard error through these
LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_asking = threading.local()


def own_session(wanted: str) -> Any:
    """A session of our own, over the process's context or one that is started for it."""
    sql = _extras.require("pyspark.sql", extra="spark")
    _hush()
    with spark_errors(expected="a session"):
        found = sql.SparkSession.getActiveSession()
        context = _extras.require("pyspark", extra="spark").SparkContext._active_spark_context
        if found is None and context is not None:  # a session is active in one thread only
            found = sql.SparkSession(context)
    if found is None and wanted == ACTIVE:
        raise InvalidInput(
            "spark",
            expected="a Spark session in this process",
            got="none",
            remedy='Make one with SparkSession.builder first, or name a master: spark = "local[2]".',
        )
    if found is None:
        found = _started(sql, wanted)
    with spark_errors(expected="a session"):
        own = found.newSession()
        for name, value in SETTINGS.items():
            own.conf.set(name, value)
    return own


def is_stopped(session: Any) -> bool:
    """Whether the user stopped the context below a session: another may have taken its place."""
    return getattr(session.sparkContext, "_jsc", None) is None


@contextmanager
def spark_errors(*, expected: str = "totals", remedy: str | None = None) -> Iterator[None]:
    """Turn whatever Spark, Java and the bridge between raise (they have no common kind) into
    EngineFailed, and keep their words from the process's logs.
    """
    _asking.now = True
    try:
        yield
    except Exception as error:
        kind = type(error).__name__
        if isinstance(error, OSError) or kind in ("Py4JNetworkError", "Py4JError"):
            kind, remedy = "no Spark that answers", _GONE
        more = {} if remedy is None else {"remedy": remedy}
        raise EngineFailed(NAME, kind, expected=expected, **more) from None
    finally:
        _asking.now = False


_GONE = (
    "Its Java process or its context has ended. Start this process (or its Spark session) again; what was "
    "charged stays charged, and asking again completes it."
)


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
            # its log would go to our own standard error, and may quote values
            .config("spark.log.level", "OFF")
            .config("spark.ui.showConsoleProgress", "false")
            # 200 tasks for each step are meant for clusters
            .config("spark.sql.shuffle.partitions", str(2 * (os.cpu_count() or 1)))
        )
    with spark_errors(
        expected="a session that starts",
        remedy="Look at what Java wrote to standard error; Spark needs Java 17 or later.",
    ):
        return builder.getOrCreate()


def _hush() -> None:
    """Keep pyspark's loggers silent in threads of ours, and only while they ask."""
    if importlib.util.find_spec("pyspark.logger") is None:
        return  # pyspark 3.5 has none
    logger = _extras.require("pyspark.logger", extra="spark").PySparkLogger
    for name in LOGGERS:
        found = logger.getLogger(name)
        if _not_ours not in found.filters:
            found.addFilter(_not_ours)


def _not_ours(record: logging.LogRecord) -> bool:
    return not getattr(_asking, "now", False)
