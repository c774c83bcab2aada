"""DuckDB in the process: for files, and for frames in memory."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from typing import Any, final

from brdp import _extras
from brdp.catalog.schema import Schema
from brdp.data.engine import Engine, EngineFailed
from brdp.data.kinds import schema_of

# see brdp.data.values.double_bits
DOUBLE_BITS = (
    "CREATE MACRO brdp_double_bits(value) AS "
    "lower(lpad(hex(CAST(CAST(CAST(value AS DOUBLE) AS BIT) AS BIGINT)), 16, '0'))"
)
# see brdp.data.bounding.md5_order: the low half of md5_number is the first half of the digest, its last byte first
FIRST_HALF = "CAST(md5_number(text) & CAST(18446744073709551615 AS UHUGEINT) AS UBIGINT)"


def _swapped(name: str, bits: int) -> str:
    """A macro that exchanges neighbouring fields of so many bits."""
    low = sum(((1 << bits) - 1) << start for start in range(0, 64, 2 * bits))
    low_fields = f"CAST({low} AS UBIGINT)"
    return f"CREATE MACRO {name}(word) AS ((word & {low_fields}) << {bits}) | ((word >> {bits}) & {low_fields})"


MD5_ORDER = (
    *(_swapped(f"brdp_swap_{bits}", bits) for bits in (8, 16, 32)),
    f"CREATE MACRO brdp_md5_order(text) AS brdp_swap_32(brdp_swap_16(brdp_swap_8({FIRST_HALF})))",
)
SETUP = (
    "SET GLOBAL TimeZone = 'UTC'",  # as in every other engine, wherever this machine stands; for all cursors
    DOUBLE_BITS,
    *MD5_ORDER,
)
# Turns "the first k rows of a unit" into a heap for each unit, which must fit in memory and takes longer where units
# have few rows. A sort needs neither.
HEAPS = "top_n_window_elimination"


@final
class DuckDBEngine(Engine):
    """One in-memory DuckDB with one view of the table in it."""

    NAME = "brdp_table"

    def __init__(self, select: str, *, frame: object = None) -> None:
        """Open a view of what `select` (written by sources.py alone) reads; `frame` is its
        brdp_frame.
        """
        ibis = _extras.require("ibis", extra="query")
        duckdb = _extras.require("duckdb", extra="query")
        # what does not fit in memory is written out: to a folder of our own, gone when we are
        self._spill = tempfile.mkdtemp(prefix="brdp-")
        self._clean = weakref.finalize(self, shutil.rmtree, self._spill, ignore_errors=True)
        try:
            connection = duckdb.connect(
                config={
                    "temp_directory": self._spill,
                    "autoinstall_known_extensions": "false",
                    "autoload_known_extensions": "false",
                }
            )
            for statement in SETUP:
                connection.execute(statement)
            if (HEAPS,) in connection.execute("SELECT name FROM duckdb_optimizers()").fetchall():
                connection.execute(f"SET GLOBAL disabled_optimizers = '{HEAPS}'")
            if frame is not None:
                connection.register("brdp_frame", frame)
            connection.execute(f"CREATE VIEW {self.NAME} AS {select}")
            self._backend: Any = ibis.duckdb.from_connection(connection)
            self._connection: Any = connection
            self._table = self._backend.table(self.NAME)
        except duckdb.Error as error:
            self._clean()
            raise EngineFailed(
                "DuckDB",
                type(error).__name__,
                expected="a table that opens",
                remedy="Convert columns of types that it has not, such as half floats and decimals of more "
                "than 38 digits.",
            ) from None
        self._frame = frame
        self._error: type[Exception] = duckdb.Error

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
        return str(self._backend.compile(expression))

    def rows(self, expression: Any) -> list[tuple[Any, ...]]:
        """Run an expression on a cursor of its own, so that threads may share the engine."""
        text = self.sql(expression)
        try:
            with self._connection.cursor() as cursor:
                if self._frame is not None:  # a registered frame belongs to one cursor
                    cursor.register("brdp_frame", self._frame)
                found: list[tuple[Any, ...]] = cursor.execute(text).fetchall()
        except self._error as error:
            raise EngineFailed("DuckDB", type(error).__name__) from None
        return found

    def close(self) -> None:
        """Close the database and remove what it spilled."""
        self._connection.close()
        self._clean()
