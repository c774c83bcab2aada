"""What every engine must do with every value: one suite, run against DuckDB, PostgreSQL and Spark.

Spark takes a good part of a second for each query, so a test asks of many values at once: each has a group
of its own, told by a public id.
"""

from __future__ import annotations

import datetime
import decimal
import random
from fractions import Fraction

import pyarrow
import pytest

from brdp.catalog import Clip, Column, ColumnUnit, Kind, RowUnit, Table
from brdp.data import BoundingKey, FrameSource, exact_totals
from brdp.data.values import written
from brdp.errors import InvalidInput
from brdp.query import parse, resolve, totals_of_query
from tests.data.twin import as_text, steps
from tests.engines.places import in_duckdb, opened

KEY = BoundingKey(b"0123456789abcdef")
NAN, INF = float("nan"), float("inf")
WHOLE = Clip(Fraction(-10), Fraction(10), integer=True)
REAL = Clip(Fraction(-1), Fraction(4))
WIDE = Clip(-Fraction(2**90), Fraction(2**100))


def ask(place, sql, columns, *, clips=(), categories=(), unit=None, **limits):
    """Every total of a query, in order; one list of integers for each."""
    arrays = {
        name: pyarrow.array(values, from_pandas=False) if isinstance(values, list) else values
        for name, values in columns.items()
    }
    table = Table(
        name="t",
        source=FrameSource(None),
        unit=unit or RowUnit(),
        columns=(
            *(Column(name, clip=clip) for name, clip in clips),
            *(Column(name, categories=tuple(keys)) for name, keys in categories),
        ),
        **limits,
    )
    query = parse(sql + " EPSILON 1")
    with opened(place, pyarrow.table(arrays)) as engine:
        found = exact_totals(query, table=table, engine=engine, key=KEY)
        resolved = resolve(query, table, engine.schema)
    return [
        [number for cell in found.of(total) for number in cell]
        for total in totals_of_query(resolved, table)
    ]


def each(place, values, clip):
    """Sum and count of every value by itself."""
    columns = {"id": list(range(len(values))), "v": values}
    return ask(
        place,
        "SELECT SUM(v), COUNT(v) FROM t GROUP BY id",
        columns,
        clips=[("v", clip)],
        categories=[("id", range(len(values)))],
    )


DOUBLES = [
    None, NAN, INF, -INF, 0.0, -0.0, 5e-324, -5e-324, 1e-308, 0.5, -0.5, 1.5, 2.5, -2.5, 2.0**-39, -(2.0**-39),
    3 * 2.0**-39, -3 * 2.0**-39, 3.9999999999999996, 4.0, -1.0, 1e300, -1e300, 1.7976931348623157e308, 2.0**59,
    2.0**60, 3 * 2.0**59, -(2.0**59), 1.2676506002282294e30, -1.2379400392853803e27, 123456789012345678.0,
]  # fmt: skip


@pytest.mark.parametrize("clip", [WHOLE, REAL, WIDE], ids=["whole", "real", "wide"])
def test_doubles(place, clip):
    sums, counts = each(place, pyarrow.array(DOUBLES, pyarrow.float64(), from_pandas=False), clip)
    assert sums == [steps(value, clip) or 0 for value in DOUBLES]
    assert counts == [int(steps(value, clip) is not None) for value in DOUBLES]


def texts():
    rng = random.Random(8)
    found = [
        None, "", " ", "3", "2.5", "-2.5", "1e400", "-1e400", "1e-400", "inf", "-inf", " +Infinity ", "nan", "-nan",
        "infin", "abc", "1,5", "0x10", "0x1p3", "1d", "2f", "1L", "9" * 1000, "9" * 1001, "0." + "0" * 900 + "1e902",
        "9" * 200_000, "1_" * 100_000 + "1", " " * 200_000 + "7", "_" * 3000, "1_" * 499 + "1", "1_" * 499 + "_1",
        "\U0001f600", "NULL", " 7 ", "\t7\n", "7\r", "\x0b7\x0c", "\u00a07", "\u06617", "5.", ".5", ".", "+5", "++5",
        "- 5", "1e", "e5", "1e5.5", "1_0", "1__0", "_1", "1_", "1_0.0_1", "1e1_0", "1e99999999999999999999",
        "1e-99999999999999999999", "0e99999999999", "-0", "00012", "1.7976931348623158e308", "4.9e-324", "2e-324",
        "1.7976931348623159e308", "true", "7\x85", "7\u2028", "1e10000", "1" + "0" * 400 + "e-400", "2" * 301,
    ]  # fmt: skip
    found += [
        "".join(rng.choices("0123456789.eE+-_ inf", k=rng.randrange(1, 9))) for _ in range(400)
    ]
    found += [f"{rng.uniform(-1, 1) * 10 ** rng.randrange(-20, 20)!r}" for _ in range(100)]
    return found


def as_number(text):
    """What the rule says: Python's reading, without its Unicode digits and spaces, up to 1000 characters."""
    if text is None or len(text) > 1000 or not text.isascii():
        return None
    try:
        return float(text.strip(" \t\n\r\f\v"))
    except ValueError:
        return None


@pytest.mark.parametrize("clip", [REAL, WIDE], ids=["real", "wide"])
def test_texts_that_are_or_are_not_numbers(place, clip):
    given = texts()
    sums, counts = each(place, pyarrow.array(given, pyarrow.string()), clip)
    expected = [steps(as_number(text), clip) for text in given]
    wrong = [
        (text[:40], found, wanted)
        for text, found, wanted in zip(given, sums, expected, strict=True)
        if text is not None and found != (wanted or 0)
    ]
    assert wrong == []
    assert counts == [int(wanted is not None) for wanted in expected]
    assert sum(counts) > 150
    assert sum(counts) < len(counts) - 150


@pytest.mark.parametrize(
    "kind",
    [
        pyarrow.int16(),
        pyarrow.int32(),
        pyarrow.int64(),
        pyarrow.float32(),
        pyarrow.decimal128(12, 2),
    ],
    ids=str,
)
def test_number_types_give_the_same(place, kind):
    values = [3, -4, 120, None]
    if pyarrow.types.is_decimal(kind):
        values = [None if value is None else decimal.Decimal(value) for value in values]
    sums, counts = each(place, pyarrow.array(values, kind), WHOLE)
    assert (sums, counts) == ([3, -4, 10, 0], [1, 1, 1, 0])


@pytest.mark.parametrize(("precision", "scale"), [(20, 3), (30, 30), (38, 10), (38, 37)])
def test_long_decimals_are_the_nearest_doubles(place, precision, scale):
    rng = random.Random(precision)
    digits = [rng.randrange(-(10**precision) + 1, 10**precision) for _ in range(2000)]
    exact = decimal.Context(prec=60)
    values = [decimal.Decimal(number).scaleb(-scale, exact) for number in digits]
    largest = Fraction(10) ** (precision - scale)
    clip = Clip(-largest, largest)
    kind = pyarrow.decimal128(precision, scale)
    sums = ask(place, "SELECT SUM(v) FROM t", {"v": pyarrow.array(values, kind)}, clips=[("v", clip)])  # fmt: skip
    assert sums == [[sum(steps(float(value), clip) for value in values)]]


def test_booleans_count_as_one_and_zero(place):
    sums, counts = each(place, [True, False, None], WHOLE)
    assert (sums, counts) == ([1, 0, 0], [1, 1, 0])


def test_sums_beyond_64_bits_are_exact(place):
    largest = 2**53
    clip = Clip(Fraction(-largest), Fraction(largest), integer=True)
    values = [largest] * 3000 + [2**63 - 1, -5]
    sums = ask(place, "SELECT SUM(v), AVG(v) FROM t", {"v": values}, clips=[("v", clip)])
    assert sums[0] == [3001 * largest - 5]
    assert sums[0][0] > 2**64


CONDITIONS = {
    "s > 11": 2, "s = 'abc'": 1, "s <> 12": 1, "s IS NULL": 1, "NOT s > 11": 0, "s IN (12, 13)": 1, "s < 'a'": 3,
    "n < 0.5": 1, "n > 9223372036854775806": 1, "n >= 1e30": 0, "n = -9223372036854775808": 1,
    "d >= '2020-01-01'": 2, "d = '0001-01-01'": 3, "m < '2020-01-01T12:00:00'": 2, "z = '2020-01-01T12:00:00'": 1,
    "x > 0": 2, "x IS NULL": 2, "NOT (x > 0)": 2, "x <> 0": 3, "x = 0.1": 1, "b = true": 2, "NOT b = true": 3,
    "x IS NOT NULL AND n IS NOT NULL": 3, "n = 2 OR x = 0.1": 2, "s IN ('\\', 'it''s')": 0, "s >= 'É'": 1,
}  # fmt: skip
# Spark takes its time: one for each kind of column; test_random_tables.py asks it many more
SHORT = [condition for condition in CONDITIONS if condition.startswith(("s > 11", "s IN ('", "n > 9", "d >=", "m", "z",
                                                                        "NOT (x", "s >="))]  # fmt: skip


def test_where(place):
    moment = datetime.datetime(2020, 1, 1, 12)
    columns = {
        "s": ["12", "abc", "", None, "1e999", "Été"],
        "n": [1, 2, None, 2**63 - 1, -(2**63), None],
        "d": [datetime.date(2020, 1, 1), None, datetime.date(9999, 12, 31), *[datetime.date(1, 1, 1)] * 3],
        "m": pyarrow.array([moment, None, moment.replace(hour=11), moment.replace(microsecond=1),
                            moment.replace(year=9999), moment.replace(year=1970)], pyarrow.timestamp("us")),
        "z": pyarrow.array([moment, None, *[moment.replace(hour=11)] * 4], pyarrow.timestamp("us", "UTC")),
        "x": pyarrow.array([0.1, NAN, None, INF, -INF, 0.0], from_pandas=False),
        "b": [True, True, False, False, False, None],
    }  # fmt: skip
    table = Table(name="t", source=FrameSource(None), unit=RowUnit())
    wrong = {}
    asked = CONDITIONS if place is in_duckdb or "postgres" in place.__qualname__ else SHORT
    with opened(place, pyarrow.table(columns)) as engine:
        for condition in asked:
            expected = CONDITIONS[condition]
            query = parse(f"SELECT COUNT(*) FROM t WHERE {condition} EPSILON 1")
            found = exact_totals(query, table=table, engine=engine, key=KEY)
            (total,) = totals_of_query(query, table)
            if found.of(total) != ((expected,),):
                wrong[condition] = (found.of(total), expected)
    assert wrong == {}


HOSTILE = [
    "a\"b", "a'b", "\\", "\\'", "it''s", "%s %d", "{x}", "${x}", "; DROP TABLE x; --", "a\nb", "\\n", "\t", "é", "É",
    "ß", " red", "red ", "Red", "red", "", "NULL", "/* x */", "$1", ":x", "?", "`", "\\u0041", "\U0001f600",
    # one text to a reader, others to a computer: nothing is normalised, trimmed or folded
    "e\u0301", "e\u0301 ", "SS", "ss", "K", "\u212a", "\ufb01", "fi", "red\u00a0", "red\u200b",
]  # fmt: skip


def test_texts_as_keys_cannot_break_out(place):
    name = "odd `\"' name; --"
    columns = {name: [*HOSTILE, None, "private"], "v": list(range(1, len(HOSTILE) + 3))}
    clip = Clip(Fraction(0), Fraction(1000), integer=True)
    quoted = '"' + name.replace('"', '""') + '"'
    found = ask(
        place,
        f"SELECT SUM(v), COUNT({quoted}), COUNT(DISTINCT {quoted}) FROM t GROUP BY {quoted}",
        columns,
        clips=[("v", clip)],
        categories=[(name, HOSTILE)],
        unit=ColumnUnit(name),
        rows_per_unit=2,
    )
    ones = [1] * len(HOSTILE)
    assert found == [list(range(1, len(HOSTILE) + 1)), ones, ones]


def test_keys_of_numbers_and_booleans(place):
    columns = {
        "g": ["1", "01", "2", "x", None],
        "n": [1, 1, 2, 3, None],
        "b": [True, False, None, True, True],
    }
    sql = "SELECT COUNT(*) FROM t WHERE {} GROUP BY g, b"
    assert ask(place, sql.format("g IN (1, 2) AND b IN (false, true)"), columns) == [[0, 1, 0, 0]]
    sql = "SELECT COUNT(*), HISTOGRAM(n, 0, 2, 3) FROM t WHERE n IN (1, 3, 9) GROUP BY n"
    assert ask(place, sql, columns) == [[2, 1, 0], [2, 0, 0, 1, 0, 0]]


UNITS = {
    "text": ["b", "a", "B", "a", None, "", "é", "e\u0301", "a ", "\U0001f600", "\\", "'"],
    "whole": [1, -2, 3, -2, None, 2**63 - 1],
    "date": [datetime.date(2020, 1, day) if day else None for day in (1, 2, 3, 2, 0, 4)],
    "boolean": [True, False, True, False, None, True],
}


@pytest.mark.parametrize("kind", UNITS)
def test_units_and_rows_of_every_type(place, kind):
    # one row a unit stays, chosen by the row key: the same in every engine as in DuckDB
    units = UNITS[kind]
    columns = {
        "u": units * 3,
        "k": [f"{index // 6}" for index in range(3 * len(units))],
        "v": list(range(3 * len(units))),
    }
    clip = Clip(Fraction(0), Fraction(100), integer=True)

    def asked(where, row_key):
        return ask(
            where,
            "SELECT COUNT(*), COUNT(DISTINCT u), SUM(v) FROM t",
            columns,
            clips=[("v", clip)],
            unit=ColumnUnit("u"),
            rows_per_unit=1,
            row_key=row_key,
        )

    distinct = len({unit for unit in units if unit is not None})
    for row_key in (("k",), ("u", "k"), ()):
        found = asked(place, row_key)
        assert found[:2] == [[distinct], [distinct]]
        assert found == asked(in_duckdb, row_key)


MOMENT = datetime.datetime(2020, 1, 1, 12)
ROW_KEYS = {
    "whole": [0, 1, -5, None],
    "text": ["", "x", "É", None],
    "boolean": [True, False, None, True],
    "date": [datetime.date(2020, 1, 1), datetime.date(1, 1, 1), datetime.date(9999, 12, 31), None],
    "moment": [MOMENT, MOMENT.replace(microsecond=500_000), MOMENT.replace(second=7), None],
    "real": pyarrow.array([0.5, 1e300, NAN, -0.0], from_pandas=False),
    "single": pyarrow.array([0.1, -INF, None, 3.0], pyarrow.float32()),
    "decimal": pyarrow.array([decimal.Decimal(text) for text in ("1.50", "-0.03", "0", "99999.25")]),
    "instant": pyarrow.array([MOMENT, MOMENT.replace(hour=3), None, MOMENT], pyarrow.timestamp("us", "UTC")),
}  # fmt: skip


def unlike_duckdb(place, row_keys):
    """Which row keys keep other rows than DuckDB does, among many units with four rows and room for one."""
    wrong = []
    for kind, values in row_keys.items():
        keys = values if isinstance(values, list) else values.to_pylist()
        type_ = None if isinstance(values, list) else values.type
        columns = {
            "u": [index // 4 for index in range(160)],
            "k": pyarrow.array(keys * 40, type_),
            "v": [4**index for index in range(4)] * 40,
        }

        def asked(where, columns=columns):
            return ask(
                where,
                "SELECT SUM(v) FROM t",
                columns,
                clips=[("v", Clip(Fraction(0), Fraction(1000), integer=True))],
                unit=ColumnUnit("u"),
                rows_per_unit=1,
                row_key=("k",),
            )

        if asked(place) != asked(in_duckdb):
            wrong.append(kind)
    return wrong


def test_row_keys_of_every_type(place):
    assert unlike_duckdb(place, ROW_KEYS) == []


def test_doubles_are_hashed_by_their_bits(place):
    """The same digits as Python's, in every engine: 0.0 and -0.0 are one, NaN is missing."""
    values = [*DOUBLES, 0.1, -1 / 3]
    frame = pyarrow.table({"v": pyarrow.array(values, pyarrow.float64(), from_pandas=False)})
    expected = ["" if value is None or value != value else as_text(value) for value in values]
    with opened(place, frame) as engine:
        bits = written(engine.table.v).fill_null("")
        found = [text for (text,) in engine.rows(engine.table.select(bits=bits))]
    assert sorted(found) == sorted(expected)


def test_an_empty_table(place):
    columns = {
        "v": pyarrow.array([], pyarrow.float64()),
        "u": pyarrow.array([], pyarrow.string()),
    }
    sql = "SELECT COUNT(*), SUM(v), AVG(v), COUNT(DISTINCT u) FROM t"
    found = ask(place, sql, columns, clips=[("v", REAL)], unit=ColumnUnit("u"))
    assert found == [[0], [0], [0], [0], [0]]


def test_schema_and_refusals(place):
    columns = {
        "A": [1],
        "s": ["x"],
        "x": [0.5],
        "b": [True],
        "d": [datetime.date(2020, 1, 1)],
        "m": [MOMENT],
        "c": pyarrow.array([decimal.Decimal("1.50")], pyarrow.decimal128(5, 2)),
    }
    with opened(place, pyarrow.table(columns)) as engine:
        assert engine.schema == {
            "A": Kind.INTEGER,
            "s": Kind.TEXT,
            "x": Kind.REAL,
            "b": Kind.BOOLEAN,
            "d": Kind.DATE,
            "m": Kind.TIMESTAMP,
            "c": Kind.REAL,
        }
    for sql in ("SELECT SUM(d) FROM t", "SELECT COUNT(*) FROM t WHERE A = 'x'"):
        with pytest.raises(InvalidInput):
            ask(place, sql, columns, clips=[("d", WHOLE)])
    with pytest.raises(InvalidInput, match="unit"):
        ask(place, "SELECT COUNT(*) FROM t", columns, unit=ColumnUnit("x"))
    assert ask(place, "SELECT COUNT(*) FROM t WHERE a = 1 AND C = 1.5", columns) == [[1]]
