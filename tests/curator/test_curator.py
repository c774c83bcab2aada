"""The life of a question: planned without data, charged, read, stored, answered; and what may go wrong."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from brdp.data.engine import EngineFailed
from brdp.errors import BrdpError, BudgetExceeded, NotPossible
from brdp.ledger import open_ledger, verify
from brdp.noise.describe import read_noise
from brdp.query import column, table
from tests.curator.worlds import curator_at, failing

COUNT = "SELECT colour, COUNT(*) AS n WITHIN 8 FROM people GROUP BY colour CONFIDENCE 0.95"
MEAN = "SELECT AVG(age) AS a WITHIN 3 FROM people CONFIDENCE 0.9"
ALL = (
    "SELECT colour, COUNT(*) AS n, COUNT(score) AS k, SUM(age) AS s, SUM(score) AS t, AVG(score) AS m, "
    "HISTOGRAM(age) AS h FROM people WHERE age >= 5 GROUP BY colour EPSILON 2"
)


def spent(curator) -> float:
    return curator.budget("people").state.epsilon


def test_data_are_read_after_the_charge_and_the_answer_leaves_after_it_is_stored(
    tmp_path: Path,
) -> None:
    seen = []

    def look() -> None:
        # through a connection of its own: what another process would find after a power cut
        with open_ledger(tmp_path / "ledger.sqlite") as ledger:
            seen.append((len(ledger.history()), verify(ledger).answers))

    with curator_at(tmp_path, look) as curator:
        answer = curator.ask(COUNT, analyst="ann")
        assert seen == [(1, 0)]
        with open_ledger(tmp_path / "ledger.sqlite") as ledger:
            assert verify(ledger).answers == 1
            (charge,) = ledger.history()
    assert charge["analyst"] == "ann"
    assert answer.epsilon == pytest.approx(spent_of(tmp_path), rel=1e-12)
    assert [row.key for row in answer.rows] == [{"colour": c} for c in "xyz"]


def spent_of(folder: Path) -> float:
    with open_ledger(folder / "ledger.sqlite") as ledger:
        return ledger.budget("people").state.epsilon


def test_the_charge_is_what_the_noise_costs(tmp_path: Path) -> None:
    """From the ledger alone: the price of a charge is recomputed from its description."""
    from brdp.privacy import compose

    with curator_at(tmp_path) as curator:
        for text in (COUNT, MEAN, ALL):
            curator.ask(text)
        filter = curator.budget("people").filter
        for charge in curator.history():
            curves: dict = {}
            tau = Fraction(0)
            for release in charge["releases"]:
                curve = read_noise(release["noise"]).privacy(sensitivity=release["sensitivity"])
                curves[curve] = curves.get(curve, 0) + release["count"]
                tau += Fraction(release["tau"])
            again = filter.price(compose(curves), tau=tau)
            written = tuple(int(part, 16) for part in charge["price"].split())
            assert again == pytest.approx(written, rel=1e-9)
            assert tau == Fraction(charge["tau"]) > 0


def test_an_interrupted_question_completes_free_with_the_noise_that_was_charged(
    tmp_path: Path,
) -> None:
    with curator_at(tmp_path, failing) as curator:
        with pytest.raises(EngineFailed):
            curator.ask(COUNT)
        cost = spent(curator)
        assert cost > 0
        (charge,) = curator.history()
    with curator_at(tmp_path) as curator:
        answer = curator.ask(COUNT.replace("WITHIN 8", "WITHIN 9"))
        assert answer.epsilon == answer.delta == 0
        assert not answer.replayed
        assert curator.history() == [charge]
        assert spent(curator) == cost
        again = curator.ask(COUNT)
        assert again.replayed
        assert [r.cells["n"].value for r in again.rows] == [r.cells["n"].value for r in answer.rows]


def test_the_same_question_is_free_however_it_is_put(tmp_path: Path) -> None:
    with curator_at(tmp_path) as curator:
        first = curator.ask(COUNT)
        cost = spent(curator)
        for other in (
            COUNT,
            COUNT.replace("AS n", "AS people"),
            COUNT.replace("WITHIN 8", "WITHIN 20"),
            COUNT.replace("0.95", "0.9"),
            table("people").group_by(colour=["z", "y", "x"]).count(within=8),
        ):
            again = curator.ask(other)
            assert again.replayed
            found = {row.key["colour"]: next(iter(row.cells.values())).value for row in again.rows}
            assert found == {row.key["colour"]: row.cells["n"].value for row in first.rows}
        assert spent(curator) == cost
        for tighter in (COUNT.replace("WITHIN 8", "WITHIN 7"), COUNT.replace("0.95", "0.99")):
            assert not curator.ask(tighter).replayed
        assert spent(curator) > 2 * cost


def test_new_data_charge_again(tmp_path: Path) -> None:
    with curator_at(tmp_path) as curator:
        curator.ask(COUNT)
        cost = spent(curator)
    with curator_at(tmp_path, version="2") as curator:
        assert not curator.ask(COUNT).replayed
        assert spent(curator) == pytest.approx(2 * cost)


def test_a_price_reads_nothing_and_spends_nothing(tmp_path: Path) -> None:
    with curator_at(tmp_path, failing) as curator:
        price = curator.price(COUNT)
        assert curator.history() == []
        assert 0.95 <= price.acceptance < 0.96
        assert price.reachable
        assert price.remaining_queries == int(30 / price.epsilon)
    with curator_at(tmp_path) as curator:
        answer = curator.ask(COUNT)
        assert answer.epsilon == pytest.approx(price.epsilon, rel=1e-12)
        assert curator.price(COUNT).free


def test_beyond_the_budget_nothing_is_charged_and_the_nearest_bound_is_named(
    tmp_path: Path,
) -> None:
    with curator_at(tmp_path, epsilon=0.1) as curator:
        price = curator.price(COUNT)
        assert not price.reachable
        assert price.nearest is not None
        with pytest.raises(BudgetExceeded, match=f"got one of epsilon {price.epsilon:.6g}"):
            curator.ask(COUNT)
        assert curator.history() == []
        wider = COUNT.replace("WITHIN 8", f"WITHIN {price.nearest.within['n']}")
        assert curator.price(wider).reachable
        assert not curator.price(COUNT.replace("WITHIN 8", "WITHIN 15")).reachable
        curator.ask(wider)


BAD = (
    "SELECT COUNT(*) WITHIN 5 FROM nobody",
    "SELECT AVG(nothing) WITHIN 5 FROM people",
    "SELECT AVG(user) WITHIN 5 FROM people",
    "SELECT COUNT(*) WITHIN 0 FROM people",
    "SELECT COUNT(*) WITHIN -3 FROM people",
    "SELECT COUNT(*) WITHIN 5 FROM people CONFIDENCE 1",
    "SELECT COUNT(*) FROM people",
    "SELECT user, COUNT(*) WITHIN 5 FROM people GROUP BY user",
    "SELECT COUNT(*) WITHIN 5 FROM people; DROP TABLE people",
    "SELECT MEDIAN(age) WITHIN 5 FROM people",
    "SELECT COUNT(*) WITHIN 5 FROM people WHERE colour = 'x' AND",
    "",
    "\x00",
)


@pytest.mark.parametrize("text", BAD)
def test_bad_questions_are_refused_and_nothing_is_charged(tmp_path: Path, text: str) -> None:
    with curator_at(tmp_path, failing) as curator:
        for act in (curator.ask, curator.price):
            with pytest.raises(BrdpError) as caught:
                act(text)
            assert not isinstance(caught.value, EngineFailed), "data were read"
        assert curator.history() == []


NO_NOISE = (
    "SELECT COUNT(*) AS v WITHIN 0.5 FROM people",
    "SELECT AVG(score) AS v WITHIN 1e-13 FROM people",
    "SELECT SUM(score) AS v WITHIN 1e-9 FROM people",
)


@pytest.mark.parametrize("text", NO_NOISE)
def test_where_no_noise_keeps_a_bound_the_price_names_one_that_some_does(
    tmp_path: Path, text: str
) -> None:
    with curator_at(tmp_path, failing) as curator:
        with pytest.raises(NotPossible):
            curator.ask(text)
        price = curator.price(text)
        assert not price.reachable
        assert price.to_dict()["epsilon"] is None
        assert price.nearest is not None
        assert str(price).startswith(
            "no noise keeps such a bound\nthe nearest bound that fits: v ±"
        )
        asked, nearest = text.split()[5], price.nearest.within["v"]
        wider = curator.price(text.replace(asked, str(nearest)))
        assert wider.reachable
        assert wider.epsilon == pytest.approx(price.nearest.epsilon, rel=1e-6)
        # nearest to within the steps of the search
        assert not curator.price(text.replace(asked, str(nearest * 0.9))).reachable
        assert curator.history() == []


def test_a_mean_says_what_its_bound_takes_for_granted(tmp_path: Path) -> None:
    with curator_at(tmp_path) as curator:
        notes = curator.ask("SELECT AVG(age) AS m WITHIN 3 FROM people").notes
        assert "m: the bound holds where 150 rows of a group count, or more." in notes
        notes = curator.ask("SELECT AVG(age) SIZE 600 AS m WITHIN 3 FROM people").notes
        assert "m: divided by the public size 600, however many rows count." in notes
        notes = curator.ask("SELECT AVG(age) AS m FROM people WHERE age > 1 EPSILON 1").notes
        assert not any("rows of a group count" in note for note in notes)


def test_errors_hold_no_private_value(tmp_path: Path) -> None:
    with curator_at(tmp_path) as curator:
        for text in BAD:
            with pytest.raises(BrdpError) as caught:
                curator.ask(text)
            assert "0.37" not in str(caught.value)


def test_a_pure_budget_is_answered_by_the_exact_sampler(tmp_path: Path) -> None:
    with curator_at(tmp_path, delta=0.0) as curator:
        for text in (COUNT, MEAN):
            answer = curator.ask(text)
            assert answer.delta == 0
        assert [charge["tau"] for charge in curator.history()] == ["0", "0"]
        assert curator.budget("people").filter.to_dict()["filter"] == "pure"


def test_every_aggregate_at_once(tmp_path: Path) -> None:
    with curator_at(tmp_path) as curator:
        answer = curator.ask(ALL)
    assert answer.epsilon <= 2
    assert answer.epsilon > 1
    assert len(answer.rows) == 3
    by_colour = {row.key["colour"]: row.cells for row in answer.rows}
    # nothing is left out for a group without rows, and noise may make it negative
    assert set(by_colour["z"]) == {"n", "k", "s", "t", "m", "h"}
    assert len(by_colour["z"]["h"].value) == 3
    low, high = by_colour["x"]["m"].interval(0.99)
    assert low < high


def test_a_unit_in_several_groups_costs_a_composition(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    with curator_at(one) as curator:
        single = curator.price(COUNT).epsilon
    with curator_at(two, per_user=True) as curator:
        releases = curator.prepare(COUNT).releases
        assert releases[0].folds == 2
        assert releases[0].lattice.sensitivity == 3
        assert curator.price(COUNT).epsilon > 2 * single
        assert not curator.ask(COUNT).replayed


def test_replacing_a_unit_moves_more(tmp_path: Path) -> None:
    with curator_at(tmp_path, relation="replace") as curator:
        assert curator.prepare(COUNT).releases[0].folds == 2
        assert curator.prepare(MEAN).releases[0].lattice.sensitivity > 0
        curator.ask(COUNT)


def test_simultaneous_confidence_is_dearer(tmp_path: Path) -> None:
    with curator_at(tmp_path) as curator:
        alone = curator.price(COUNT)
        together = curator.price(COUNT + " SIMULTANEOUS")
    assert together.acceptance**3 >= 0.95
    assert together.epsilon > alone.epsilon


def test_a_mean_needs_a_public_size(tmp_path: Path) -> None:
    with curator_at(tmp_path) as curator:
        fluent = table("people").where(column("age") >= 10).mean("age", within=2, size=480)
        assert curator.ask(fluent).rows[0].cells["avg_age"].within == 2
        small = MEAN.replace("CONFIDENCE", "ROWS_AT_LEAST 400 CONFIDENCE")
        assert curator.price(small).epsilon < curator.price(MEAN).epsilon


def test_forms(tmp_path: Path) -> None:
    import json

    with curator_at(tmp_path) as curator:
        answer = curator.ask(ALL)
    assert json.loads(answer.to_json()) == answer.to_dict()
    rows = answer.to_rows()
    assert answer.to_pandas().to_dict("records")[0]["n"] == rows[0]["n"]
    assert answer.to_polars().to_dicts() == rows
    assert answer.to_arrow().to_pylist() == rows
    assert "colour" in str(answer)
    clamped = answer.post_processed(at_least=0, digits=0)
    assert all(row.cells["n"].value >= 0 for row in clamped.rows)
    assert len(clamped.notes) == len(answer.notes) + 2


def test_threads_share_a_curator(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    texts = [
        f"SELECT COUNT(*) AS n WITHIN 20 FROM people WHERE age >= {index % 4}"
        for index in range(16)
    ]
    with curator_at(tmp_path) as curator:
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(curator.ask, texts))
        assert len(curator.history()) == 4
        for index in range(4):
            assert len({answer.value() for answer in answers[index::4]}) == 1
        verify(curator.ledger)


def test_a_renyi_budget_lasts_longer_for_many_small_questions(tmp_path: Path) -> None:
    import dataclasses

    from brdp.catalog import Budget, Catalog, Rule
    from brdp.curator import Curator
    from tests.curator.worlds import catalog

    text = "SELECT COUNT(*) AS n WITHIN 150 FROM people WHERE age >= 7"
    lasting = {}
    for rule in (Rule.SUM, Rule.RENYI):
        (people,) = catalog(tmp_path).tables
        people = dataclasses.replace(people, budget=Budget(1.0, 1e-6, rule=rule))
        with Curator(Catalog((people,)), open_ledger(":memory:")) as curator:
            lasting[rule] = curator.price(text).remaining_queries
            answer = curator.ask(text)
            assert abs(answer.value() - 516) < 1500
            assert curator.budget("people").to_dict()["filter"] == rule.value
            verify(curator.ledger)
    assert lasting[Rule.RENYI] > 3 * lasting[Rule.SUM]


def test_a_vast_budget_is_answered_exactly(tmp_path: Path) -> None:
    """e^epsilon times a sampler's distance would not fit any delta: then there must be no distance."""
    with curator_at(tmp_path, epsilon=100.0) as curator:
        curator.ask(COUNT)
        assert curator.history()[0]["tau"] == "0"


def test_the_price_of_a_mean_over_nobody_knows_how_many_rows(tmp_path: Path) -> None:
    import dataclasses

    from brdp.catalog import Catalog
    from brdp.curator import Curator
    from brdp.errors import NotPossible
    from tests.curator.worlds import catalog

    (people,) = catalog(tmp_path).tables
    people = dataclasses.replace(people, rows_at_least=None)
    with Curator(Catalog((people,)), open_ledger(":memory:")) as curator:
        price = curator.price(MEAN)
        assert not price.reachable
        prices = list(price.epsilon_by_rows.values())
        assert prices == sorted(prices, reverse=True)
        assert len(prices) >= 3
        with pytest.raises(NotPossible, match="ROWS_AT_LEAST"):
            curator.ask(MEAN)
        assert curator.history() == []
        known = MEAN.replace("CONFIDENCE", "ROWS_AT_LEAST 1000 CONFIDENCE")
        assert curator.price(known).epsilon == price.epsilon_by_rows[1000]


def test_the_odometer_reads_what_was_released(tmp_path: Path) -> None:
    from brdp.ledger import odometer

    with curator_at(tmp_path) as curator:
        for bound in (40, 41, 42):
            curator.ask(f"SELECT COUNT(*) AS n WITHIN {bound} FROM people WHERE age >= {bound}")
        curator.ledger.spend("people", epsilon=0.5, delta=1e-9, note="elsewhere")
        read = odometer(curator.ledger, "people", delta=1e-7)
        status = curator.budget("people").state
    assert read.releases == 3
    assert read.delta == pytest.approx(1e-7 + 1e-9)
    assert 0.5 < read.epsilon[1] <= status.epsilon * (1 + 1e-12)
    assert read.epsilon[0] <= read.epsilon[1]
