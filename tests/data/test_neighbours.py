"""No unit moves the totals by more than query/sensitivity.py declares, in any of its norms.

Random small tables, and for each a neighbour: one unit less, or (where the relation says so) one
unit exchanged for another. The control switches the bounding off and must break the bound.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

from brdp.catalog import ColumnUnit, Relation, Table
from brdp.query import Query, sensitivity, totals_of_query
from tests.data.worlds import World, rows_of, world

WORLDS, TABLES = 40, 25  # 1,000 pairs of neighbours


def neighbour(one: World, rng: random.Random) -> World:
    """In every small table one unit is taken away and, under REPLACE, another put in its place."""
    rows = list(one.rows)
    people = isinstance(one.table.unit, ColumnUnit)
    for table_id in range(TABLES):
        own = [row for row in rows if row["table_id"] == table_id and row["person"] is not None]
        if not own:
            continue
        victim = rng.choice(own)
        rows = [
            row
            for row in rows
            if row is not victim
            and not (people and row["table_id"] == table_id and row["person"] == victim["person"])
        ]
        if one.table.relation is Relation.REPLACE:
            rows += rows_of(rng, table_id, f"{table_id}/new", rng.choice([1, 12]) if people else 1)
    rng.shuffle(rows)
    return one.with_rows(rows)


def alone(query: Query) -> Query:
    """The query as asked of one small table: the table id is ours and no group of it."""
    return replace(
        query, group_by=tuple(group for group in query.group_by if group.column != "table_id")
    )


def moves(one: World, other: World, compiled: Table):
    """(total, moves of the cells of one small table) for every pair of neighbours."""
    first, second = one.totals(compiled), other.totals(compiled)
    for total in totals_of_query(one.resolved, one.table):
        by_table: dict[int, list[int]] = {}
        for key, left, right in zip(first.keys, first.of(total), second.of(total), strict=True):
            by_table.setdefault(key[0], []).extend(
                abs(a - b) for a, b in zip(left, right, strict=True)
            )
        for cells in by_table.values():
            yield total, cells


def exceeded(seed: int, *, bounding: bool = True) -> tuple[int, int, int, int]:
    """How many pairs exceed the largest move, the number of cells, the sum; and how many attain the first."""
    rng = random.Random(seed + 1000)
    one = world(seed, TABLES)
    compiled = one.table
    if not bounding and isinstance(one.table.unit, ColumnUnit):
        compiled = replace(one.table, rows_per_unit=10**6, groups_per_unit=10**6)
    largest = cells_moved = summed = attained = 0
    for total, cells in moves(one, neighbour(one, rng), compiled):
        declared = sensitivity(total, query=alone(one.resolved), table=one.table)
        largest += max(cells) > declared.steps
        cells_moved += sum(cell > 0 for cell in cells) > declared.cells
        summed += sum(cells) > declared.total_steps
        attained += max(cells) == declared.steps
    return largest, cells_moved, summed, attained


@pytest.mark.parametrize("seed", range(WORLDS))
def test_no_unit_moves_more_than_declared(seed):
    assert exceeded(seed)[:3] == (0, 0, 0)


def test_the_declared_moves_are_attained():
    # a sensitivity far too large would pass the test above and waste the budget
    assert sum(exceeded(seed)[3] for seed in range(WORLDS)) > 100


def test_control_without_bounding_every_norm_is_exceeded():
    found = [exceeded(seed, bounding=False) for seed in range(WORLDS)]
    largest, cells, summed = (sum(column) for column in list(zip(*found, strict=True))[:3])
    assert largest > 20
    assert cells > 20
    assert summed > 20
