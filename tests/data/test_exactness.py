"""The engine's totals equal those of a naive twin, integer for integer, on 1,000 random tables."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

from brdp.query import totals_of_query
from tests.data.twin import as_text, twin
from tests.data.worlds import World, world

WORLDS, TABLES = 50, 20  # 1,000 tables


def differences(world: World) -> list[str]:
    query = world.resolved
    computed = world.totals()
    expected = twin(world.rows, query, world.table, world.key.secret)
    found = []
    for total in totals_of_query(query, world.table):
        for key, cell in zip(computed.keys, computed.of(total), strict=True):
            wanted = expected[total].get(tuple(map(as_text, key)), (0,) * len(cell))
            if cell != wanted:
                found.append(f"{total} at {key}: {cell}, twin {wanted}")
    return found


@settings(max_examples=WORLDS)
@given(seed=st.integers(0, 2**32 - 1))
def test_totals_equal_the_twin(seed):
    assert differences(world(seed, TABLES)) == []


def test_the_worlds_are_not_trivial():
    # every kind of total takes part, most of them with totals that are not 0
    kinds: dict[str, int] = {}
    for seed in range(WORLDS):
        one = world(seed, TABLES)
        computed = one.totals()
        for total in totals_of_query(one.resolved, one.table):
            filled = sum(any(cell) for cell in computed.of(total))
            kinds[type(total).__name__] = kinds.get(type(total).__name__, 0) + filled
    assert set(kinds) == {
        "RowCount",
        "ValueCount",
        "UnitCount",
        "ValueSum",
        "CentredSum",
        "BinCount",
    }
    assert min(kinds.values()) > 50


@pytest.mark.parametrize("change", ["rows", "groups", "off by one", "key"])
def test_control_a_wrong_declaration_is_noticed(change):
    # the comparison must fail in some world when the twin is told something else than the engine
    noticed = 0
    for seed in range(WORLDS):
        one = world(seed, TABLES)
        other = one
        if change == "rows" and one.table.rows_per_unit > 1:
            other = replace(
                one, table=replace(one.table, rows_per_unit=one.table.rows_per_unit - 1)
            )
        if change == "groups" and one.table.group_limit > 1:
            other = replace(
                one, table=replace(one.table, groups_per_unit=one.table.group_limit - 1)
            )
        if change == "key":
            other = replace(one, key=replace(one.key, secret=b"another key entirely"))
        expected = twin(one.rows, other.resolved, other.table, other.key.secret)
        if change == "off by one":
            expected = {
                t: {k: tuple(v + 1 for v in c) for k, c in cells.items()}
                for t, cells in expected.items()
            }
        computed = one.totals()
        for total in totals_of_query(one.resolved, one.table):
            for key, cell in zip(computed.keys, computed.of(total), strict=True):
                noticed += cell != expected[total].get(tuple(map(as_text, key)), (0,) * len(cell))
    assert noticed > 5


@pytest.mark.parametrize("seed", range(0, WORLDS, 5))
def test_the_order_of_rows_does_not_matter(seed):
    one = world(seed, TABLES)
    rows = list(one.rows)
    random.Random(seed).shuffle(rows)
    first, second = one.totals(), one.with_rows(rows).totals()
    for total in totals_of_query(one.resolved, one.table):
        assert first.of(total) == second.of(total)
