"""A notebook's curator: one table, a budget that lives as long as the session, nothing to configure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, final

from brdp import _validate
from brdp.catalog import (
    Budget,
    Catalog,
    Clip,
    Column,
    ColumnUnit,
    Key,
    Kind,
    Relation,
    RowUnit,
    Table,
)
from brdp.catalog.exact import exact
from brdp.catalog.load import CSV_ENDINGS, PARQUET_ENDINGS
from brdp.catalog.source import CSVSource, ParquetSource, Source
from brdp.curator.curator import Curator
from brdp.curator.results import Answer, Price
from brdp.data.sources import FrameSource, open_source
from brdp.errors import InvalidInput
from brdp.ledger import BudgetStatus, open_ledger
from brdp.query import Builder, Query
from brdp.query import table as builder_of

Bounds = Mapping[str, Sequence[Any]]


@final
class Session:
    """Questions about one frame or file, under a budget kept in memory.

    The budget ends with the session: use `brdp.open` where what was spent must be remembered.

    Args:
        data: a pandas, Polars or Arrow frame, or a path to Parquet or CSV.
        unit: the column that names whom privacy protects; None: every row by itself.
        epsilon: the budget for everything asked in this session.
        delta: the same; 0 means pure.
        bounds: the range that each summed column is held to: {"age": (0, 100)}.
        categories: public group keys: {"sex": ["Female", "Male"]}.
        rows_per_unit: the most rows of a unit that a question may use.
        groups_per_unit: the most groups of a unit.
        replace: neighbours exchange a unit instead of adding or removing one.
        rows_at_least: a public lower bound on the rows of every group, for the bound of means.
        rows_at_most: a public upper bound, for the bound of sums and counts of a sample.
    """

    def __init__(
        self,
        data: Any,
        *,
        unit: str | None = None,
        epsilon: float,
        delta: float = 0.0,
        bounds: Bounds | None = None,
        categories: Mapping[str, Iterable[Key]] | None = None,
        rows_per_unit: int = 1,
        groups_per_unit: int | None = None,
        replace: bool = False,
        rows_at_least: int | None = None,
        rows_at_most: int | None = None,
        name: str = "data",
    ) -> None:
        source = _source(data)
        bounds = _named("bounds", bounds, '{"age": (0, 100)}')
        categories = _named("categories", categories, '{"sex": ["Female", "Male"]}')
        table = Table(
            name=name,
            source=source,
            unit=RowUnit() if unit is None else ColumnUnit(unit),
            rows_per_unit=rows_per_unit,
            groups_per_unit=groups_per_unit,
            relation=Relation.REPLACE if replace else Relation.ADD_REMOVE,
            columns=_columns(source, bounds, categories),
            rows_at_least=rows_at_least,
            rows_at_most=rows_at_most,
            budget=Budget(
                epsilon=_validate.positive(epsilon=epsilon), delta=_validate.below_one(delta=delta)
            ),
        )
        self._name = name
        self._curator = Curator(Catalog((table,), origin="the session"), open_ledger(":memory:"))
        try:
            # whoever opens a session holds the data, and may know what is wrong with them
            self._curator.register(name)
        except BaseException:
            self._curator.close()
            raise

    def sql(self, text: str) -> Answer:
        """Ask in SQL; the table is called `data`, or by the session's name."""
        return self._curator.ask(text)

    def ask(self, asked: str | Query | Builder) -> Answer:
        """Ask in SQL or with a query built by calls."""
        return self._curator.ask(asked)

    def price(self, asked: str | Query | Builder) -> Price:
        """What a question would cost; reads no data."""
        return self._curator.price(asked)

    def table(self) -> Builder:
        """Start a query by calls: `session.ask(session.table().count(within=20))`."""
        return builder_of(self._name)

    @property
    def budget(self) -> BudgetStatus:
        """What may be spent and what has been."""
        return self._curator.budget(self._name)

    def history(self) -> list[dict[str, Any]]:
        """The charges so far."""
        return self._curator.history()

    def close(self) -> None:
        """End the session."""
        self._curator.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _source(data: Any) -> Source:
    if not isinstance(data, str | Path):
        return FrameSource(data)
    text = str(data)
    if text.lower().endswith(PARQUET_ENDINGS):
        return ParquetSource((text,))
    if text.lower().endswith(CSV_ENDINGS):
        return CSVSource((text,), delimiter="\t" if ".tsv" in text.lower() else ",")
    raise InvalidInput(
        "data", expected="a frame, or a path that ends in .parquet or .csv", got=text
    )


def _named(
    argument: str, columns: Mapping[str, Any] | None, example: str
) -> Mapping[str, Sequence[Any]]:
    """What is declared of columns, as it is meant: each name with several values."""
    remedy = f"For example: {argument}={example}"
    if columns is not None and not isinstance(columns, Mapping):
        raise InvalidInput(
            argument, expected="columns with their values", got=columns, remedy=remedy
        )
    found = {}
    for name, values in (columns or {}).items():
        # the letters of a text are not what was meant
        if not isinstance(name, str) or isinstance(values, str) or not isinstance(values, Iterable):
            raise InvalidInput(
                f"{argument} of {name}", expected="a list of values", got=values, remedy=remedy
            )
        # numpy's numbers as Python's
        found[name] = tuple(values.tolist() if hasattr(values, "tolist") else values)
    return found


def _columns(
    source: Source, bounds: Bounds, categories: Mapping[str, Sequence[Key]]
) -> tuple[Column, ...]:
    found = []
    engine = open_source(source)
    schema = engine.schema
    engine.close()
    for name in dict.fromkeys([*bounds, *categories]):
        clip = None
        if name in bounds:
            if len(bounds[name]) != 2:
                raise InvalidInput(
                    f"bounds of {name}", expected="a pair (low, high)", got=bounds[name]
                )
            low, high = (exact(bound, argument=f"bounds of {name}") for bound in bounds[name])
            # only where the column's type says so: a whole range of values that are not whole loses nothing
            whole = schema.get(name) is Kind.INTEGER and _whole(bounds[name])
            clip = Clip(low, high, integer=whole, argument=f"bounds of {name}")
        found.append(Column(name, clip=clip, categories=tuple(categories.get(name, ()))))
    return tuple(found)


def _whole(pair: Sequence[Any]) -> bool:
    return all(isinstance(bound, int) and not isinstance(bound, bool) for bound in pair)
