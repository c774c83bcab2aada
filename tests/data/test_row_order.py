"""The order in which DuckDB keeps the rows of a unit: the one of the digest's digits, found by sorting."""

import hashlib
import random

import pyarrow
import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

from brdp.catalog import ColumnUnit, Table
from brdp.data import BoundingKey, FrameSource, compile_query, open_source
from brdp.data.bounding import md5_order
from brdp.query import parse

TEXTS = ["", "é", *(f"key/{random.Random(n).random()}" for n in range(500))]


def test_the_order_is_that_of_the_digits():
    with open_source(FrameSource(pyarrow.table({"text": TEXTS}))) as engine:
        found = engine.rows(engine.table.select("text", order=md5_order()(engine.table.text)))
    for text, order in found:
        digits = hashlib.md5(text.encode()).hexdigest()[:16]
        assert order == int(digits, 16)
        assert f"{order:016x}" == digits


def test_the_first_rows_of_a_unit_are_sorted_for():
    """DuckDB would keep a heap for each unit where one column gives the order, with room for all of them at once."""
    frame = pyarrow.table({"u": [unit // 20 for unit in range(2000)]})
    table = Table(name="t", source=FrameSource(frame), unit=ColumnUnit("u"), rows_per_unit=2)
    with open_source(table.source) as engine:
        compiled = compile_query(
            parse("SELECT COUNT(*) FROM t EPSILON 1"),
            table=table,
            source=engine.table,
            key=BoundingKey(bytes(16)),
        )
        sql = engine.sql(compiled.expression)

        def plan(connection: object) -> str:
            cursor = connection.cursor()
            cursor.register("brdp_frame", frame)
            return cursor.execute(f"EXPLAIN {sql}").fetchall()[0][1]

        assert "WINDOW" in plan(engine._connection)
        engine._connection.execute("SET GLOBAL disabled_optimizers = ''")
        control = plan(engine._connection)
        assert "WINDOW" not in control
        assert "arg_min" in control
