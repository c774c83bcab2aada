"""How each kind of source is opened. A new kind is one more function registered here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import final

from brdp.catalog.schema import PARQUET, csv_header, files_of, parquet_columns, quoted
from brdp.catalog.source import CSVSource, ParquetSource, PostgresSource, Source, SparkSource
from brdp.data.duckdb_engine import DuckDBEngine
from brdp.data.engine import Engine
from brdp.data.frames import registrable
from brdp.data.postgres_engine import PostgresEngine
from brdp.data.spark_engine import SparkEngine
from brdp.errors import InvalidInput


@final
@dataclass(frozen=True, eq=False, repr=False)
class FrameSource(Source):
    """A pandas, Polars or Arrow frame in memory. Its repr does not show the frame: errors may carry
    it.
    """

    frame: object
    label: str = "frame"

    def __repr__(self) -> str:
        return f"FrameSource({self.label!r})"

    def description(self) -> str:
        """The label it was given."""
        return f"frame {self.label}"


@singledispatch
def open_source(source: Source) -> Engine:
    """An engine that holds the source's table. Reads headers and metadata, no rows."""
    raise InvalidInput(
        "source",
        expected="Parquet or CSV files, PostgreSQL, Spark, or a frame",
        got=type(source).__name__,
        remedy="Other sources are not there yet.",
    )


@open_source.register
def _parquet(source: ParquetSource) -> Engine:
    parquet_columns(source)  # refuses files of several layouts
    files = ", ".join(map(quoted, files_of(source.paths)))
    return DuckDBEngine(f"SELECT * FROM read_parquet([{files}], {PARQUET})")  # noqa: S608 - escaped, and the owner's own


@open_source.register
def _csv(source: CSVSource) -> Engine:
    # Nothing is sniffed: a type, delimiter or quote guessed from the rows could differ between
    # neighbours. Every column is text; a line that cannot be read is left out. DuckDB's strict mode would
    # fail at one carriage return among line feeds, and so at one value.
    columns = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in csv_header(source))
    files = ", ".join(map(quoted, files_of(source.paths)))
    options = (
        f"columns = {{{columns}}}, delim = {quoted(source.delimiter)}, quote = '\"', escape = '\"', header = true, "
        "nullstr = '', auto_detect = false, ignore_errors = true, null_padding = false, strict_mode = false"
    )
    return DuckDBEngine(f"SELECT * FROM read_csv([{files}], {options})")  # noqa: S608 - escaped, and the owner's own


@open_source.register
def _frame(source: FrameSource) -> Engine:
    return DuckDBEngine("SELECT * FROM brdp_frame", frame=registrable(source.frame))


@open_source.register
def _postgres(source: PostgresSource) -> Engine:
    return PostgresEngine(source)


@open_source.register
def _spark(source: SparkSource) -> Engine:
    return SparkEngine(source)
