"""A session in a notebook: what it refuses, what it charges, and how its answers look there."""

from __future__ import annotations

from typing import Any

import pytest

import brdp
from brdp.errors import BudgetExceeded, InvalidInput
from brdp.query import column

pandas = pytest.importorskip("pandas")

PEOPLE = pandas.DataFrame(
    {"user": [f"u{index // 2}" for index in range(400)], "city": ["A<b>", "B"] * 200, "age": range(400)}
)  # fmt: skip
DECLARED: dict[str, Any] = {
    "unit": "user",
    "epsilon": 4,
    "delta": 1e-6,
    "rows_per_unit": 2,
    "bounds": {"age": [0, 400]},
    "categories": {"city": ["A<b>", "B"]},
}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"unit": "nobody"}, "column nobody"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"bounds": {"age": (400, 0)}}, "bounds of age"),
        ({"bounds": {"age": 400}}, "bounds of age"),
        ({"bounds": {"age": (0, 1, 2)}}, "bounds of age"),
        ({"bounds": ["age"]}, "bounds"),
        ({"bounds": {"ages": (0, 1)}}, "Did you mean 'age'"),
        ({"categories": {"city": "AB"}}, "categories of city"),
        ({"categories": {"city": ["A", 1]}}, "categories"),
        ({"rows_per_unit": 0}, "rows_per_unit"),
        ({"rows_per_unit": 1.5}, "rows_per_unit"),
        ({"unit": None}, "rows_per_unit"),
    ],
)
def test_bad_declarations(change: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as caught:
        brdp.Session(PEOPLE, **{**DECLARED, **change})
    assert "u1" not in str(caught.value)


@pytest.mark.parametrize("data", [[1, 2], {"age": [1]}, "people.xlsx", None])
def test_bad_data(data: object) -> None:
    with pytest.raises(InvalidInput):
        brdp.Session(data, epsilon=1)


def test_a_unit_without_a_name_is_refused_without_a_value() -> None:
    nameless = PEOPLE.assign(user=PEOPLE["user"].where(PEOPLE["age"] != 7))
    with pytest.raises(InvalidInput, match="a unit in every row") as caught:
        brdp.Session(nameless, **DECLARED)
    assert "u3" not in str(caught.value)


def test_whole_numbers_are_whole() -> None:
    with brdp.Session(
        PEOPLE, **{**DECLARED, "rows_per_unit": 2.0, "rows_at_least": 50.0}
    ) as session:
        (table,) = session._curator.tables
    assert [type(n) for n in (table.rows_per_unit, table.rows_at_least)] == [int, int]


def test_questions_by_text_and_by_calls_share_the_budget() -> None:
    with brdp.Session(PEOPLE, **DECLARED) as session:
        first = session.sql(
            "SELECT city, COUNT(*) AS n WITHIN 30 FROM data WHERE age >= 100 GROUP BY city"
        )
        built = (
            session.table().where(column("age") >= 100).group_by("city").count(within=30, name="n")
        )
        assert session.price(built).free
        again = session.ask(built)
        assert again.replayed
        assert again.rows[0].cells["n"].value == first.rows[0].cells["n"].value
        assert len(session.history()) == 1
        spent = session.budget.state.epsilon
        assert spent == pytest.approx(first.epsilon, rel=1e-6)
        with pytest.raises(BudgetExceeded):
            session.sql("SELECT COUNT(*) WITHIN 1 FROM data CONFIDENCE 0.9999")
        assert session.budget.state.epsilon == spent
        # the noise is for two rows a unit: eight times its bound is met but once in e^20
        assert all(abs(row.cells["n"].value - 150) < 240 for row in first.rows)


def test_what_a_notebook_shows() -> None:
    with brdp.Session(PEOPLE, **DECLARED) as session:
        answer = session.sql("SELECT city, COUNT(*) AS n WITHIN 30 FROM data GROUP BY city")
        price = session.price("SELECT COUNT(*) WITHIN 30 FROM data")
        html = answer._repr_html_()
        assert html.count("<tr>") == 3
        assert "A&lt;b&gt;" in html
        assert "A<b>" not in html
        assert "±30" in html
        assert "Bounds speak of noise" in html
        assert repr(answer) == str(answer)
        assert repr(price) == str(price)
        assert "function" not in repr(answer.rows[0])
        # the secret that decides which rows of a unit stay is shown nowhere
        assert session.budget.secret
        assert session.budget.secret not in repr(session.budget)


def test_a_budget_that_cannot_be_granted_says_why() -> None:
    with pytest.raises(InvalidInput, match="epsilon: expected at most 700"):
        brdp.Session(PEOPLE, **{**DECLARED, "epsilon": 1000.0})


def test_what_was_closed_says_so() -> None:
    session = brdp.Session(PEOPLE, **DECLARED)
    session.close()
    for ask in (
        lambda: session.sql("SELECT COUNT(*) WITHIN 30 FROM data"),
        lambda: session.price("SELECT COUNT(*) WITHIN 30 FROM data"),
        lambda: session.budget,
    ):
        with pytest.raises(InvalidInput, match="closed"):
            ask()
    session.close()


def test_numbers_and_keys_of_numpy_are_taken() -> None:
    ages = PEOPLE["age"].unique()
    with brdp.Session(PEOPLE, **{**DECLARED, "categories": {"age": ages}}) as session:
        asked = session.table().group_by("age").where(column("age") >= ages[0])
        assert len(session.ask(asked.count(within=ages[-1]))) == len(ages)
