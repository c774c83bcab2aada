"""Groups found in the data: counted by units in every engine, and no unit moves more of them than declared."""

from __future__ import annotations

import collections
import random
from dataclasses import replace
from fractions import Fraction

import pyarrow
import pytest

from brdp.catalog import Budget, Catalog, Clip, Column, ColumnUnit, Relation, RowUnit, Table
from brdp.curator import Curator
from brdp.data import BoundingKey, FrameSource, groups_changed, private_groups
from brdp.errors import InvalidInput
from brdp.ledger import open_ledger
from brdp.privacy.partition import PartitionSelection
from brdp.query import parse_condition
from tests.data.twin import digest
from tests.engines.places import in_duckdb, opened

KEY = BoundingKey(b"0123456789abcdef")
TABLE = Table(
    name="t", source=FrameSource(None), unit=ColumnUnit("u"), rows_per_unit=100, groups_per_unit=3
)


def rows_of(rng, people=40):
    return [
        {
            "u": None if rng.random() < 0.05 else rng.randrange(people),
            "g": rng.choice(["a", "b", "É", "", None, f"x{rng.randrange(12)}"]),
            "n": rng.choice([1, -2, None]),
        }
        for _ in range(300)
    ]


def counted(place, rows, columns, table=TABLE, where=None):
    kinds = {"u": pyarrow.int64(), "g": pyarrow.string(), "n": pyarrow.int64()}
    frame = pyarrow.table(
        {name: pyarrow.array([row[name] for row in rows], kind) for name, kind in kinds.items()}
    )
    with opened(place, frame) as engine:
        return dict(private_groups(columns, where=where, table=table, engine=engine, key=KEY))


def twin(rows, columns, limit):
    reached = collections.defaultdict(set)
    for row in rows:
        group = tuple(row[name] for name in columns)
        if row["u"] is not None and None not in group:
            reached[row["u"]].add(group)
    found = collections.Counter()
    for unit, groups in reached.items():
        ranked = sorted(
            groups, key=lambda group, unit=unit: (digest(KEY.secret, "group", unit, *group), group)
        )
        found.update(ranked[:limit])
    return dict(found)


@pytest.mark.parametrize("columns", [["g"], ["g", "n"]])
def test_counts_equal_the_twin(place, columns):
    rows = rows_of(random.Random(5))
    expected = twin(rows, columns, 3)
    assert counted(place, rows, columns) == expected
    assert len(expected) > 8
    if place is in_duckdb:
        # control: another limit gives other counts
        assert counted(place, rows, columns) != twin(rows, columns, 2)
        chosen = counted(place, rows, columns, where=parse_condition("n = 1"))
        assert chosen == twin([row for row in rows if row["n"] == 1], columns, 3)


def test_rows_as_units():
    rows = rows_of(random.Random(6))
    expected = collections.Counter((row["g"],) for row in rows if row["g"] is not None)
    table = Table(name="t", source=FrameSource(None), unit=RowUnit())
    assert counted(in_duckdb, rows, ["g"], table) == expected


@pytest.mark.parametrize("relation", list(Relation))
def test_no_unit_changes_more_groups_than_declared(relation):
    rng = random.Random(7)
    table = replace(TABLE, relation=relation)
    most = 0
    for _ in range(20):
        rows = rows_of(rng, people=8)
        other = [row for row in rows if row["u"] != 3]
        if relation is Relation.REPLACE:
            other += [{"u": 99, "g": f"new{index}", "n": 1} for index in range(9)]
        before, after = (counted(in_duckdb, each, ["g"], table) for each in (rows, other))
        moved = [abs(before.get(group, 0) - after.get(group, 0)) for group in {*before, *after}]
        assert max(moved) <= 1
        assert sum(moved) <= groups_changed(table)
        most = max(most, sum(moved))
    assert most > groups_changed(table) / 2


def chance_of_being_seen(table, selection):
    """The chance (at most: the sum over groups) that a unit alone in forty groups has one of them named."""
    rows = [{"u": 1, "g": f"only {index}", "n": 1} for index in range(40)]
    found = counted(in_duckdb, rows, ["g"], table)
    return sum((selection.probability(units=units) for units in found.values()), Fraction(0))


def test_a_unit_in_many_groups_is_seen_at_most_with_delta():
    selection = PartitionSelection(epsilon=1.0, delta=1e-5, groups=groups_changed(TABLE))
    assert 0 < chance_of_being_seen(TABLE, selection) <= Fraction(selection.delta)
    # control: without the limit on groups the same law breaks the promise
    unlimited = replace(TABLE, groups_per_unit=40)
    assert chance_of_being_seen(unlimited, selection) > Fraction(selection.delta)


def test_named_groups():
    selection = PartitionSelection(epsilon=1.0, delta=1e-5, groups=groups_changed(TABLE))
    enough = selection.units_for(probability=1 - 1e-12)
    rows = [{"u": unit, "g": "large", "n": 1} for unit in range(2 * enough)] + [
        {"u": 1, "g": "small", "n": 1}
    ]
    frame = pyarrow.table({name: [row[name] for row in rows] for name in ("u", "g", "n")})
    with opened(in_duckdb, frame) as engine:
        groups = private_groups(["g"], table=TABLE, engine=engine, key=KEY)
    # the small one is seen once in 300,000 runs
    assert groups.named(selection) == (("large",),)
    assert "small" not in repr(groups)
    # bits of our own: zeros name every group, in an order of their keys
    assert groups.named(selection, random_bits=lambda bits: 0) == (("large",), ("small",))
    assert groups.named(selection, random_bits=lambda bits: 2**bits - 1) in ((), (("large",),))


ODD = [
    "A",
    "a",
    "a ",
    " a",
    "É",
    "e\u0301",
    "é",
    "",
    "aa",
    "z",
    "'; --",
    "\\",
    "\U0001f600",
    "NULL",
    "\u200b",
]


def test_a_question_about_groups_that_nobody_listed(place):
    """Through the curator, in every engine: keys come back letter for letter, what is too small does not."""
    enough = 120
    words = [word for word in ODD for _ in range(enough)]
    columns = {
        "u": [*range(len(words)), *range(len(words), len(words) + 40), None, None],
        "g": [*words, *(f"secret {index}" for index in range(39)), None, "secret 0", "A"],
        "v": [1] * (len(words) + 42),
    }
    source = place(pyarrow.table(columns))
    table = Table(
        name="t",
        source=source,
        unit=ColumnUnit("u"),
        columns=(Column("v", clip=Clip(Fraction(0), Fraction(1), integer=True)),),
        budget=Budget(epsilon=100.0, delta=1e-3),
    )
    asked = (
        "SELECT g, COUNT(*) AS n, SUM(v) AS s FROM t WHERE v > 0 GROUP BY g GROUPS_OF 60 EPSILON 12"
    )
    with Curator(Catalog((table,), origin="a test"), open_ledger(":memory:")) as curator:
        answer = curator.ask(asked)
        # a group of 120 is missed less than once in 10^9 answers, a secret is seen once in 25,000
        assert [row.key["g"] for row in answer.rows] == sorted(ODD)
        for row in answer.rows:
            assert abs(row.cells["n"].value - enough) < 20
            assert abs(row.cells["s"].value - enough) < 20
        assert "secret" not in str(answer)
        assert curator.ask(asked).replayed
    numbers = pyarrow.table({"u": list(range(400)), "g": [5, -(2**63) + 1] * 200, "v": [1] * 400})
    table = replace(table, source=place(numbers))
    with Curator(Catalog((table,), origin="a test"), open_ledger(":memory:")) as curator:
        assert [row.key["g"] for row in curator.ask(asked).rows] == [-(2**63) + 1, 5]


def test_what_is_refused():
    with opened(in_duckdb, pyarrow.table({"u": [1], "g": ["a"], "x": [0.5]})) as engine:
        for columns in ([], ["nothing"], ["x"]):
            with pytest.raises(InvalidInput):
                private_groups(columns, table=TABLE, engine=engine, key=KEY)
