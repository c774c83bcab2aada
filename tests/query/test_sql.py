"""The SQL front end: what it accepts, what it makes of it, and how it refuses the rest."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction

import pytest

pytest.importorskip("sqlglot")

from brdp.errors import InvalidInput
from brdp.query import (
    Count,
    CountDistinctUnits,
    Group,
    Histogram,
    Item,
    Mean,
    Query,
    Sum,
    column,
    parse,
    parse_condition,
    table,
    to_text,
)
from brdp.query.condition import And, Comparison, IsIn, IsNull, Not, Operator, Or

EXAMPLE = (
    "SELECT sex, COUNT(*) AS n WITHIN 20, AVG(age) WITHIN 0.5 FROM adult WHERE education_num >= 13 "
    "GROUP BY sex CONFIDENCE 0.95"
)


def where(text):
    return parse(f"SELECT COUNT(*) FROM t WHERE {text} EPSILON 1").where


def at_least(name, number):
    return Comparison(name, Operator.AT_LEAST, Fraction(number))


def test_the_example():
    assert parse(EXAMPLE) == Query(
        table="adult",
        items=(Item(Count(), "n", Fraction(20)), Item(Mean("age"), "avg_age", Fraction(1, 2))),
        where=at_least("education_num", 13),
        group_by=(Group("sex"),),
        confidence=Fraction(95, 100),
    )


def test_calls_build_the_same():
    built = (
        table("adult")
        .where(column("education_num") >= 13)
        .group_by("sex")
        .count(within=20, name="n")
        .mean("age", within=0.5)
        .confidence(0.95)
        .query()
    )
    assert built == parse(EXAMPLE)
    assert hash(built) == hash(parse(EXAMPLE))


def test_every_clause():
    query = parse(
        """
        -- a comment
        select count(distinct "user id") as people within 1e1, sum(spent) within .5 as total, avg(age) size 1000,
               mean(age) AS "mean age", Histogram(age, -10, 0.5, 1e2) within 2 /* another */
        from "my table" where not a = 'it''s' rows_at_least 500 epsilon 0.5 simultaneous rows_at_most 1e6 sample 2.5 %;
        """
    )
    assert query == Query(
        table="my table",
        items=(
            Item(CountDistinctUnits("user id"), "people", Fraction(10)),
            Item(Sum("spent"), "total", Fraction(1, 2)),
            Item(Mean("age", size=1000), "avg_age"),
            Item(Mean("age"), "mean age"),
            Item(
                Histogram("age", (Fraction(-10), Fraction(1, 2), Fraction(100))),
                "histogram_age",
                Fraction(2),
            ),
        ),
        where=Not(Comparison("a", Operator.EQUAL, "it's")),
        epsilon=Fraction(1, 2),
        simultaneous=True,
        rows_at_least=500,
        rows_at_most=1_000_000,
        sample=Fraction(1, 40),
    )


def test_calls_build_every_clause():
    built = (
        table("t")
        .where("a > 1 AND b = 'x'")
        .where(column("c").is_in(["x", "y"]) | ~column("d").is_null())
        .group_by("g", h=[1, 2])
        .count()
        .count()
        .count("a")
        .count_units()
        .sum("s")
        .mean("m", size=7)
        .histogram("a", [0, 0.5])
        .epsilon("1" and 0.1)
        .simultaneous()
        .rows_at_least(3)
        .rows_at_most(9)
        .sample(0.25)
        .query()
    )
    assert [item.name for item in built.items] == [
        "count", "count_2", "count_a", "units", "sum_s", "avg_m", "histogram_a",
    ]  # fmt: skip
    assert built.epsilon == Fraction(1, 10)
    assert built.group_by == (Group("g"), Group("h", (1, 2)))
    assert isinstance(built.where, And)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a >= 1", at_least("a", 1)),
        ("1 <= a", at_least("a", 1)),
        ("-1.5 < a", Comparison("a", Operator.GREATER, Fraction(-3, 2))),
        ("a != 'x'", Comparison("a", Operator.NOT_EQUAL, "x")),
        ("a = true", Comparison("a", Operator.EQUAL, True)),
        ("a IN (1, 2)", IsIn("a", (Fraction(1), Fraction(2)))),
        ("a NOT IN ('x')", Not(IsIn("a", ("x",)))),
        ("a IS NULL", IsNull("a")),
        ("a IS NOT NULL", Not(IsNull("a"))),
        (
            "a BETWEEN 1 AND 2",
            And((at_least("a", 1), Comparison("a", Operator.AT_MOST, Fraction(2)))),
        ),
        (
            "a >= 1 OR b >= 2 AND c >= 3",
            Or((at_least("a", 1), And((at_least("b", 2), at_least("c", 3))))),
        ),
        (
            "(a >= 1 OR b >= 2) AND c >= 3",
            And((Or((at_least("a", 1), at_least("b", 2))), at_least("c", 3))),
        ),
        ("NOT a >= 1 AND b >= 2", And((Not(at_least("a", 1)), at_least("b", 2)))),
    ],
)
def test_conditions(text, expected):
    assert where(text) == expected
    assert parse_condition(text) == expected


@pytest.mark.parametrize(
    ("text", "line", "place", "says"),
    [
        ("SELECT MEDIAN(age) FROM t", 1, 8, "Quantiles are not there yet"),
        ("SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY a) FROM t", 1, 8, "Quantiles are not there yet"),
        ("SELECT VARIANCE(age) FROM t", 1, 8, "Variances are not there yet"),
        ("SELECT STDDEV(age) FROM t", 1, 8, "Variances are not there yet"),
        ("SELECT MIN(age) FROM t", 1, 8, "HISTOGRAM"),
        ("SELECT COUNT(*) WITHIN 1 FROM t JOIN u ON a = b", 1, 33, "Joins are not there yet"),
        ("SELECT COUNT(*) WITHIN 1 FROM t, u", 1, 32, "Joins are not there yet"),
        ("SELECT COUNT(*) WITHIN 1 FROM t LEFT JOIN u", 1, 33, "Joins are not there yet"),
        ("SELECT a, COUNT(*) WITHIN 1 FROM t GROUP BY a ORDER BY 2 LIMIT 5", 1, 47, "top-k"),
        ("SELECT TOP 5 a FROM t", 1, 8, "top-k"),
        ("SELECT SUM(age, 0, 100) WITHIN 1 FROM t", 1, 15, "Clip bounds found from the data are not there yet"),
        ("SELECT AUTO_BOUNDS(age) WITHIN 1 FROM t", 1, 8, "Clip bounds found from the data are not there yet"),
        ("SELECT COUNT(*) WITHIN 1 FROM t SAMPLE 100 %", 1, 40, "leave SAMPLE out"),
        ("SELECT COUNT(*) WITHIN 1 FROM t SAMPLE 0", 1, 40, "Write SAMPLE 1 %"),
        ("SELECT COUNT(*) WITHIN 1 FROM t SAMPLE a few", 1, 40, "a rate such as 1 %"),
        ("SELECT COUNT(*) WITHIN 1 FROM t TABLESAMPLE 1 %", 1, 33, "SAMPLE 1 %"),
        ("SELECT COUNT(*) WITHIN 1 FROM t ROWS_AT_MOST 0", 1, 46, "rows"),
        ("SELECT COUNT(*) WITHIN 1 FROM t WHERE a LIKE 'x'", 1, 41, "Patterns are not there"),
        ("SELECT COUNT(*) WITHIN 1 FROM t WHERE a = b", 1, 43, "single quotes"),
        ("SELECT COUNT(*) WITHIN 1 FROM t WHERE a = NULL", 1, 43, "IS NULL"),
        ("SELECT COUNT(*) WITHIN 1 FROM t WHERE lower(a) = 'x'", 1, 39, "Functions are not there"),
        ("SELECT COUNT(*) WITHIN 1 FROM t WHERE a + 1 > 2", 1, 41, "Arithmetic is not there"),
        ("SELECT COUNT(*) WITHIN 1 FROM t WHERE a > 2 * 3", 1, 45, "Arithmetic is not there"),
        ("SELECT COUNT(*) WITHIN 1 FROM t WHERE a", 1, 40, "active = true"),
        ("SELECT COUNT(*) WITHIN 1 FROM t HAVING n > 2", 1, 33, "HAVING"),
        ("SELECT SUM(a) / COUNT(*) FROM t", 1, 15, "Arithmetic is not there"),
        ("SELECT SUM(a + 1) FROM t", 1, 14, "Arithmetic is not there"),
        ("SELECT SUM(DISTINCT a) FROM t", 1, 12, "Only COUNT"),
        ("SELECT COUNT(*) OVER (PARTITION BY a) FROM t", 1, 17, "Window functions are not there"),
        ("SELECT * FROM t", 1, 8, "private"),
        ("SELECT a FROM t GROUP BY a", 1, 8, "private"),
        ("SELECT a, COUNT(*) WITHIN 1 FROM t", 1, 8, "Add GROUP BY a"),
        ("SELECT CONUT(*) WITHIN 1 FROM t", 1, 8, "Did you mean 'COUNT'?"),
        ("SELECT COUNT(*) WITHN 1 FROM t", 1, 17, "Did you mean 'WITHIN'?"),
        ("SELECT COUNT(*) WITHIN 1 FROM t CONFIDNECE 0.9", 1, 33, "Did you mean 'CONFIDENCE'?"),
        ("SELECT COUNT(*) WITHIN 0 FROM t", 1, 24, "above 0"),
        ("SELECT COUNT(*) WITHIN -1 FROM t", 1, 24, "above 0"),
        ("SELECT COUNT(*) WITHIN many FROM t", 1, 24, "above 0"),
        ("SELECT COUNT(*) WITHIN 1 WITHIN 2 FROM t", 1, 26, "once"),
        ("SELECT COUNT(*) SIZE 3 WITHIN 2 FROM t", 1, 17, "mean"),
        ("SELECT COUNT(*) WITHIN 1e999999 FROM t", 1, 24, "usual size"),
        ("SELECT COUNT(*) WITHIN 1_000 FROM t", 1, 24, "1_000"),
        ("SELECT COUNT(*) WITHIN 1 FROM t CONFIDENCE 1", 1, 44, "certain"),
        ("SELECT COUNT(*) WITHIN 1 FROM t CONFIDENCE 0", 1, 44, "between 0 and 1"),
        ("SELECT COUNT(*) WITHIN 1 FROM t CONFIDENCE 95", 1, 44, "Write 95 %"),
        ("SELECT COUNT(*) WITHIN 1 FROM t CONFIDENCE .9 CONFIDENCE .9", 1, 47, "once"),
        ("SELECT COUNT(*) WITHIN 1 FROM t EPSILON 0", 1, 41, "above 0"),
        ("SELECT COUNT(*) WITHIN 1 FROM t ROWS_AT_LEAST 1.5", 1, 47, "rows"),
        ("SELECT HISTOGRAM(a, 3, 2) WITHIN 1 FROM t", 1, 8, "rise"),
        ("SELECT COUNT(*) WITHIN 1 FROM t; DROP TABLE t", 1, 34, "Only SELECT"),
        ("DROP TABLE t", 1, 1, "Only SELECT"),
        ("SELECT COUNT(*) WITHIN 1 FROM t UNION SELECT 1", 1, 33, "one SELECT"),
        ("SELECT COUNT(*) WITHIN 1 FROM (SELECT 1)", 1, 31, "name of a table"),
        ("SELECT COUNT(*) WITHIN 1 FROM s.t", 1, 32, "alone"),
        ("WITH x AS (SELECT 1) SELECT COUNT(*) FROM x", 1, 1, "one SELECT"),
        ("SELECT COUNT(*) WITHIN 1 FROM t WHERE a IN (SELECT b FROM u)", 1, 45, "Queries inside queries"),
        ("SELECT COUNT(*) WITHIN 1 FROM t WHERE a IN (1, 'x')", 1, 44, "one kind"),
        ("SELECT COUNT(*) WITHIN 1\nFROM t\n  WHERE a > ?", 3, 13, "Parameters"),
        ("SELECT COUNT(*) WITHIN 1 FROM 't'", 1, 31, "double quotes"),
        ("SELECT COUNT(*) WITHIN 1 FROM t WHERE (a = 1", 1, 45, "')'"),
        ("SELECT COUNT(*) WITHIN 1 FROM t WHERE a = 1)", 1, 44, "the end"),
        ("SELECT COUNT(*) AS a WITHIN 1, SUM(b) FROM t WHERE x = 'a\x00'", 1, 58, "printable"),
        ("SELECT COUNT(", 1, 14, "the end"),
    ],
)  # fmt: skip
def test_refusals_name_the_place_and_the_nearest_thing(text, line, place, says):
    with pytest.raises(InvalidInput) as refusal:
        parse(text)
    message = str(refusal.value)
    assert f"line {line}, column {place}" in message
    assert says in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "For example"),
        (" \n ", "For example"),
        ("SELECT COUNT(*) FROM t", "Add WITHIN 20"),
        ("SELECT COUNT(*) WITHIN 1, SUM(a) FROM t", "within of sum_a"),
        ("SELECT COUNT(*) WITHIN 1 FROM t CONFIDENCE .9 EPSILON 1", "leave one out"),
        ("SELECT COUNT(*) AS n, SUM(a) AS n FROM t EPSILON 1", "each one once"),
        ("SELECT COUNT(*) FROM t GROUP BY a, a EPSILON 1", "each one once"),
        ("SELECT 'open FROM t", "closed"),
        ("SELECT /* open", "closed"),
        ("x" * 100_001, "characters"),
        ("(" * 30_000, "words and signs"),
        ("SELECT " + ", ".join(["COUNT(*)"] * 101) + " FROM t EPSILON 1", "100 aggregates"),
        ('SELECT COUNT(*) FROM "" EPSILON 1', "name"),
        (f"SELECT COUNT(*) FROM {'n' * 201} EPSILON 1", "200 characters"),
        ("SELECT COUNT(*) FROM t WHERE " + "(" * 40 + "a = 1" + ")" * 40 + " EPSILON 1", "32 deep"),
        ("SELECT COUNT(*) FROM t WHERE " + "NOT " * 40 + "a = 1 EPSILON 1", "32 deep"),
    ],
)
def test_refusals_of_the_whole(text, says):
    with pytest.raises(InvalidInput, match=says):
        parse(text)


def test_only_text_is_parsed():
    with pytest.raises(InvalidInput, match="a text"):
        parse(b"SELECT COUNT(*) FROM t EPSILON 1")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "build",
    [
        lambda: (column("a") > 1) and (column("b") > 1),
        lambda: 1 < column("a") < 3,
        lambda: not (column("a") > 1),
        lambda: (column("a") > 1) & True,
        lambda: column("a") > float("nan"),
        lambda: column("a") > [1],
        lambda: column("a").is_in([]),
        lambda: column("a").is_in([1, "x"]),
        lambda: table("t").where(True),
        lambda: table("t").count(within=0).query(),
        lambda: table("t").count(within=float("inf")).query(),
        lambda: table("t").count(within=1).confidence(1).query(),
        lambda: table("t").count().query(),
        lambda: table("t").epsilon(1).query(),
        lambda: table("t").count().epsilon(-1).query(),
        lambda: table("t").count().epsilon(1).group_by(g=[1, "x"]).query(),
        lambda: table("t").count().epsilon(1).group_by(g=[1, 1]).query(),
        lambda: table("t").count().epsilon(1).rows_at_least(0).query(),
        lambda: table("t").mean("a", size=0),
        lambda: table("t").histogram("a", [1, 0]),
        lambda: table("").count().epsilon(1).query(),
        # the letters of a text are not what was meant
        lambda: column("a").is_in("xy"),
        lambda: table("t").group_by(g="xy"),
    ],
)
def test_calls_refuse(build):
    with pytest.raises(InvalidInput):
        build()


def test_calls_take_dates_and_numbers_of_numpy():
    numpy = pytest.importorskip("numpy")
    assert (column("a") >= date(2020, 2, 29)) == where("a >= '2020-02-29'")
    assert (column("a") < datetime(2020, 2, 29, 12, 30)) == where("a < '2020-02-29T12:30:00'")
    assert (column("a") == numpy.int64(3)) == where("a = 3")
    assert (column("a") == numpy.float64(0.5)) == where("a = 0.5")


def test_deep_conditions_from_calls_are_refused():
    deep = column("a") > 1
    for _ in range(5000):
        deep = ~deep
    with pytest.raises(InvalidInput, match="deep"):
        table("t").where(deep).count().epsilon(1).query()


def test_written_out_and_read_again():
    for text in (
        EXAMPLE,
        "SELECT COUNT(*) AS \"a\"\"b\" FROM t WHERE x = 'it''s' AND NOT (y IN (1, -2.5) OR z IS NULL) EPSILON 3",
    ):
        assert parse(to_text(parse(text))) == parse(text)


def test_sqlglot_reads_the_same_where():
    # a second parser: what is left without our own clauses is plain SQL with the same meaning
    sqlglot = pytest.importorskip("sqlglot")
    text = "a >= 1 OR b <> 'x' AND NOT (c IN (1, 2) OR d IS NULL)"
    tree = sqlglot.parse_one(f"SELECT COUNT(*) FROM t WHERE {text}").find(sqlglot.exp.Where).this
    assert isinstance(tree, sqlglot.exp.Or)
    assert isinstance(tree.right, sqlglot.exp.And)
    written = to_text(parse(f"SELECT COUNT(*) FROM t WHERE {text} EPSILON 1"))
    inner = written.partition(" WHERE ")[2].partition(" EPSILON")[0]
    again = sqlglot.parse_one(f"SELECT COUNT(*) FROM t WHERE {inner}").find(sqlglot.exp.Where).this
    assert isinstance(again.unnest(), sqlglot.exp.Or)
    assert {found.name for found in again.find_all(sqlglot.exp.Column)} == {"a", "b", "c", "d"}
