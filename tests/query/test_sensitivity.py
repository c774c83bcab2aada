"""Sensitivities worked out by hand. tests/data/test_neighbours.py holds them against tables."""

from __future__ import annotations

from fractions import Fraction

import pytest

pytest.importorskip("sqlglot")

from brdp.catalog import Clip, Column, ColumnUnit, ParquetSource, Relation, RowUnit, Table
from brdp.query import parse, resolve, sensitivity, totals_of_query
from brdp.query.totals import row_rounding_of

COLUMNS = (
    Column(
        "age",
        clip=Clip(Fraction(17), Fraction(90), integer=True),
        bins=(Fraction(0), Fraction(50), Fraction(99)),
    ),
    Column("debt", clip=Clip(Fraction(-3), Fraction(-1), integer=True)),
    Column("share", clip=Clip(Fraction(0), Fraction(1))),
    Column("g", categories=("a", "b", "c", "d")),
)


def moves(sql, **declared):
    table = Table(
        name="t", source=ParquetSource(("t",)), columns=COLUMNS, **{"unit": RowUnit(), **declared}
    )
    query = resolve(parse(f"SELECT {sql} EPSILON 1"), table)
    found = [
        sensitivity(total, query=query, table=table) for total in totals_of_query(query, table)
    ]
    return [(s.steps, s.cells, s.total_steps) for s in found]


PEOPLE = {"unit": ColumnUnit("u"), "rows_per_unit": 5, "groups_per_unit": 2}
REPLACE = {"relation": Relation.REPLACE}


@pytest.mark.parametrize(
    ("sql", "declared", "expected"),
    [
        ("COUNT(*) FROM t", {}, [(1, 1, 1)]),
        ("COUNT(*) FROM t GROUP BY g", {}, [(1, 1, 1)]),
        ("COUNT(*) FROM t GROUP BY g", REPLACE, [(1, 2, 2)]),
        ("COUNT(*) FROM t", REPLACE, [(1, 1, 1)]),
        ("SUM(age) FROM t", {}, [(90, 1, 90)]),
        (
            "SUM(age) FROM t",
            REPLACE,
            [(90, 1, 90)],
        ),  # a row that counts for nothing may become a 90
        ("SUM(debt) FROM t", {}, [(3, 1, 3)]),
        ("SUM(age) FROM t GROUP BY g", PEOPLE, [(450, 2, 450)]),
        ("SUM(age) FROM t GROUP BY g", {**PEOPLE, **REPLACE}, [(450, 4, 900)]),
        ("AVG(age) FROM t", {}, [(73, 1, 73), (1, 1, 1)]),  # half steps: half the range
        ("AVG(age) FROM t", REPLACE, [(146, 1, 146), (1, 1, 1)]),
        ("AVG(age) SIZE 100 FROM t", {}, [(73, 1, 73)]),
        ("COUNT(DISTINCT u) FROM t GROUP BY g", PEOPLE, [(1, 2, 2)]),
        ("COUNT(DISTINCT u) FROM t GROUP BY g", {**PEOPLE, **REPLACE}, [(1, 4, 4)]),
        ("COUNT(DISTINCT u) FROM t", {**PEOPLE, **REPLACE}, [(1, 1, 1)]),
        ("COUNT(*) FROM t GROUP BY g", {**PEOPLE, "groups_per_unit": None}, [(5, 4, 5)]),
        ("COUNT(*) FROM t GROUP BY g", {**PEOPLE, "rows_per_unit": 1}, [(1, 1, 1)]),
        ("HISTOGRAM(age) FROM t", {}, [(1, 1, 1)]),
        ("HISTOGRAM(age) FROM t", REPLACE, [(1, 2, 2)]),
        ("HISTOGRAM(age) FROM t GROUP BY g", PEOPLE, [(5, 4, 5)]),
        ("HISTOGRAM(age) FROM t GROUP BY g", {**PEOPLE, **REPLACE}, [(5, 8, 10)]),
        ("SUM(share) FROM t", {}, [(2**40, 1, 2**40)]),
    ],
)
def test_by_hand(sql, declared, expected):
    assert moves(sql, **declared) == expected


def test_resolutions_and_rounding():
    table = Table(name="t", source=ParquetSource(("t",)), columns=COLUMNS, unit=RowUnit())
    query = resolve(parse("SELECT SUM(share), AVG(share), SUM(age) FROM t EPSILON 1"), table)
    totals = totals_of_query(query, table)
    found = [sensitivity(total, query=query, table=table) for total in totals]
    assert [s.largest_move for s in found] == [1, Fraction(1, 2), 1, 90]
    assert [row_rounding_of(total) for total in totals] == [
        Fraction(1, 2**41),
        Fraction(1, 2**41),
        0,
        0,
    ]


def test_bounds_between_steps_are_rounded_as_the_values_are():
    clip = Clip(Fraction(-1, 3), Fraction("0.7"))
    assert clip.low_steps == round(Fraction(-1, 3) / clip.resolution)
    assert clip.high_steps == round(Fraction("0.7") / clip.resolution)
    assert clip.resolution == Fraction(1, 2**41)
