"""A check for the owner, when a table is registered: that every row names its unit."""

from __future__ import annotations

from brdp.catalog.table import Table
from brdp.catalog.unit import ColumnUnit
from brdp.data.engine import Engine
from brdp.errors import InvalidInput


def require_named_units(table: Table, engine: Engine) -> None:
    """Refuse a table whose unit column holds a NULL.

    Reads data, and its answer tells something about them: it is for the owner, at registration,
    never on the way of an analyst's query. Queries leave out rows without a unit, in silence.
    """
    if not isinstance(table.unit, ColumnUnit):
        return
    name = table.unit.column
    source = engine.table
    if name not in source.columns:
        raise InvalidInput("unit", expected="one of the table's columns", got=name)
    nameless = source.filter(source[name].isnull()).limit(1).count()
    ((found,),) = engine.rows(nameless.as_table())
    if found:
        raise InvalidInput(
            f"unit column {name} of {table.name}",
            expected="a unit in every row",
            got="NULL in some",
            remedy="Give those rows a unit or leave them out of the table: "
            "privacy cannot be promised to a row that belongs to nobody.",
        )
