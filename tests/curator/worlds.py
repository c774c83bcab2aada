"""Small tables with their catalogs, and engines that watch or fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from brdp.catalog import Catalog, Schema, parse_catalog
from brdp.curator import Curator
from brdp.data import open_source
from brdp.data.engine import Engine, EngineFailed
from brdp.ledger import open_ledger

ROWS = [
    ("a", index, index % 50, "x" if index % 3 else "y", round(index % 10 + 0.37, 2))
    for index in range(600)
]
CONFIG = """
[tables.people]
source = "people.csv"
version = "{version}"
{unit}
relation = "{relation}"
rows_at_least = 150
[tables.people.budget]
epsilon = {epsilon}
delta = {delta}
[tables.people.columns.colour]
categories = ["x", "y", "z"]
[tables.people.columns.age]
clip = [0, 49]
integer = true
bins = [0, 10, 30, 50]
[tables.people.columns.score]
clip = [0.0, 10.0]
"""


def catalog(
    folder: Path,
    *,
    epsilon: float = 30.0,
    delta: float = 1e-6,
    version: str = "1",
    per_user: bool = False,
    relation: str = "add_remove",
) -> Catalog:
    lines = ["kind,user,age,colour,score"]
    lines += [f"{k},{user // 3},{age},{colour},{score}" for k, user, age, colour, score in ROWS]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    unit = 'unit = "row"'
    if per_user:
        unit = 'unit = { column = "user" }\nrows_per_unit = 3\ngroups_per_unit = 2'
    text = CONFIG.format(
        version=version, unit=unit, epsilon=epsilon, delta=delta, relation=relation
    )
    return parse_catalog(text, folder=folder)


class Watched(Engine):
    """An engine that calls back whenever rows are about to be read."""

    def __init__(self, inner: Engine, before_reading: Callable[[], None]) -> None:
        self._inner = inner
        self._before_reading = before_reading

    @property
    def table(self) -> Any:
        return self._inner.table

    @property
    def schema(self) -> Schema:
        return self._inner.schema

    def sql(self, expression: Any) -> str:
        return self._inner.sql(expression)

    def rows(self, expression: Any) -> list[tuple[Any, ...]]:
        self._before_reading()
        return self._inner.rows(expression)

    def close(self) -> None:
        self._inner.close()


def watched(before_reading: Callable[[], None]):
    return lambda source: Watched(open_source(source), before_reading)


def failing() -> None:
    raise EngineFailed("DuckDB", "OutOfMemoryException")


def curator_at(folder: Path, before_reading: Callable[[], None] | None = None, **kwargs) -> Curator:
    opener = open_source if before_reading is None else watched(before_reading)
    return Curator(catalog(folder, **kwargs), open_ledger(folder / "ledger.sqlite"), opener=opener)
