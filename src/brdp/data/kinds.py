"""The kinds of an Ibis table's columns."""

from __future__ import annotations

from typing import Any

from brdp.catalog.schema import Kind, Schema


def schema_of(table: Any) -> Schema:
    """Names and kinds, from the schema alone."""
    return {name: kind_of(dtype) for name, dtype in table.schema().items()}


def kind_of(dtype: Any) -> Kind:
    """The kind of an Ibis data type."""
    tests = (
        (dtype.is_boolean(), Kind.BOOLEAN),
        (dtype.is_integer(), Kind.INTEGER),
        (dtype.is_floating() or dtype.is_decimal(), Kind.REAL),
        (dtype.is_string(), Kind.TEXT),
        (dtype.is_timestamp(), Kind.TIMESTAMP),
        (dtype.is_date(), Kind.DATE),
    )
    return next((kind for holds, kind in tests if holds), Kind.OTHER)
