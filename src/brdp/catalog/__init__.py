"""What the data owner declares: tables, whom privacy protects, limits and budgets."""

from brdp.catalog.clip import Clip
from brdp.catalog.initial import init_text
from brdp.catalog.load import load_catalog, parse_catalog
from brdp.catalog.schema import Kind, Schema, read_schema
from brdp.catalog.source import CSVSource, ParquetSource, PostgresSource, Source, SparkSource
from brdp.catalog.table import Budget, Catalog, Column, Key, Rule, Table
from brdp.catalog.unit import ColumnUnit, Relation, RowUnit, Unit

__all__ = [
    "Budget",
    "CSVSource",
    "Catalog",
    "Clip",
    "Column",
    "ColumnUnit",
    "Key",
    "Kind",
    "ParquetSource",
    "PostgresSource",
    "Relation",
    "RowUnit",
    "Rule",
    "Schema",
    "Source",
    "SparkSource",
    "Table",
    "Unit",
    "init_text",
    "load_catalog",
    "parse_catalog",
    "read_schema",
]
