"""Frames of every library give the same integers, and no value decides the type of a column."""

from __future__ import annotations

import decimal
from fractions import Fraction

import pytest

pytest.importorskip("pandas")
pytest.importorskip("polars")
pytest.importorskip("ibis")
pytest.importorskip("duckdb")

import pandas
import polars
import pyarrow
import pyarrow.dataset

import brdp
from brdp.catalog import Clip, Column, Kind, RowUnit, Table
from brdp.data import BoundingKey, FrameSource, exact_totals, open_source
from brdp.errors import InvalidInput
from brdp.query import parse, totals_of_query

KEY = BoundingKey(b"0123456789abcdef")
REAL = Clip(Fraction(-1), Fraction(4))
VALUES = {"v": [1.0, 2.5, None]}
FRAMES = {
    "pandas": lambda: pandas.DataFrame(VALUES),
    "nullable": lambda: pandas.DataFrame({"v": pandas.array(VALUES["v"], dtype="Float64")}),
    "polars": lambda: polars.DataFrame(VALUES),
    "lazy": lambda: polars.LazyFrame(VALUES),
    "arrow": lambda: pyarrow.table(VALUES),
    "batch": lambda: pyarrow.RecordBatch.from_pydict(VALUES),
}


def totals(frame) -> tuple[Kind, list[int]]:
    table = Table(
        name="t", source=FrameSource(frame), unit=RowUnit(), columns=(Column("v", clip=REAL),)
    )
    query = parse("SELECT SUM(v), COUNT(v) FROM t EPSILON 1")
    with open_source(table.source) as engine:
        found = exact_totals(query, table=table, engine=engine, key=KEY)
        return engine.schema["v"], [found.of(t)[0][0] for t in totals_of_query(query, table)]


@pytest.mark.parametrize("library", FRAMES)
def test_frames_of_every_library(library: str) -> None:
    kind, found = totals(FRAMES[library]())
    assert kind is Kind.REAL
    assert found == [Fraction(7, 2) / REAL.resolution, 2]


@pytest.mark.parametrize("library", FRAMES)
def test_a_session_asks_frames_of_every_library(library: str) -> None:
    with brdp.Session(FRAMES[library](), epsilon=50.0, bounds={"v": (-1, 4)}) as session:
        answer = session.sql(
            "SELECT SUM(v) AS s WITHIN 4, COUNT(v) AS n WITHIN 1 FROM data EPSILON 20"
        )
        cells = answer.rows[0].cells
        # noise of scales .4 and .1: beyond this in fewer than one of 10^20 runs
        assert cells["s"].value == pytest.approx(3.5, abs=20)
        assert cells["n"].value == pytest.approx(2, abs=5)
        assert session.sql(
            "SELECT SUM(v) WITHIN 4, COUNT(v) WITHIN 1 FROM data EPSILON 20"
        ).replayed
        assert session.budget.state.epsilon <= 20


def is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True


def test_no_value_decides_the_type_of_a_pandas_column() -> None:
    many = [1] * 3000
    for values in (
        many,
        [*many, "secret", *many],
        [*many, 2**70],
        [decimal.Decimal("1.5")] * 5,
        [1, "2", None, 2.5, float("nan"), pandas.NA, b"x", "\ud800", {"a": 1}, (1, 2)],
    ):
        series = pandas.Series(values, dtype=object)
        kind, found = totals(pandas.DataFrame({"v": series}))
        assert kind is Kind.TEXT
        assert found[1] == sum(map(is_number, series.dropna()))
    for categories in ([1, 2, None], [1, 2], ["1", "2", None], [1.5, None]):
        kind, found = totals(pandas.DataFrame({"v": pandas.Categorical(categories)}))
        assert kind is Kind.TEXT
        assert found[1] == len([one for one in categories if one is not None])


def text_of_bytes(data: bytes) -> pyarrow.Array:
    offsets = pyarrow.array([0, 1, 3, 4], pyarrow.int32()).buffers()[1]
    return pyarrow.Array.from_buffers(pyarrow.string(), 3, [None, offsets, pyarrow.py_buffer(data)])


def test_text_that_is_not_utf8_is_refused() -> None:
    """DuckDB's sorting keys cannot hold the byte 255: a unit of such a name made a sum of three values
    within [0, 5] come out at minus five million millions of millions of steps.
    """
    good, bad = (
        pyarrow.table({"s": text_of_bytes(data), "n": [1, 2, 3]})
        for data in (b"abbc", b"a\xff\xfeb")
    )
    wrapped = [
        lambda table: table,
        lambda table: table.to_batches()[0],
        lambda table: pandas.DataFrame({"s": pandas.arrays.ArrowExtensionArray(table["s"])}),
        lambda table: pandas.DataFrame({"s": pandas.arrays.ArrowStringArray(table["s"])}),
    ]
    for wrap in wrapped:
        open_source(FrameSource(wrap(good))).close()
        with pytest.raises(InvalidInput, match="UTF-8") as refusal:
            open_source(FrameSource(wrap(bad)))
        assert "xff" not in str(refusal.value)


def test_parquet_with_text_that_is_not_utf8_is_refused_at_registration(tmp_path) -> None:
    import pyarrow.parquet as parquet

    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.table({"s": text_of_bytes(b"a\xff\xfeb")}), path)
    with pytest.raises(InvalidInput, match="UTF-8") as refusal:
        brdp.Session(path, epsilon=1.0)
    assert "xff" not in str(refusal.value)
    parquet.write_table(pyarrow.table({"s": text_of_bytes(b"a\xc3\xa9b")}), path)
    brdp.Session(path, epsilon=1.0).close()


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_moments_that_microseconds_cannot_hold_are_refused(tmp_path, unit: str) -> None:
    """DuckDB fails where it reads, compares or writes one: a single row would decide whether a question fails."""
    import numpy

    def forms(number: int):
        moments = pyarrow.array([number, 5], pyarrow.timestamp(unit))
        yield pyarrow.table({"v": moments})
        yield pandas.DataFrame({"v": numpy.array([number, 5], dtype=f"datetime64[{unit}]")})
        yield pandas.DataFrame({"v": pandas.arrays.ArrowExtensionArray(moments)})
        if unit == "ms":
            yield polars.DataFrame({"v": polars.Series([number, 5]).cast(polars.Datetime("ms"))})
            path = tmp_path / f"{number}.parquet"
            parquet.write_table(pyarrow.table({"v": moments}), path)
            yield path

    parquet = pytest.importorskip("pyarrow.parquet")
    fits, beyond = 2**40, 2**60
    asked = "SELECT COUNT(*) FROM data WHERE v < '2020-01-01' OR v IS NULL EPSILON 1"
    for good, bad in zip(forms(fits), forms(beyond), strict=True):
        with brdp.Session(good, epsilon=2.0) as session:
            assert len(session.sql(asked)) == 1
        with pytest.raises(InvalidInput) as refusal:
            brdp.Session(bad, epsilon=2.0)
        assert str(beyond) not in str(refusal.value)


def test_a_frame_without_columns_is_refused() -> None:
    for empty in (pandas.DataFrame(), polars.DataFrame(), pyarrow.table({})):
        with pytest.raises(InvalidInput, match="expected columns"):
            open_source(FrameSource(empty))


def test_what_is_no_frame_is_refused() -> None:
    table = pyarrow.table(VALUES)
    dataset = pyarrow.dataset.dataset(table)
    for other in (
        [1, 2, 3],
        table.to_reader(),
        dataset,
        pandas.Series([1]),
        polars.Series([1]),
        None,
    ):
        with pytest.raises(InvalidInput, match="Arrow"):
            open_source(FrameSource(other))
    with pytest.raises(InvalidInput, match="Arrow has"):
        open_source(FrameSource(polars.DataFrame({"v": polars.Series([2], dtype=polars.Int128)})))
