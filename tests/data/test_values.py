"""The stated rules for every odd value, one by one, and that none of them can raise."""

from __future__ import annotations

import datetime
import decimal
from fractions import Fraction

import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")
import pyarrow

from brdp.catalog import Clip, Column, ColumnUnit, RowUnit, Table
from brdp.data import (
    BoundingKey,
    EngineFailed,
    FrameSource,
    exact_totals,
    open_source,
    require_named_units,
)
from brdp.errors import InvalidInput
from brdp.query import parse, resolve, totals_of_query

KEY = BoundingKey(b"0123456789abcdef")
NAN, INF = float("nan"), float("inf")


def ask(sql, columns, *, clips=(), unit=None, **limits):
    """Every total of a query on one frame, in order; one list of integers for each."""
    table = Table(
        name="t",
        source=FrameSource(pyarrow.table(columns)),
        unit=unit or RowUnit(),
        columns=tuple(Column(name, clip=clip) for name, clip in clips),
        **limits,
    )
    engine = open_source(table.source)
    query = parse(sql + " EPSILON 1")
    found = exact_totals(query, table=table, engine=engine, key=KEY)
    resolved = resolve(query, table, engine.schema)
    return [
        [number for cell in found.of(total) for number in cell]
        for total in totals_of_query(resolved, table)
    ]


WHOLE = Clip(Fraction(-10), Fraction(10), integer=True)
REAL = Clip(Fraction(-1), Fraction(4))
STEP = 2**38  # steps to 1 in the range [-1, 4]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, 0), (NAN, 0), (INF, 4 * STEP), (-INF, -STEP), (1e300, 4 * STEP), (-1e300, -STEP),
        (0.0, 0), (-0.0, 0), (5e-324, 0), (4.0, 4 * STEP), (-1.0, -STEP), (0.5, STEP // 2),
        (2.0**-39, 1), (-(2.0**-39), 0), (3 * 2.0**-39, 2), (-3 * 2.0**-39, -1),  # halves upwards
        (1.7976931348623157e308, 4 * STEP),
    ],
)  # fmt: skip
def test_doubles(value, expected):
    columns = {"v": pyarrow.array([value], type=pyarrow.float64(), from_pandas=False)}
    assert ask("SELECT SUM(v) FROM t", columns, clips=[("v", REAL)]) == [[expected]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", 3), ("2.5", 3), ("-2.5", -2), ("1e400", 10), ("-inf", -10), ("nan", 0), ("", 0), ("abc", 0),
        ("1,5", 0), ("0x10", 0), ("9" * 1000, 10), (None, 0), ("\U0001f600", 0), ("NULL", 0), (" 7 ", 7),
    ],
)  # fmt: skip
def test_text_that_is_or_is_not_a_number(text, expected):
    columns = {"v": pyarrow.array([text], type=pyarrow.string())}
    assert ask("SELECT SUM(v) FROM t", columns, clips=[("v", WHOLE)]) == [[expected]]


@pytest.mark.parametrize(
    "kind",
    [
        pyarrow.int8(),
        pyarrow.int64(),
        pyarrow.uint64(),
        pyarrow.float32(),
        pyarrow.decimal128(38, 2),
    ],
)
def test_number_types_give_the_same(kind):
    values = [3, -4, 120, None] if kind != pyarrow.uint64() else [3, 2**64 - 1, 0, None]
    expected = 3 - 4 + 10 if kind != pyarrow.uint64() else 3 + 10
    wanted = [
        decimal.Decimal(v) if v is not None and pyarrow.types.is_decimal(kind) else v
        for v in values
    ]
    columns = {"v": pyarrow.array(wanted, type=kind)}
    assert ask("SELECT SUM(v) FROM t", columns, clips=[("v", WHOLE)]) == [[expected]]


def test_booleans_count_as_one_and_zero():
    columns = {"v": [True, False, None, True]}
    assert ask("SELECT SUM(v), AVG(v), COUNT(v) FROM t", columns, clips=[("v", WHOLE)])[0] == [2]


def test_extreme_integers_do_not_overflow():
    columns = {"v": pyarrow.array([2**63 - 1, -(2**63), 2**63 - 1], type=pyarrow.int64())}
    wide = Clip(Fraction(-(2**62)), Fraction(2**62))
    sums = ask("SELECT SUM(v), AVG(v) FROM t", columns, clips=[("v", wide)])
    assert sums == [[2**40], [2 * 2**40], [3]]


def test_a_large_sum_is_exact():
    # floats would lose the last of these, 64-bit integers overflow at 2^63
    columns = {"v": [2.0**40] * 5000 + [1.0]}
    clip = Clip(Fraction(0), Fraction(2**40))
    assert ask("SELECT SUM(v) FROM t", columns, clips=[("v", clip)]) == [[5000 * 2**40 + 1]]


def test_a_mean_is_a_centred_sum_and_a_count_of_usable_values():
    columns = {
        "v": pyarrow.array([-1.0, 4.0, None, NAN, 1.5], type=pyarrow.float64(), from_pandas=False)
    }
    centred, count = ask("SELECT AVG(v) FROM t", columns, clips=[("v", REAL)])
    assert centred == [2 * (-STEP + 4 * STEP + 3 * STEP // 2) - 3 * (4 * STEP - STEP)]
    assert count == [3]


def test_what_counts():
    columns = {
        "a": pyarrow.array([1.0, NAN, None], type=pyarrow.float64(), from_pandas=False),
        "b": ["x", None, "7"],
        "c": ["x", None, "7"],
    }
    sums = ask(
        "SELECT COUNT(*), COUNT(a), COUNT(b), COUNT(c) FROM t", columns, clips=[("c", WHOLE)]
    )
    assert sums == [[3], [1], [2], [1]]  # a clip range says that c holds numbers


def test_histogram_edges():
    columns = {
        "v": pyarrow.array([0.0, 1.0, 2.0, 2.5, -0.1, 1.999, NAN, None, INF], from_pandas=False)
    }
    assert ask("SELECT HISTOGRAM(v, 0, 1, 2) FROM t", columns) == [[1, 3]]


def test_a_histogram_with_many_bins():
    columns = {"v": pyarrow.array([float(v) for v in range(2000)])}
    edges = ", ".join(str(v) for v in range(2001))
    assert ask(f"SELECT HISTOGRAM(v, {edges}) FROM t", columns) == [[1] * 1999 + [1]]


def test_where_never_raises_on_a_value():
    columns = {
        "s": ["12", "abc", "", None, "1e999", "nan"],
        "n": pyarrow.array([1, 2, None, 2**63 - 1, -5, 0], type=pyarrow.int64()),
        "u": pyarrow.array([1, 2, None, 2**64 - 1, 5, 0], type=pyarrow.uint64()),
        "d": [
            datetime.date(2020, 1, 1),
            None,
            datetime.date(9999, 12, 31),
            *[datetime.date(1, 1, 1)] * 3,
        ],
        "x": pyarrow.array([0.1, NAN, None, INF, -INF, 0.0], from_pandas=False),
    }
    conditions = {
        "s > 11": 2, "s = 'abc'": 1, "s <> 12": 1, "s IS NULL": 1, "NOT s > 11": 0, "s IN (12, 13)": 1,
        "n < 0.5": 2, "n > 9223372036854775806": 1, "n >= 1e30": 0, "n > 99999999999999999999": 0, "u > 0.5": 4,
        "u >= 18446744073709551615": 1, "d >= '2020-01-01'": 2, "d = '2020-01-01'": 1, "x > 0": 2, "x IS NULL": 2,
        "NOT (x > 0)": 2, "x <> 0": 3, "x = 0.1": 1, "x IS NOT NULL AND n IS NOT NULL": 4, "u = 2 OR x = 0.1": 2,
    }  # fmt: skip
    for condition, expected in conditions.items():
        assert ask(f"SELECT COUNT(*) FROM t WHERE {condition}", columns) == [[expected]], condition


@pytest.mark.parametrize(
    "condition",
    [
        "n = 'x'",
        "s = true",
        "d > 5",
        "d = 'soon'",
        "b > 1",
        "nothing = 1",
        "n IN ('1')",
        "b = 'true'",
    ],
)
def test_where_refuses_by_schema_alone(condition):
    columns = {"s": ["a"], "n": [1], "d": [datetime.date(2020, 1, 1)], "b": [True]}
    with pytest.raises(InvalidInput):
        ask(f"SELECT COUNT(*) FROM t WHERE {condition}", columns)


@pytest.mark.parametrize(
    ("kind", "text"),
    [("ns", "1600-01-01"), ("ns", "2300-01-01"), ("ns", "9999-12-31T00:00:00+01:00"),
     ("us", "0001-01-01T00:00:00+23:59"), ("us", "9999-12-31T23:59:00-01:00")],
)  # fmt: skip
def test_moments_that_an_engine_would_fail_at_are_refused_before_anything_is_charged(kind, text):
    columns = {"t": pyarrow.array([0, None], type=pyarrow.timestamp(kind))}
    with pytest.raises(InvalidInput, match="column t"):
        ask(f"SELECT COUNT(*) FROM t WHERE t > '{text}'", columns)
    assert ask("SELECT COUNT(*) FROM t WHERE t < '2020-01-01T00:00:00+05:00'", columns) == [[1]]


def test_sums_of_dates_are_refused():
    with pytest.raises(InvalidInput, match="dates"):
        ask("SELECT SUM(d) FROM t", {"d": [datetime.date(2020, 1, 1)]}, clips=[("d", WHOLE)])


def test_rows_without_a_unit_count_nowhere():
    columns = {"u": ["a", None, "a", None, "b"], "v": [1, 1, 1, 1, 1]}
    asked = "SELECT COUNT(*), COUNT(DISTINCT u), SUM(v) FROM t"
    assert ask(asked, columns, clips=[("v", WHOLE)], unit=ColumnUnit("u"), rows_per_unit=9) == [
        [3],
        [2],
        [3],
    ]


def test_the_owner_is_told_of_rows_without_a_unit():
    for people, named in ((["a", "b"], True), (["a", None], False)):
        table = Table(
            name="t", source=FrameSource(pyarrow.table({"u": people})), unit=ColumnUnit("u")
        )
        engine = open_source(table.source)
        if named:
            require_named_units(table, engine)
        else:
            with pytest.raises(InvalidInput, match="NULL in some"):
                require_named_units(table, engine)


def test_a_unit_of_floats_is_refused():
    with pytest.raises(InvalidInput, match="unit column"):
        ask("SELECT COUNT(*) FROM t", {"u": [0.5]}, unit=ColumnUnit("u"))


def test_an_unknown_unit_or_row_key_is_refused():
    with pytest.raises(InvalidInput, match="unit"):
        ask("SELECT COUNT(*) FROM t", {"u": ["a"]}, unit=ColumnUnit("w"))
    with pytest.raises(InvalidInput, match="row_key"):
        ask("SELECT COUNT(*) FROM t", {"u": ["a"]}, unit=ColumnUnit("u"), row_key=("w",))


def test_groups_that_nobody_is_in_look_like_any_other():
    columns = {"g": ["a", "a", "private", None], "v": [1, 2, 3, 4]}
    sql = "SELECT COUNT(*), SUM(v), AVG(v), HISTOGRAM(v, 0, 2, 9) FROM t WHERE g IN ('a', 'zero') GROUP BY g"
    rows, sums, centred, count, bins = ask(sql, columns, clips=[("v", WHOLE)])
    assert (rows, sums, centred, count, bins) == ([2, 0], [3, 0], [6, 0], [2, 0], [1, 1, 0, 0])


def test_an_empty_table():
    columns = {
        "v": pyarrow.array([], type=pyarrow.float64()),
        "u": pyarrow.array([], type=pyarrow.string()),
    }
    sql = "SELECT COUNT(*), SUM(v), AVG(v), COUNT(DISTINCT u) FROM t"
    assert ask(sql, columns, clips=[("v", REAL)], unit=ColumnUnit("u")) == [[0], [0], [0], [0], [0]]


def test_text_and_numbers_as_keys():
    columns = {
        "g": ["1", "01", "2", "x", None],
        "n": [1, 1, 2, 3, None],
        "b": [True, False, None, True, True],
    }
    assert ask("SELECT COUNT(*) FROM t WHERE g IN (1, 2) GROUP BY g", columns) == [[1, 1]]
    assert ask("SELECT COUNT(*) FROM t WHERE n IN (1, 2, 9) GROUP BY n", columns) == [[2, 1, 0]]
    assert ask("SELECT COUNT(*) FROM t WHERE b IN (true, false) GROUP BY b", columns) == [[3, 1]]


@pytest.mark.parametrize(
    "name", ['a"b', "a'b", "select", "A b", "é", "; DROP TABLE x; --", "{x}", "%s", "rows", "unit"]
)
def test_names_and_texts_cannot_break_out(name):
    quoted = '"' + name.replace('"', '""') + '"'
    text = name.replace("'", "''")
    columns = {name: [name, "other", "\\"], "v": [1, 2, 3]}
    sql = f"SELECT SUM(v) FROM t WHERE {quoted} IN ('{text}', '\\') GROUP BY {quoted}"
    assert ask(sql, columns, clips=[("v", WHOLE)], unit=ColumnUnit(name)) == [[1, 3]]


def test_nothing_private_is_shown():
    secret = "VERY PRIVATE"
    source = FrameSource(pyarrow.table({"v": [secret, "424242"]}))
    table = Table(
        name="t",
        source=source,
        unit=RowUnit(),
        columns=(Column("v", clip=Clip(Fraction(0), Fraction(10**6))),),
    )
    engine = open_source(source)
    found = exact_totals(
        parse("SELECT SUM(v) FROM t EPSILON 1"), table=table, engine=engine, key=KEY
    )
    shown = repr([table, found, KEY])
    assert secret not in shown
    assert "424242" not in shown
    assert KEY.secret.hex() not in shown
    # an engine's own message quotes the value that it stumbled over; ours does not
    column = engine.table.v.cast("int64")
    with pytest.raises(EngineFailed) as failure:
        engine.rows(engine.table.select(v=column))
    assert secret not in str(failure.value)
    assert failure.value.__cause__ is None
    assert failure.value.__suppress_context__


def test_keys_must_be_long():
    with pytest.raises(InvalidInput):
        BoundingKey(b"short")
