"""Random declarations, queries and tables: many small tables in one, told apart by a table id.

The id is one more public group column, and no unit is in two tables. So for everything that is
bounded per unit, each small table behaves as if it were alone, and a thousand cost forty queries.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pyarrow

from brdp.catalog import Clip, Column, ColumnUnit, Relation, RowUnit, Table
from brdp.data import BoundingKey, DuckDBEngine, ExactTotals, FrameSource, exact_totals, open_source
from brdp.query import Count, CountDistinctUnits, Histogram, Item, Mean, Query, Sum, resolve
from brdp.query.condition import And, Comparison, IsIn, IsNull, Not, Operator, Or, between
from brdp.query.model import Group

TYPES = {
    "table_id": pyarrow.int64(),
    "person": pyarrow.string(),
    "event": pyarrow.int64(),
    "colour": pyarrow.string(),
    "flag": pyarrow.bool_(),
    "code": pyarrow.string(),
    "whole": pyarrow.int64(),
    "real": pyarrow.float64(),
    "text": pyarrow.string(),
    "price": pyarrow.decimal128(20, 3),
    "moment": pyarrow.timestamp("us"),
    "vast": pyarrow.decimal128(38, 0),  # whole numbers beyond 64 bits
    "day": pyarrow.date32(),
}
SPECIAL = [
    None,
    float("nan"),
    float("inf"),
    float("-inf"),
    -0.0,
    1e308,
    -1e308,
    5e-324,
    0.5,
    1.5,
    -0.5,
    2.5,
]
MOMENTS = [
    datetime(1, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 500_000),
    datetime(2020, 2, 29, 12),
    datetime(2020, 2, 29, 12, 0, 0, 1),
    datetime(9999, 12, 31, 23, 59, 59, 999_999),
]
PRICES = ["0", "-0.001", "2.125", "99999999999999999.999", "-99999999999999999.999"]
ALIKE = ["é", "e\u0301", "É", "é "]
TEXTS = [
    None, "", "abc", "12", " 7.5 ", "1e3", "-inf", "nan", "1e400", "12,5", "NULL", "5.", "+5", "1e-400", "1_0", "1__0",
    "Infinity", "\uff11\uff12", "\u0661", "\u00a07", "\U0001f600",
]  # fmt: skip
VAST = [0, 5, 10**38 - 1, -(10**38) + 1, 2**64, -(2**63) - 1]
DAYS = [date(1, 1, 1), date(2020, 2, 29), date(9999, 12, 31)]


@dataclass(frozen=True)
class World:
    """A declaration, a query and rows."""

    table: Table
    query: Query
    rows: list[dict]
    key: BoundingKey

    @property
    def engine(self) -> DuckDBEngine:
        columns = {
            name: pyarrow.array([row[name] for row in self.rows], type=kind, from_pandas=False)
            for name, kind in TYPES.items()
        }
        return open_source(FrameSource(pyarrow.table(columns)))

    def totals(self, table: Table | None = None) -> ExactTotals:
        engine = self.engine
        try:
            return exact_totals(self.query, table=table or self.table, engine=engine, key=self.key)
        finally:
            engine.close()

    @property
    def resolved(self) -> Query:
        return resolve(self.query, self.table)

    def with_rows(self, rows: list[dict]) -> World:
        return replace(self, rows=rows)


def table_of(rng: random.Random) -> Table:
    low, high = sorted(rng.sample([-40, -7, 0, 3, 11, 64], 2))
    real = sorted(
        rng.sample(
            [
                Fraction(-5),
                Fraction(-1, 3),
                Fraction(0),
                Fraction("0.7"),
                Fraction(9),
                Fraction(1000),
            ],
            2,
        )
    )
    by_person = rng.random() < 0.8
    return Table(
        name="t",
        source=FrameSource(None),
        unit=ColumnUnit("person") if by_person else RowUnit(),
        rows_per_unit=rng.choice([1, 2, 3, 7]) if by_person else 1,
        groups_per_unit=rng.choice([None, 1, 2, 5]) if by_person else None,
        relation=rng.choice(list(Relation)),
        columns=(
            Column("colour", categories=("red", "green", "it's \"blue\"", "nowhere")),
            Column("flag", categories=(False, True)),
            Column("code", categories=(1, 2, -3)),
            Column("whole", clip=Clip(Fraction(low), Fraction(high), integer=rng.random() < 0.7)),
            Column("real", clip=Clip(*real), bins=(Fraction(-1), Fraction(0), Fraction("0.5"), Fraction(3))),
            Column("text", clip=Clip(Fraction(-3), Fraction(20), integer=rng.random() < 0.5)),
            Column("price", clip=Clip(Fraction(-2), Fraction("7.3"))),
            Column("vast", clip=Clip(Fraction(low), Fraction(high), integer=rng.random() < 0.7)),
        ),
        row_key=rng.choice([(), ("event",), ("event", "code"), ("real", "price"), ("moment", "flag")]),
    )  # fmt: skip


def query_of(rng: random.Random, table: Table, tables: int) -> Query:
    aggregates = [
        Count(), Count("text"), Count("colour"), Count("real"), CountDistinctUnits(),
        Sum("whole"), Sum("real"), Sum("text"), Mean("whole"), Mean("real"), Mean("text", size=50), Sum("flag"),
        Sum("price"), Mean("price"), Count("moment"), Sum("vast"), Mean("vast"), Count("vast"), Count("day"),
        Histogram("real"), Histogram("whole", (Fraction(-10), Fraction(3), Fraction(12))),
    ]  # fmt: skip
    if table.column("flag").clip is None:
        aggregates.remove(Sum("flag"))
    chosen = rng.sample(aggregates, rng.choice([1, 1, 2, 4]))
    if rng.random() < 0.15:
        chosen = [CountDistinctUnits()]
    groups = rng.sample(["colour", "flag", "code"], rng.choice([0, 1, 1, 2]))
    return Query(
        table="t",
        items=tuple(Item(aggregate, f"a{index}") for index, aggregate in enumerate(chosen)),
        where=condition_of(rng, 2) if rng.random() < 0.6 else None,
        group_by=(Group("table_id", tuple(range(tables))), *map(Group, groups)),
        epsilon=Fraction(1),
    )


def condition_of(rng: random.Random, depth: int):
    if depth and rng.random() < 0.6:
        parts = tuple(condition_of(rng, depth - 1) for _ in range(rng.choice([1, 2, 3])))
        return rng.choice([And(parts), Or(parts), Not(parts[0])])
    column = rng.choice(["whole", "real", "text", "price", "vast"])
    value = Fraction(rng.choice(["-7", "0", "0.5", "3", "12", "1e30"]))
    return rng.choice(
        [
            Comparison(column, rng.choice(list(Operator)), value),
            Comparison(
                "colour",
                rng.choice(list(Operator)),
                rng.choice(["red", 'it\'s "blue"', "", "\\' OR 1=1 --"]),
            ),
            Comparison("flag", Operator.EQUAL, rng.random() < 0.5),
            Comparison("moment", rng.choice(list(Operator)), rng.choice(MOMENTS).isoformat(" ")),
            IsNull(
                rng.choice(
                    ["whole", "real", "text", "colour", "flag", "price", "moment", "vast", "day"]
                )
            ),
            Comparison("day", rng.choice(list(Operator)), rng.choice(DAYS).isoformat()),
            IsIn("day", tuple(day.isoformat() for day in rng.sample(DAYS, 2))),
            IsIn(column, (value, Fraction(3), Fraction(5, 2))),
            between(column, Fraction(-7), value),
        ]
    )


def rows_of(rng: random.Random, table_id: int, person: str, count: int) -> list[dict]:
    """Rows of one unit; event numbers, the row key, repeat now and then, against the rules."""
    return [
        {
            "table_id": table_id,
            "person": person,
            "event": rng.choice([rng.randrange(5), rng.randrange(10**6), None]),
            "colour": rng.choice(
                ["red", "red", "Red", "red ", "green", 'it\'s "blue"', "secret", None]
            ),
            "flag": rng.choice([True, False, None]),
            "code": rng.choice(["1", "2", "-3", "01", "x", None]),
            "whole": rng.choice(
                [rng.randrange(-100, 100), rng.choice([0, -(2**63), 2**63 - 1, None])]
            ),
            "real": rng.choice([rng.uniform(-10, 10), rng.choice(SPECIAL)]),
            "price": rng.choice(
                [Decimal(rng.randrange(-5000, 9000)).scaleb(-3), *map(Decimal, PRICES), None]
            ),
            "moment": rng.choice([*MOMENTS, None]),
            "text": rng.choice([str(rng.randrange(-9, 30)), rng.choice(TEXTS)]),
            "vast": rng.choice([None, Decimal(rng.randrange(-50, 80)), Decimal(rng.choice(VAST))]),
            "day": rng.choice([None, rng.choice(DAYS)]),
        }
        for _ in range(count)
    ]


def small_table(rng: random.Random, table_id: int) -> list[dict]:
    rows = []
    for index in range(rng.choice([0, 1, 2, 5])):
        # alike to people, and to engines that fold or trim: each is a unit of its own
        name = f"{table_id}/{index // 4}{ALIKE[index % 4]}"
        person = None if rng.random() < 0.1 else name
        rows += rows_of(rng, table_id, person, rng.choice([1, 2, 4, 12]))
    return rows


def world(seed: int, tables: int) -> World:
    rng = random.Random(seed)
    table = table_of(rng)
    rows = [row for table_id in range(tables) for row in small_table(rng, table_id)]
    rng.shuffle(rows)
    return World(table, query_of(rng, table, tables), rows, BoundingKey(rng.randbytes(16)))
