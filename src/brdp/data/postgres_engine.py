"""PostgreSQL: queries run inside the server, and only totals per group come back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, final

from brdp import _extras
from brdp.catalog.schema import Schema
from brdp.catalog.source import PostgresSource, name_parts
from brdp.data.engine import Engine, EngineFailed, require_same_schema
from brdp.data.kinds import schema_of
from brdp.data.rewrite import rewritten
from brdp.data.rules_postgres import double_of_numeric, postgres_rules
from brdp.errors import InvalidInput

NAME = "PostgreSQL"
SECONDS_TO_CONNECT = 10
# PostgreSQL's numbers for its types (pg_type.dat), which never change
TYPES = {
    16: "boolean",
    20: "int64",
    21: "int16",
    23: "int32",
    700: "float32",
    701: "float64",
    1082: "date",
    1114: "timestamp(6)",
    1184: "timestamp('UTC', 6)",
    2950: "uuid",
}
TEXTS = (18, 19, 25, 1042, 1043)  # "char", name, text, character, character varying
NUMERIC = 1700
LARGEST_PRECISION = 300  # digits: 10^300 and 10^-300 are doubles
# whatever the server or the role is set to: texts and moments are written as in every other engine
SETTINGS = "SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL standard_conforming_strings = on"


@final
class PostgresEngine(Engine):
    """One table of a database.

    Every query has a connection and a read-only transaction of its own: threads may share the
    engine, and a server that was away and came back needs no care.
    """

    def __init__(self, source: PostgresSource) -> None:
        self._psycopg = _extras.require("psycopg", extra="postgres")
        ibis = _extras.require("ibis", extra="query")
        operations = _extras.require("ibis.expr.operations", extra="query")
        backend = _extras.require("ibis.backends.postgres", extra="query")
        self._source = source
        self._backend: Any = backend.Backend()
        self._backend.register_options()
        with self._transaction() as cursor:
            select, types = self._columns(cursor)
        self._select = select
        self._table: Any = operations.SQLQueryResult(
            query=select, schema=ibis.schema(types), source=self._backend
        ).to_expr()

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
        return str(self._backend.compile(rewritten(expression, postgres_rules())))

    def rows(self, expression: Any) -> list[tuple[Any, ...]]:
        """Run an expression; refuse if the columns changed since the table was opened."""
        text = self.sql(expression)
        ibis = _extras.require("ibis", extra="query")
        with self._transaction() as cursor:
            # reading the columns locks the table against changes of them until the transaction ends
            select, types = self._columns(cursor)
            if select != self._select:
                require_same_schema(
                    NAME, self.schema, schema_of(ibis.table(ibis.schema(types), name="now"))
                )
                raise EngineFailed(
                    NAME,
                    "a column of another type of the same kind",
                    expected="the columns that the table had when it was opened",
                    remedy="Open the table again.",
                )
            found: list[tuple[Any, ...]] = cursor.execute(text).fetchall()
        return found

    def close(self) -> None:
        """Nothing stays open between queries."""

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        psycopg = self._psycopg
        try:
            given = psycopg.conninfo.conninfo_to_dict(self._source.url)
        except psycopg.Error:
            raise InvalidInput(
                "source",
                expected="a URL such as postgresql://reader@host/database",
                got="postgresql://...",  # what follows may hold a password
            ) from None
        defaults = {"connect_timeout": SECONDS_TO_CONNECT, "application_name": "brdp"}
        try:
            connection = psycopg.connect(
                self._source.url,
                client_encoding="UTF8",
                **{name: value for name, value in defaults.items() if name not in given},
            )
        except psycopg.Error as error:
            raise EngineFailed(
                NAME, _refusal(str(error)), expected="a connection", remedy=_REMEDY
            ) from None
        try:
            with connection:
                connection.read_only = True
                with connection.cursor() as cursor:
                    cursor.execute(SETTINGS)
                    yield cursor
                connection.rollback()
        except (psycopg.Error, UnicodeError) as error:
            raise EngineFailed(NAME, type(error).__name__) from None

    def _columns(self, cursor: Any) -> tuple[str, dict[str, Any]]:
        """A SELECT of all columns in types that engines share, and these types."""
        if connection_encoding(cursor) != "UTF8":
            raise InvalidInput(
                "source",
                expected="a database in UTF8, so that a text has the same bytes everywhere",
                got=connection_encoding(cursor),
            )
        place = ".".join(_quoted(part) for part in name_parts(self._source.table))
        try:
            cursor.execute(f"SELECT * FROM {place} LIMIT 0")  # noqa: S608 - quoted, and the owner's own
        except self._psycopg.Error as error:
            raise EngineFailed(
                NAME,
                type(error).__name__,
                expected=f"the table {'.'.join(name_parts(self._source.table))}",
                remedy="Check its name and schema, and that this user may read all of its columns.",
            ) from None
        described = [
            (column.name, column.type_code, _within_doubles(column.precision, column.scale))
            for column in cursor.description
        ]
        cursor.execute(
            "SELECT oid FROM pg_catalog.pg_type WHERE typtype = 'e' AND oid = ANY(%s)",
            [[code for _, code, _ in described]],
        )
        enumerations = {code for (code,) in cursor.fetchall()}
        unknown = _extras.require("ibis.expr.datatypes", extra="query").unknown
        shown: list[str] = []
        types: dict[str, Any] = {}
        for name, code, within_doubles in described:
            column = _quoted(name)
            if code in TEXTS or code in enumerations:
                # bytewise, as in every other engine, whatever the database's language; not padded
                shown.append(f'CAST({column} AS TEXT) COLLATE "C" AS {column}')
                types[name] = "string"
            elif code == NUMERIC:
                double = f"{column}::float8" if within_doubles else double_of_numeric(column)
                shown.append(f"{double} AS {column}")
                types[name] = "float64"
            else:
                shown.append(column)
                types[name] = TYPES.get(code, unknown)
        return f"SELECT {', '.join(shown)} FROM {place}", types  # noqa: S608 - quoted, and the owner's own


def _within_doubles(precision: int | None, scale: int | None) -> bool:
    """Whether no number of such a numeric column is too large or too small for a double.

    A precision may be 1000 digits; a scale may be negative, or beyond the precision.
    """
    return (
        precision is not None and scale is not None and 0 <= scale <= precision <= LARGEST_PRECISION
    )


_REMEDY = "Check the URL and that the server runs. A password may come from the URL, PGPASSWORD or ~/.pgpass."


def _refusal(message: str) -> str:
    """Which kind of failure a message of libpq tells of, without its words: they name users and hosts."""
    if "password" in message or "authentication failed" in message:
        return "a user or password that the server refuses"
    if "timeout" in message:
        return "no answer in time"
    return "no server that answers"


def connection_encoding(cursor: Any) -> str:
    """The encoding in which the server keeps its texts."""
    return str(cursor.connection.info.parameter_status("server_encoding"))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
