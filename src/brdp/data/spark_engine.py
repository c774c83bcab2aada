"""Spark: queries run where its executors run, and only totals per group come back to the driver."""

from __future__ import annotations

from typing import Any, final

from brdp import _extras
from brdp.catalog.schema import Schema
from brdp.catalog.source import SparkSource, name_parts
from brdp.data.engine import Engine, EngineFailed, require_same_schema
from brdp.data.kinds import schema_of
from brdp.data.rewrite import rewritten
from brdp.data.rules_spark import spark_rules
from brdp.data.spark_session import NAME, is_stopped, own_session, spark_errors

VIEW = "brdp_table"
BYTEWISE = "UTF8_BINARY"
# where Spark keeps that a text was declared char(n), and is padded with blanks
DECLARED = "__CHAR_VARCHAR_TYPE_STRING"


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
        self._session = own_session(source.session)
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
        if is_stopped(self._session):
            self._session = own_session(self._source.session)
        opened, now = self._described, self._view()
        if now != opened:
            require_same_schema(NAME, dict(opened), dict(now))  # type: ignore[arg-type]
        with spark_errors():
            return [tuple(row) for row in self._session.sql(text).collect()]

    def close(self) -> None:
        """Let the view go. A session that was started lives as long as the process: others may share it."""
        try:
            with spark_errors():
                self._session.catalog.dropTempView(VIEW)
        except EngineFailed as error:  # a server that is gone has dropped it by itself
            del error

    def _view(self) -> tuple[tuple[str, str], ...]:
        """See the source as it is now: names and types of its columns."""
        source, session = self._source, self._session
        with spark_errors(
            expected="a table or Parquet files that open",
            remedy="Check the name. A temporary view belongs to one session: save it as a table, or use "
            "createOrReplaceGlobalTempView and the name global_temp.NAME.",
        ):
            if source.table is not None:
                name = ".".join(_quoted(part) for part in name_parts(source.table))
                session.sql(f"REFRESH TABLE {name}")
                frame = session.sql(f"SELECT * FROM {name}")  # noqa: S608 - quoted, and the owner's own
            else:
                frame = session.read.parquet(source.path)
            shown = [_bytewise(field) for field in frame.schema]
            if any(" AS " in text for text in shown):
                frame.selectExpr(*shown).createOrReplaceTempView(VIEW)
            else:
                frame.createOrReplaceTempView(VIEW)
            return tuple(
                (field.name, f"{field.dataType.simpleString()} {field.metadata.get(DECLARED, '')}")
                for field in frame.schema
            )

    def _ibis_types(self) -> dict[str, Any]:
        kinds = _extras.require("ibis.expr.datatypes", extra="query")
        types: dict[str, Any] = {}
        with spark_errors():
            fields = self._session.table(VIEW).schema
        for field in fields:
            if field.dataType.simpleString() == "timestamp":
                # an instant, which Ibis would take for a reading of the clock
                types[field.name] = kinds.Timestamp(timezone="UTC")
                continue
            try:
                types[field.name] = self._types.to_ibis(field.dataType)
            except Exception:  # types that Ibis does not know may be counted, and no more
                types[field.name] = kinds.unknown
        return types


def _bytewise(field: Any) -> str:
    """The column, its texts compared byte by byte and not padded, as in every other engine.

    Under a collation two units could be one, and a key could come back that nobody listed.
    """
    name = _quoted(field.name)
    if getattr(field.dataType, "collation", BYTEWISE) != BYTEWISE:  # pyspark 3.5 has no collations
        return f"collate({name}, '{BYTEWISE}') AS {name}"
    if str(field.metadata.get(DECLARED, "")).lower().startswith("char("):
        return f"rtrim({name}) AS {name}"
    return name


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
