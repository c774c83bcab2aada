"""300 random tables, in 15 worlds of 20 told apart by a table id: the same integers in every engine and in
the naive twin.

Nothing here is left to chance but the choice of cases: the seeds are fixed, and equality is exact.
"""

from __future__ import annotations

import pyarrow
import pytest

from brdp.data import exact_totals
from brdp.query import totals_of_query
from tests.data.twin import as_text, twin
from tests.data.worlds import TYPES, World, world
from tests.engines.places import opened

WORLDS, TABLES = 15, 20


def totals_in(place, one: World):
    columns = {
        name: pyarrow.array([row[name] for row in one.rows], type=kind, from_pandas=False)
        for name, kind in TYPES.items()
    }
    engine = opened(place, pyarrow.table(columns))
    try:
        return exact_totals(one.query, table=one.table, engine=engine, key=one.key)
    finally:
        engine.close()


def differences(place, one: World, expected) -> int:
    computed = totals_in(place, one)
    found = 0
    for total in totals_of_query(one.resolved, one.table):
        for key, cell in zip(computed.keys, computed.of(total), strict=True):
            found += cell != expected[total].get(tuple(map(as_text, key)), (0,) * len(cell))
    return found


@pytest.mark.parametrize("seed", range(WORLDS))
def test_every_engine_equals_the_twin(place, seed):
    # the first world from here on whose WHERE some row meets
    for number in range(1000 + 100 * seed, 1100 + 100 * seed):
        one = world(number, TABLES)
        expected = twin(one.rows, one.resolved, one.table, one.key.secret)
        if any(any(cell) for cells in expected.values() for cell in cells.values()):
            break
    else:
        pytest.fail("no world with rows that count")
    assert differences(place, one, expected) == 0


def test_control_another_bounding_is_noticed(place):
    # worlds in which units have more rows than may stay: another key must keep others of them
    noticed = 0
    for seed in range(WORLDS):
        one = world(1000 + seed, TABLES)
        own, another = (
            twin(one.rows, one.resolved, one.table, secret)
            for secret in (one.key.secret, b"another key entirely")
        )
        if own != another:
            noticed += 1
            assert differences(place, one, another) > 0
        if noticed == 2:
            return
    pytest.fail("no world can tell one key from another")
