"""The worst sampling error against exact laws, and the life of a question about a sample.

The exact laws are worked out here by adding up coins one by one; no tail bound takes part.
"""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import brdp
from brdp.catalog import Budget, Catalog, Rule
from brdp.curator import Curator
from brdp.curator.sampled import Sampled
from brdp.data import open_source
from brdp.data.engine import EngineFailed
from brdp.errors import BrdpError, InvalidInput, NotPossible
from brdp.ledger import odometer, open_ledger, verify
from brdp.noise.describe import read_noise
from brdp.privacy import sample_together
from brdp.query import table as builder
from tests.curator.worlds import catalog, curator_at, failing, watched

COUNT = "SELECT colour, COUNT(*) AS n WITHIN 120 FROM people GROUP BY colour SAMPLE 50 % ROWS_AT_MOST 600"
RATES = (0.01, 0.1, 0.5, 0.93)


def law_of(weights, rate):
    """Values and chances of the sum of weight * coin, coins one by one."""
    found = {0: 1.0}
    for weight in weights:
        after: dict = {}
        for value, chance in found.items():
            after[value] = after.get(value, 0.0) + chance * (1 - rate)
            after[value + weight] = after.get(value + weight, 0.0) + chance * rate
        found = after
    values = np.array(list(found), dtype=float)
    return values - rate * sum(weights), np.array(list(found.values()))


def worlds(seed: int):
    rng = random.Random(seed)
    for signs, rate in itertools.product(((1,), (-1, 1)), RATES):
        weights = [rng.choice(signs) * rng.randrange(1, 5) for _ in range(rng.choice([3, 30, 120]))]
        yield weights, rate


@pytest.mark.parametrize("seed", range(3))
def test_no_sum_of_coins_goes_beyond_its_tail(seed: int) -> None:
    for weights, rate in worlds(seed):
        worst = Sampled(rate, 4.0, float(sum(map(abs, weights))))
        values, chances = law_of(weights, rate)
        for off in np.linspace(0.1, worst.sum_of_all, 60):
            bound = float(worst.tail(np.array(off)))
            for side in (values, -values):
                assert chances[side >= off].sum() <= bound * (1 + 1e-9)
        assert float(worst.tail(np.array(worst.quantile(0.01)))) <= 0.01


def test_for_equal_units_the_tail_is_not_wildly_off() -> None:
    values, chances = law_of([1] * 200, 0.3)
    worst = Sampled(0.3, 1.0, 200.0)
    for off in range(8, 20):
        assert float(worst.tail(np.array(float(off)))) < 8 * chances[values >= off - 1e-9].sum()


def test_control_a_tail_for_half_the_units_is_broken() -> None:
    broken = 0
    for weights, rate in worlds(7):
        values, chances = law_of(weights, rate)
        worst = Sampled(rate, 4.0, sum(map(abs, weights)) / 4)
        for off in np.linspace(0.1, worst.sum_of_all, 60):
            broken += chances[values >= off].sum() > float(worst.tail(np.array(off))) * (1 + 1e-9)
    assert broken > 20


@pytest.mark.parametrize("rate", RATES)
def test_a_bound_is_missed_no_more_often_than_said(rate: float) -> None:
    noise = brdp.Recycled(brdp.DiscreteLaplace(3.0), within=4, rate=0.5)
    k = np.arange(-200, 201)
    masses = noise.pmf(k)
    for rows, step in ((40, 1.0), (300, 0.25)):
        values, chances = law_of([1] * rows, rate)
        worst = Sampled(rate, 1.0, float(rows))
        for within in (0.5, 3.0, 11.0, 0.4 * rows):
            far = np.abs(values[:, None] + step * k[None, :]) > within + 1e-9
            true = float((far * chances[:, None] * masses[None, :]).sum())
            said = worst.missed(noise, step=step, within=within)
            assert true <= said * (1 + 1e-9)
            # fewer rows are never worse
            fewer = Sampled(rate, 1.0, rows / 2)
            assert fewer.missed(noise, step=step, within=within) <= said * (1 + 1e-9)


def test_a_question_about_a_sample(tmp_path: Path) -> None:
    with curator_at(tmp_path) as curator:
        price = curator.price(COUNT)
        assert price.reachable
        assert price.sample is not None
        # the same bounds are cheaper to keep for all rows
        assert price.sample.epsilon < price.epsilon
        assert 0.95 <= price.acceptance < 0.97
        assert "every row is read" in str(price)
        answer = curator.ask(COUNT)
        assert answer.epsilon == pytest.approx(price.epsilon, rel=1e-12)
        said = " ".join(answer.notes)
        assert "secret sample" in said
        assert "at most 600 rows" in said
        for row in answer.rows:
            assert row.cells["n"].value % 2 == 0  # whole people, divided by the rate
            assert row.cells["n"].within == 120
        assert curator.ask(COUNT).replayed
        assert not curator.ask(COUNT.replace("50 %", "40 %").replace("120", "200")).replayed
        assert not curator.ask(COUNT.replace(" SAMPLE 50 %", "")).replayed
        again = builder("people").group_by("colour").count(within=120, name="n")
        assert curator.ask(again.sample(0.5).rows_at_most(600)).replayed
        verify(curator.ledger)


def test_the_charge_is_what_the_releases_cost_together(tmp_path: Path) -> None:
    asked = "SELECT COUNT(*) AS n, SUM(age) AS s, AVG(score) AS m FROM people EPSILON 1 SAMPLE 20 %"
    with curator_at(tmp_path, per_user=True) as curator:
        answer = curator.ask(asked)
        assert 0.5 < answer.epsilon <= 1
        (charge,) = curator.history()
        rate = curator.prepare(asked).query.sampling_rate
        assert {Fraction(entry["sampling_rate"]) for entry in charge["releases"]} == {rate}
        parts: dict = {}
        for entry in charge["releases"]:
            curve = read_noise(entry["noise"]).privacy(sensitivity=entry["sensitivity"])
            parts[curve] = parts.get(curve, 0) + entry["count"]
        filter = curator.budget("people").filter
        again = filter.price(
            sample_together(parts, sampling_rate=float(rate)), tau=Fraction(charge["tau"])
        )
        written = tuple(int(part, 16) for part in charge["price"].split())
        assert again == pytest.approx(written, rel=1e-9)
        read = odometer(curator.ledger, "people", delta=1e-7)
        assert 0 <= read.epsilon[0] <= read.epsilon[1] <= answer.epsilon * 1.01
        assert read.releases == sum(parts.values())


@pytest.mark.parametrize(("rule", "delta"), [(None, 0.0), (Rule.SUM, 1e-6), (Rule.RENYI, 1e-6)])
def test_every_kind_of_budget_charges_less_for_less_of_a_sample(
    tmp_path: Path, rule: Rule | None, delta: float
) -> None:
    """The same noise on a smaller sample: what is charged falls with the rate."""
    (people,) = catalog(tmp_path).tables
    people = replace(people, budget=Budget(30.0, delta, rule=rule))
    with Curator(Catalog((people,)), open_ledger(":memory:")) as curator:
        question = "SELECT COUNT(*) AS n, SUM(age) AS s FROM people EPSILON 1"
        prepared = curator.prepare(question)
        filter = curator.budget("people").filter
        charged = [filter.epsilon_of(prepared.price(filter))]
        for rate in (Fraction(1, 2), Fraction(1, 8), Fraction(1, 64)):
            sampled = replace(prepared, query=replace(prepared.query, sample=rate))
            charged.append(filter.epsilon_of(sampled.price(filter)))
        assert charged == sorted(charged, reverse=True)
        assert charged[-1] < 0.1 * charged[0]
        answer = curator.ask(question + " SAMPLE 10 %")
        assert answer.epsilon <= 1
        assert answer.delta <= delta


def test_an_interrupted_sample_completes_free_with_another_sample(tmp_path: Path) -> None:
    seen: list[str] = []

    def look() -> None:
        raise EngineFailed("DuckDB", "OutOfMemoryException")

    def watching(source):
        engine = watched(look)(source)
        plain = engine.rows
        engine.rows = lambda expression: (seen.append(engine.sql(expression)), plain(expression))[1]
        return engine

    tables = catalog(tmp_path)
    ledger = tmp_path / "ledger.sqlite"
    with (
        Curator(tables, open_ledger(ledger), opener=watching) as curator,
        pytest.raises(EngineFailed),
    ):
        curator.ask(COUNT)
    look_away = open_source

    def watching_well(source):
        engine = look_away(source)
        plain = engine.rows
        engine.rows = lambda expression: (seen.append(engine.sql(expression)), plain(expression))[1]  # type: ignore[method-assign]
        return engine

    with Curator(tables, open_ledger(ledger), opener=watching_well) as curator:
        answer = curator.ask(COUNT)
        assert (answer.epsilon, answer.replayed) == (0, False)
        assert len(curator.history()) == 1
    first, second = (text.split("MD5('")[1][:32] for text in seen)
    assert first != second
    written = ledger.read_bytes()
    assert first.encode() not in written
    assert second.encode() not in written


def test_a_charge_of_another_rate_is_not_completed(tmp_path: Path) -> None:
    with curator_at(tmp_path, failing) as curator:
        with pytest.raises(EngineFailed):
            curator.ask(COUNT)
        (charge,) = curator.history()
        from brdp.curator.curator import _require_same_sample

        query = curator.prepare(COUNT).query
        _require_same_sample(charge, query)
        for other in (None, Fraction(1, 3)):
            with pytest.raises(BrdpError, match="another version"):
                _require_same_sample(charge, replace(query, sample=other))


def test_what_is_refused(tmp_path: Path) -> None:
    with curator_at(tmp_path, failing) as curator:
        for text, kind, words in (
            (COUNT.replace("ROWS_AT_MOST 600", ""), NotPossible, "ROWS_AT_MOST"),
            (COUNT.replace("120", "5"), NotPossible, "sampling alone takes more"),
            (COUNT.replace("50 %", "0"), InvalidInput, "SAMPLE 1 %"),
            (COUNT.replace("50 %", "100 %"), InvalidInput, "leave SAMPLE out"),
            (COUNT.replace("50 %", "-1 %"), InvalidInput, "SAMPLE 1 %"),
            (COUNT.replace("50 %", "1e-9"), InvalidInput, "0.0001 %"),
            (COUNT.replace("50 %", "many"), InvalidInput, "a rate such as"),
            (COUNT.replace("SAMPLE", "SAMPLE 1 % SAMPLE"), InvalidInput, "once"),
            (COUNT.replace("600", "100"), InvalidInput, "rows_at_least"),
        ):
            with pytest.raises(kind, match=words):
                curator.ask(text)
        assert curator.history() == []
        prices = curator.price(COUNT.replace("ROWS_AT_MOST 600", "").replace("120", "9000"))
        assert list(prices.epsilon_by_rows.values()) == sorted(prices.epsilon_by_rows.values())
        assert "ROWS_AT_MOST" in str(prices)
    with (
        curator_at(tmp_path, relation="replace") as curator,
        pytest.raises(InvalidInput, match="add_remove"),
    ):
        curator.ask(COUNT)


def test_all_forms_of_an_answer(tmp_path: Path) -> None:
    text = (
        "SELECT colour, COUNT(*) AS n, COUNT(DISTINCT user) AS k, SUM(age) AS s, AVG(age) AS m, "
        "AVG(age) SIZE 300 AS z, HISTOGRAM(age) AS h FROM people GROUP BY colour EPSILON 5 SAMPLE 50 %"
    )
    with curator_at(tmp_path, per_user=True) as curator:
        unknown = curator.ask(text)
        known = curator.ask(text + " ROWS_AT_MOST 700")
    # without a public number of rows a sum of a sample has no bound, and says so
    cells = unknown.rows[0].cells
    assert [cells[name].within for name in "nksh"] == [None] * 4
    assert cells["n"].interval(0.9) == (-np.inf, np.inf)
    assert json.loads(known.to_json()) == known.to_dict()
    cells = known.rows[0].cells
    for name, widest in (("n", 300), ("k", 300), ("s", 12_000), ("m", 80), ("z", 80), ("h", 300)):
        assert 0 < cells[name].within < widest
    low, high = cells["m"].interval(0.9)
    assert low < cells["m"].value < high
    assert len(cells["h"].value) == 3
