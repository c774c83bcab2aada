"""One normal form for equal questions, different ones for different questions."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from fractions import Fraction

import pytest

pytest.importorskip("sqlglot")

from brdp.catalog import Clip, Column, ColumnUnit, ParquetSource, Relation, Table
from brdp.query import normalise, parse, parse_condition, question, resolve
from brdp.query.condition import And, Comparison, IsIn, IsNull, Not, Operator, Or
from tests.data.twin import holds

TABLE = Table(
    name="t",
    source=ParquetSource(("t.parquet",)),
    unit=ColumnUnit("u"),
    rows_per_unit=3,
    columns=(Column("g", categories=("x", "y")), Column("a", clip=Clip(Fraction(0), Fraction(9)))),
)


def digest(text, table=TABLE):
    return question(resolve(parse(text), table), table).digest


SAME = [
    "SELECT g, COUNT(*) AS n WITHIN 20, SUM(a) WITHIN 3 FROM t WHERE b > 1 AND c = 'x' GROUP BY g CONFIDENCE 0.9",
    "select sum(a) within 3.0, count(*) within 2 from t where c = 'x' and not (b <= 1.0) group by g",
    "SELECT COUNT(*) WITHIN 1, SUM(a) WITHIN 1 FROM T WHERE NOT (NOT (c IN ('x', 'x') AND 1 < b)) GROUP BY g",
    "SELECT COUNT(*), SUM(a), COUNT(*) FROM t WHERE (b > 1 AND (c = 'x' AND b > 1)) GROUP BY g EPSILON 2",
]
DIFFERENT = [
    "SELECT COUNT(*), SUM(a) FROM t WHERE b > 1 AND c = 'x' EPSILON 1",
    "SELECT COUNT(*), SUM(a) FROM t WHERE b > 1 AND c = 'x' AND g IN ('x') GROUP BY g EPSILON 1",
    "SELECT COUNT(*), SUM(a) FROM t WHERE b > 1 OR c = 'x' GROUP BY g EPSILON 1",
    "SELECT COUNT(*), SUM(a) FROM t WHERE b >= 1 AND c = 'x' GROUP BY g EPSILON 1",
    "SELECT COUNT(*), SUM(a) FROM t WHERE b > '1' AND c = 'x' GROUP BY g EPSILON 1",
    "SELECT COUNT(*), AVG(a) FROM t WHERE b > 1 AND c = 'x' GROUP BY g EPSILON 1",
    "SELECT COUNT(*), AVG(a) SIZE 5 FROM t WHERE b > 1 AND c = 'x' GROUP BY g EPSILON 1",
    "SELECT COUNT(a), SUM(a) FROM t WHERE b > 1 AND c = 'x' GROUP BY g EPSILON 1",
    "SELECT COUNT(DISTINCT u), SUM(a) FROM t WHERE b > 1 AND c = 'x' GROUP BY g EPSILON 1",
    "SELECT HISTOGRAM(a, 0, 1) FROM t EPSILON 1",
    "SELECT HISTOGRAM(a, 0, 2) FROM t EPSILON 1",
]


def test_equal_questions():
    assert len({digest(text) for text in SAME}) == 1


def test_different_questions():
    digests = [digest(text) for text in [SAME[0], *DIFFERENT]]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize(
    "change",
    [
        {"version": "2"},
        {"rows_per_unit": 4},
        {"groups_per_unit": 2},
        {"relation": Relation.REPLACE},
        {"row_key": ("k",)},
        {"unit": ColumnUnit("v")},
        {
            "columns": (
                Column("g", categories=("x", "y")),
                Column("a", clip=Clip(Fraction(0), Fraction(8))),
            )
        },
        {
            "columns": (
                Column("g", categories=("x", "y", "z")),
                Column("a", clip=Clip(Fraction(0), Fraction(9))),
            )
        },
    ],
)
def test_a_changed_declaration_asks_anew(change):
    assert digest(SAME[0], replace(TABLE, **change)) != digest(SAME[0])


def test_what_does_not_matter_is_left_out():
    moved = replace(TABLE, source=ParquetSource(("elsewhere.parquet",)), rows_at_least=7)
    assert digest(SAME[0], moved) == digest(SAME[0])


def random_condition(rng, depth):
    if depth and rng.random() < 0.7:
        parts = tuple(random_condition(rng, depth - 1) for _ in range(rng.choice([1, 2, 3])))
        return rng.choice([And(parts), Or(parts), Not(parts[0])])
    name = rng.choice("ab")
    return rng.choice(
        [
            Comparison(name, rng.choice(list(Operator)), Fraction(rng.randrange(3))),
            IsIn(name, tuple(Fraction(rng.randrange(3)) for _ in range(rng.choice([1, 2, 3])))),
            IsNull(name),
        ]
    )


def test_normal_forms_mean_the_same():
    rng = random.Random(7)
    rows = [{"a": a, "b": b} for a, b in itertools.product([None, 0, 1, 2], repeat=2)]
    for _ in range(2000):
        condition = random_condition(rng, 4)
        normal = normalise(condition)
        assert [holds(condition, row) for row in rows] == [holds(normal, row) for row in rows]
        assert normalise(normal) == normal
        assert normalise(Not(Not(condition))) == normal


def test_control_negation_matters():
    assert normalise(parse_condition("NOT a = 1")) != normalise(parse_condition("a = 1"))
