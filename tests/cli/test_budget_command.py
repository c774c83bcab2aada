"""`brdp budget`, `brdp ledger` and the filter that `brdp init` recommends, as owners meet them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from brdp.cli import main
from brdp.ledger import Period, open_ledger
from tests.ledger.nursery import CONFIG, write_world

COUNT = "SELECT COUNT(*) AS n WITHIN 200 FROM people CONFIDENCE 0.95"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_world(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> tuple[str, str]:
    """What a command printed: (stdout, stderr)."""
    assert main(list(arguments)) == status
    found = capsys.readouterr()
    return found.out, found.err


def divide(world: Path) -> None:
    november = Period(datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC))
    late = Period(datetime(2026, 11, 1, 23, tzinfo=UTC), datetime(2026, 11, 30, 23, tzinfo=UTC))
    with open_ledger(world / "brdp-ledger.sqlite") as ledger:
        whole = ledger.budget("people").filter
        ledger.grant("people", whole.narrowed(epsilon=0.2, delta=1e-7), analyst="ann")
        ledger.grant("people", whole.narrowed(epsilon=0.4, delta=2e-7), analyst="bob")
        ledger.grant("people", whole.narrowed(epsilon=0.5, delta=5e-7), period=november)
        part = whole.narrowed(epsilon=0.1, delta=1e-7)
        ledger.grant("people", part, analyst="ann", period=late)


def test_what_is_left_fits_eighty_columns_and_says_who_has_it(world: Path, capsys) -> None:
    assert said(capsys, "query", COUNT, "--analyst", "bob")[0]
    divide(world)
    out, err = said(capsys, "budget", "people", "--odometer")
    assert err == ""
    assert all(len(line) <= 80 for line in out.splitlines()), out
    assert [line.split()[0] for line in out.splitlines()[3:8]] == [
        "of",
        "ann",
        "bob",
        "2026-11-01",
        "ann",
    ]
    assert "2026-11-01 23:00 to 2026-11-30 23:00 UTC" in out
    assert "information, no guarantee" in out
    data = json.loads(said(capsys, "budget", "people", "--json")[0])
    assert [part["analyst"] for part in data["parts"]] == ["ann", "bob", None, "ann"]
    assert data["parts"][1]["epsilon"] == {"total": 0.4, "spent": 0.0, "left": 0.4}


def test_the_odometer_is_never_above_what_was_added_plainly(world: Path, capsys) -> None:
    for within in (200, 190, 180):
        said(capsys, "query", COUNT.replace("200", str(within)))
    data = json.loads(said(capsys, "budget", "people", "--odometer", "--json")[0])
    lower, upper = data["odometer"]["epsilon"]
    assert 0 < lower <= upper <= data["epsilon"]["spent"] * (1 + 1e-9)


def test_where_the_usual_question_does_not_fit_the_nearest_that_does_is_named(
    world: Path, capsys
) -> None:
    out, _ = said(capsys, "budget", "people")
    assert out.splitlines()[-1] == "about 4 more counts within ±20 at 95 %"
    said(capsys, "budget", "charge", "people", "--epsilon", "0.55", "--note", "a model")
    out, _ = said(capsys, "budget", "people")
    assert "no more counts within ±20 at 95 %; the nearest that fits is one within ±" in out
    bound = float(out.rpartition("±")[2])
    assert 40 < bound < 100
    said(capsys, "query", f"SELECT COUNT(*) AS n WITHIN {bound} FROM people CONFIDENCE 0.95")


def test_a_file_that_says_another_budget_is_told_which_binds(world: Path, capsys) -> None:
    said(capsys, "budget", "people")
    config = world / "brdp.toml"
    config.write_text(CONFIG.replace("epsilon = 0.6", "epsilon = 50"))
    out, err = said(capsys, "budget", "people")
    assert "left of 0.6" in out
    assert "brdp.toml says epsilon 50" in err
    assert "is the one that binds" in err


def test_a_spend_that_does_not_fit_says_what_that_means(world: Path, capsys) -> None:
    said(capsys, "budget", "people")
    charge = ("budget", "charge", "people", "--note", "a model", "--epsilon")
    _, err = said(capsys, *charge, "7", status=3)
    assert "table people: expected a spend that fits" in err
    assert "Nothing was recorded" in err
    assert "ask nothing more" in err
    assert "wider bound" not in err
    data = json.loads(said(capsys, "budget", "people", "--json")[0])
    assert data["epsilon"]["spent"] == 0


def test_looking_at_a_ledger_that_is_not_there_creates_none(world: Path, capsys) -> None:
    for action in ("verify", "export"):
        _, err = said(capsys, "ledger", action, status=2)
        assert "expected one that is there" in err
    assert not (world / "brdp-ledger.sqlite").exists()


def test_a_hash_that_was_noted_finds_what_was_cut_off(world: Path, capsys) -> None:
    said(capsys, "query", COUNT)
    older = (world / "brdp-ledger.sqlite").read_bytes()
    said(capsys, "query", COUNT.replace("200", "199"))
    noted = json.loads(said(capsys, "ledger", "verify", "--json")[0])["hash"]
    assert "whole (entries: 5," in said(capsys, "ledger", "verify", "--holds", noted)[0]
    (world / "brdp-ledger.sqlite").write_bytes(older)  # somebody brings back yesterday's copy
    said(capsys, "ledger", "verify")
    _, err = said(capsys, "ledger", "verify", "--holds", noted, status=2)
    assert "cut off" in err


@pytest.mark.parametrize(
    "queries, moves, rule", [(5, 1, "sum"), (500, 1, "renyi"), (12, 1, "sum"), (12, 2, "renyi")]
)
def test_the_filter_is_for_so_many_questions_of_a_kind(
    world: Path, capsys, queries: int, moves: int, rule: str
) -> None:
    order = ("--queries", str(queries), "--moves", str(moves), "--output", "first.toml")
    said(capsys, "init", "people.csv", *order)
    assert f'filter = "{rule}"' in (world / "first.toml").read_text()


def test_moves_and_queries_are_whole_numbers(world: Path, capsys) -> None:
    for order in (("--moves", "0"), ("--queries", "-3")):
        _, err = said(capsys, "init", "people.csv", *order, status=2)
        assert order[0].strip("-") in err
    assert not list(world.glob("first.toml"))


def test_the_only_table_need_not_be_named(world: Path, capsys) -> None:
    named, _ = said(capsys, "budget", "people")
    alone, _ = said(capsys, "budget")
    assert alone == named
    config = world / "brdp.toml"
    config.write_text(
        config.read_text() + config.read_text().replace("tables.people", "tables.more")
    )
    assert main(["budget"]) == 2
    error = capsys.readouterr().err
    assert "expected one of people, more" in error
    assert error.count("\n") == 1
