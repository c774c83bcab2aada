"""Checks for the owner, when a table is registered: that it is what was declared, that it can be read, and that
every row names its unit.
"""

from __future__ import annotations

from brdp.catalog.nearest import did_you_mean
from brdp.catalog.schema import Kind
from brdp.catalog.source import ParquetSource
from brdp.catalog.table import Table
from brdp.catalog.unit import ColumnUnit
from brdp.data.compile import unit_column
from brdp.data.engine import Engine, EngineFailed
from brdp.errors import InvalidInput

NUMBERS = (Kind.INTEGER, Kind.REAL, Kind.TEXT, Kind.BOOLEAN)


def require_declared(table: Table, engine: Engine) -> None:
    """Refuse declarations that the table's schema does not bear out. Reads no rows."""
    schema = engine.schema
    unit = [table.unit.column] if isinstance(table.unit, ColumnUnit) else []
    for name in [*unit, *table.row_key, *(column.name for column in table.columns)]:
        if name not in schema:
            raise InvalidInput(
                f"column {name} of {table.name}",
                expected="a column that the table has",
                got=name,
                remedy=did_you_mean(name, schema),
            )
    for name in unit:
        unit_column(engine.table, name)
    for column in table.columns:
        if column.clip is not None and schema[column.name] not in NUMBERS:
            raise InvalidInput(
                f"clip of {column.name} in {table.name}",
                expected="a column of numbers, or of text that can be read as numbers",
                got=f"a column of {schema[column.name].value}",
            )


def require_named_units(table: Table, engine: Engine) -> None:
    """Refuse a table whose unit column holds a NULL.

    Reads data, and its answer tells something about them: it is for the owner, at registration,
    never on the way of an analyst's query. Queries leave out rows without a unit, in silence.
    """
    if not isinstance(table.unit, ColumnUnit):
        return
    name = table.unit.column
    source = engine.table
    nameless = source.filter(unit_column(source, name).isnull()).limit(1).count()
    ((found,),) = engine.rows(nameless.as_table())
    if found:
        raise InvalidInput(
            f"unit column {name} of {table.name}",
            expected="a unit in every row",
            got="NULL in some",
            remedy="Give those rows a unit or leave them out of the table: "
            "privacy cannot be promised to a row that belongs to nobody.",
        )


def require_readable(table: Table, engine: Engine) -> None:
    """Refuse Parquet files with a value that DuckDB cannot read, at which every question that reads its column
    would fail: text that is not UTF-8, a moment that microseconds cannot hold, a page that is broken.

    Reads data: for the owner, at registration. Other sources are safe: PostgreSQL holds no such text, Spark
    replaces it, a line of a CSV file that has it is left out, and frames are checked when they are opened.
    """
    if not isinstance(table.source, ParquetSource):
        return
    source = engine.table
    # a count would be taken from the file's statistics
    read = {
        f"read_{index}": source[name].length().max()
        if kind is Kind.TEXT
        else source[name].hash().max()
        for index, (name, kind) in enumerate(engine.schema.items())
    }
    try:
        engine.rows(source.aggregate(**read))
    except EngineFailed as failure:
        raise InvalidInput(
            f"source of {table.name}",
            expected="Parquet files that can be read to their end, with text in UTF-8",
            got=failure.kind,
            remedy="The owner can find the place with DuckDB itself: its message quotes the value.",
        ) from None
