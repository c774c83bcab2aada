"""Groups found in the data: the least naming that keeps what was asked, its part of the price, its life in a
ledger.
"""

from __future__ import annotations

import collections
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pyarrow
import pytest
import scipy

from brdp.catalog import Budget, Catalog, Clip, Column, ColumnUnit, Relation, RowUnit, Rule, Table
from brdp.curator import Curator
from brdp.curator.curator import filter_for
from brdp.curator.found import _least, selection_for
from brdp.curator.prepare import prepare
from brdp.data import FrameSource, open_source
from brdp.data.engine import EngineFailed
from brdp.errors import BudgetExceeded, InvalidInput, NotPossible
from brdp.ledger import odometer, open_ledger, verify
from brdp.ledger.export import dp_events
from brdp.noise.describe import read_noise
from brdp.query import parse, resolve, sensitivity, to_text
from brdp.query import table as builder
from tests.curator.worlds import failing, watched

FALSE_ALARM = 1e-7
SIZES = {"large": 400, "middling": 60, "small": 3, "lonely": 1}
ASKED = "SELECT word, COUNT(*) AS n WITHIN 20 FROM people GROUP BY word GROUPS_OF 60"
PEOPLE = Table(
    name="people",
    source=FrameSource(None),
    unit=ColumnUnit("user"),
    rows_per_unit=4,
    groups_per_unit=2,
    columns=(Column("v", clip=Clip(Fraction(0), Fraction(9), integer=True)), Column("part", categories=("x", "y"))),
    budget=Budget(epsilon=20.0, delta=1e-6),
)  # fmt: skip


def rows_of(sizes) -> pyarrow.Table:
    """A user of their own for every row."""
    words = [word for word, size in sizes.items() for _ in range(size)]
    return pyarrow.table(
        {
            "user": list(range(len(words))),
            "word": words,
            "part": ["xy"[index % 2] for index in range(len(words))],
            "v": [index % 10 for index in range(len(words))],
        }
    )


def curator_of(
    frame, ledger: Path | str = ":memory:", table: Table = PEOPLE, before=None, engine=None
):
    table = replace(table, source=FrameSource(frame))
    opener = open_source if before is None else watched(before)
    if engine is not None:
        opener = lambda source: engine  # noqa: E731
    return Curator(Catalog((table,), origin="a test"), open_ledger(str(ledger)), opener=opener)


def law(epsilon, delta, groups, units):
    """The optimal law in 60 digits, as it is printed (theory.md, section 8)."""
    with mpmath.workdps(60):
        a, d = mpmath.exp(mpmath.mpf(epsilon) / groups), mpmath.mpf(delta) / groups
        found = mpmath.mpf(0)
        for _ in range(units):
            found = min(a * found + d, 1 - (1 - found - d) / a, mpmath.mpf(1))
        return found


@pytest.mark.parametrize("units", [2, 3, 10, 60, 3000])
@pytest.mark.parametrize("chance", [0.05, 0.5, 0.95, 0.999])
@pytest.mark.parametrize(("delta", "groups"), [(1e-9, 1), (1e-6, 3), (1e-3, 1)])
def test_the_least_epsilon_that_names_such_groups(units, chance, delta, groups):
    found = _least(units, chance, delta, groups)
    assert law(found.epsilon, delta, groups, units) >= chance * (1 - 1e-12)
    # four digits are all that is lost (and delta alone may name them)
    assert units * delta >= chance or law(found.epsilon * (1 - 2e-3), delta, groups, units) < chance


def test_naming_is_part_of_the_price_and_of_the_plan():
    frame = rows_of(SIZES)
    with curator_of(frame) as curator:
        price = curator.price(ASKED)
        plain = curator.price(
            "SELECT word, COUNT(*) AS n WITHIN 20 FROM people WHERE word IN ('a', 'b', 'c') GROUP BY word"
        )
        # a unit moves two counts either way: what the noise costs is the same whichever groups are named
        assert price.found is not None
        assert price.epsilon == pytest.approx(plain.epsilon + price.found.epsilon, rel=1e-9)
        assert price.delta >= plain.delta + price.found.delta * (1 - 1e-9)
        assert price.found.delta == filter_for(PEOPLE).delta_each
        assert price.acceptance == plain.acceptance
        answer = curator.ask(ASKED)
        assert (answer.epsilon, answer.delta) == (price.epsilon, price.delta)
        assert curator.budget("people").state.epsilon == pytest.approx(price.epsilon)
        (charge,) = curator.history()
        naming, *noises = charge["releases"]
        assert naming == {
            "spend": {"epsilon": price.found.epsilon, "delta": price.found.delta},
            "partition": {"groups": 2},
        }
        assert [noise["sensitivity"] for noise in noises] == [4, 2]
        assert {noise["cells"] for noise in noises} == {None}
        # with an epsilon, the noise has what naming leaves
        whole = curator.price(ASKED.replace("WITHIN 20", "") + " EPSILON 1.5")
        assert 1.4 < whole.epsilon <= 1.5
        verify(curator.ledger)
        assert odometer(curator.ledger, "people", delta=1e-6).delta == 1e-6 + price.found.delta
        (event,) = dp_events(curator.ledger)
        assert {"event": "UnsupportedDpEvent"} in event["events"]


def test_what_is_named_and_what_is_said():
    # the middling group is named in 95 % of answers, a small one hardly ever: shown by SIZES of their own below
    with curator_of(rows_of(SIZES)) as curator:
        answer = curator.ask(ASKED)
        names = [row.key["word"] for row in answer.rows]
        assert names in (["large"], ["large", "middling"])
        assert abs(answer.rows[0].cells["n"].value - SIZES["large"]) < 200
        said = " ".join(answer.notes)
        for words in ("60 units or more", "counted nowhere", "cannot be told", "at most 2 groups"):
            assert words in said
        # nothing in the words is of the data: an empty table is told the same
        with curator_of(rows_of({})) as other:
            empty = other.ask(ASKED)
        assert empty.rows == ()
        assert empty.notes == answer.notes
        assert "no group was named" in str(empty)
        assert "lonely" not in str(answer)


def test_groups_are_named_as_often_as_the_law_says():
    """80 groups of each of 5 sizes, 18 answers through the curator: two-sided binomial at 1e-7 for each size."""
    sizes = (30, 50, 56, 60, 66)
    frame = rows_of({f"{size} {index}": size for size in sizes for index in range(80)})
    engine = open_source(FrameSource(frame))
    named: collections.Counter = collections.Counter()
    answers = 18
    for _ in range(answers):
        curator = curator_of(frame, engine=engine)
        for row in curator.ask(ASKED).rows:
            named[int(row.key["word"].split()[0])] += 1
        selection = curator.prepare(ASKED).selection
        curator.ledger.close()
    engine.close()
    assert selection is not None
    for size in sizes:
        expected = float(law(selection.epsilon, selection.delta, selection.groups, size))
        assert scipy.stats.binomtest(named[size], 80 * answers, expected).pvalue > FALSE_ALARM
    # controls: one unit more or fewer is another law
    at_60 = [float(law(selection.epsilon, selection.delta, selection.groups, n)) for n in (55, 66)]
    for wrong in at_60:
        assert scipy.stats.binomtest(named[60], 80 * answers, wrong).pvalue < FALSE_ALARM


def test_naming_and_noise_together_are_private():
    """The joint law of names and noisy counts of two neighbours, summed point by point, against what is charged.

    A unit is in two groups of n units; without it both have one less. An outcome is, for either group, "not named",
    or a noisy count.
    """
    query = resolve(parse(ASKED.replace("GROUPS_OF 60", "GROUPS_OF 4 CONFIDENCE 0.5")), PEOPLE)
    filter = filter_for(PEOPLE)
    prepared = prepare(query, PEOPLE, filter)
    selection, (release,) = prepared.selection, prepared.releases
    assert selection is not None
    moved = sensitivity(release.total, query=query, table=PEOPLE).moves
    assert moved == (4, 2)
    epsilon, delta = (
        filter.epsilon_of(prepared.price(filter)),
        filter.delta_of(prepared.price(filter)),
    )
    values = np.arange(-600, 601)
    mass = np.exp([read_noise(curator_noise(release)).log_mass(v, v) for v in values.astype(float)])

    def of_group(units: int, rows: int, naming):
        named = float(naming.probability(units=units))
        return np.append(named * np.interp(values - rows, values, mass), 1 - named)

    def worst(naming, units: int, both: tuple[int, int]) -> float:
        found = 0.0
        with_unit = [of_group(units, rows, naming) for rows in both]
        without = [of_group(units - 1, 0, naming) for _ in both]
        first, second = (np.outer(*pair) for pair in (with_unit, without))
        for p, q in ((first, second), (second, first)):
            found = max(found, float(np.maximum(p - np.exp(epsilon) * q, 0).sum()))
        return found

    for units in (1, 2, 3, 4, 5):
        # rows of the unit: four in all, in two groups
        for both in ((2, 2), (3, 1)):
            assert worst(selection, units, both) <= delta
    # control: the law for a unit in one group names the first unit twice too often
    one = replace_groups(selection)
    assert worst(one, 1, (2, 2)) > 1.5 * float(selection.probability(units=1)) * 2 * 0.99


def curator_noise(release):
    return release.to_dicts(Fraction(0))[0]["noise"]


def replace_groups(selection):
    return type(selection)(epsilon=selection.epsilon, delta=selection.delta, groups=1)


def test_an_interrupted_question_is_completed_and_a_stored_one_stands(tmp_path: Path):
    frame, ledger = rows_of(SIZES), tmp_path / "ledger.sqlite"
    for reads in (1, 2):  # while groups are counted, and while totals are
        left = [reads]

        def fails_later(left=left):
            left[0] -= 1
            if left[0] == 0:
                failing()

        asked = ASKED.replace("WITHIN 20", f"WITHIN {21 - reads}")
        with curator_of(frame, ledger, before=fails_later) as curator:
            before = curator.budget("people").state.epsilon
            with pytest.raises(EngineFailed):
                curator.ask(asked)
            charged = curator.budget("people").state.epsilon
            assert charged > before
        with curator_of(frame, ledger) as curator:
            answer = curator.ask(asked)
            # the noise is paid, but groups are named anew
            named = curator.prepare(asked).selection
            assert named is not None
            assert (answer.epsilon, answer.delta) == (named.epsilon, named.delta)
            assert not answer.replayed
            assert curator.budget("people").state.epsilon == pytest.approx(charged + named.epsilon)
            again = curator.ask(asked)
            assert (again.replayed, again.epsilon) == (True, 0)
            assert again.rows[0].cells["n"].value == answer.rows[0].cells["n"].value
            verify(curator.ledger)
    # other data: what was named stays named
    with curator_of(rows_of({"other": 500}), ledger) as curator:
        again = curator.ask(ASKED)
        assert again.replayed
        assert again.rows[0].key == {"word": "large"}
        # smaller groups, or a surer naming, are another question and another charge
        assert curator.price(ASKED.replace("60", "59")).free is False
        assert curator.price(ASKED + " CONFIDENCE 0.99").free is False
        assert curator.price(ASKED + " CONFIDENCE 0.9").free is True


def test_failures_that_tell_what_was_named_are_paid_for():
    """An engine that fails at the totals: whoever asks until no group is named has seen the failures before."""
    left = [0]

    def fails_at_totals():
        left[0] += 1
        if left[0] % 2 == 0:
            failing()

    # one group, which is named nearly always: every attempt tells by its failure that it is there
    limited = replace(PEOPLE, budget=Budget(epsilon=3.0, delta=1e-6))
    with curator_of(rows_of({"only": 400}), table=limited, before=fails_at_totals) as curator:
        selection = curator.prepare(ASKED).selection
        assert selection is not None
        failures = 0
        spent = [0.0]
        while failures < 50:
            try:
                curator.ask(ASKED)
            except EngineFailed:
                failures += 1
                state = curator.budget("people").state
                spent.append(state.epsilon)
                assert spent[-1] - spent[-2] >= selection.epsilon * (1 - 1e-9)
            except BudgetExceeded:
                break
        assert 1 < failures <= 1 + (3.0 - spent[1]) / selection.epsilon
        # refused: nothing was read, and the question is not taken from whoever may pay for it
        reads = left[0]
        with pytest.raises(BudgetExceeded, match="once more"):
            curator.ask(ASKED)
        assert left[0] == reads
        assert curator.budget("people").state.epsilon == spent[-1] <= 3.0
        assert len(curator.history()) == failures
        verify(curator.ledger)


def test_public_keys_beside_found_ones():
    asked = "SELECT part, word, COUNT(*) AS n, SUM(v) AS s, HISTOGRAM(v, 0, 5, 9) AS h FROM people " \
            "GROUP BY part, word GROUPS_OF 60 EPSILON 10"  # fmt: skip
    with curator_of(rows_of({"large": 400, "huge": 800, "tiny": 1})) as curator:
        answer = curator.ask(asked)
        assert [tuple(row.key.values()) for row in answer.rows] == [
            (part, word) for part in "xy" for word in ("huge", "large")
        ]
        for row in answer.rows:
            size = {"large": 200, "huge": 400}[row.key["word"]]
            assert abs(row.cells["n"].value - size) < 60
            assert abs(sum(row.cells["h"].value) - size) < 120
        other = curator.ask(asked.replace("GROUP BY part, word", "GROUP BY word, part"))
        assert other.replayed
        assert json.loads(other.to_json())["rows"][0]["key"] == {"word": "huge", "part": "x"}


@pytest.mark.parametrize("unit", [RowUnit(), ColumnUnit("user")])
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rule", [Rule.SUM, Rule.RENYI])
def test_units_relations_and_filters(unit, relation, rule):
    limits = {} if isinstance(unit, ColumnUnit) else {"rows_per_unit": 1, "groups_per_unit": None}
    budget = Budget(epsilon=20.0, delta=1e-6, rule=rule)
    table = replace(PEOPLE, unit=unit, relation=relation, budget=budget, **limits)
    with curator_of(rows_of({"large": 2000, "lonely": 1}), table=table) as curator:
        answer = curator.ask(ASKED.replace("GROUPS_OF 60", "GROUPS_OF 300"))
        assert [row.key["word"] for row in answer.rows] == ["large"]
        selection = curator.prepare(ASKED.replace("GROUPS_OF 60", "GROUPS_OF 300")).selection
        assert selection is not None
        of_unit = 2 if isinstance(unit, ColumnUnit) else 1
        assert selection.groups == of_unit * (2 if relation is Relation.REPLACE else 1)
        verify(curator.ledger)
        assert curator.budget("people").state.delta <= 1e-6


def test_the_same_by_calls_and_as_text():
    built = builder("people").group_by("word").count(within=20, name="n").groups_of(60).query()
    assert built == parse(ASKED)
    assert parse(to_text(built)) == built


REFUSED = {
    "SELECT COUNT(*) WITHIN 9 FROM people GROUP BY word GROUPS_OF 0": InvalidInput,
    "SELECT COUNT(*) WITHIN 9 FROM people GROUP BY word GROUPS_OF 1.5": InvalidInput,
    "SELECT COUNT(*) WITHIN 9 FROM people GROUP BY word GROUPS_OF 1000000": InvalidInput,
    "SELECT COUNT(*) WITHIN 9 FROM people GROUPS_OF 60": InvalidInput,
    "SELECT COUNT(*) WITHIN 9 FROM people GROUP BY part GROUPS_OF 60": InvalidInput,
    "SELECT COUNT(*) WITHIN 9 FROM people GROUP BY word, user GROUPS_OF 60": InvalidInput,
    "SELECT COUNT(*) WITHIN 9 FROM people WHERE word IN ('a', 'b') GROUP BY word GROUPS_OF 60": InvalidInput,
    "SELECT COUNT(*) WITHIN 9 FROM people GROUP BY word GROUPS_OF 60 SIMULTANEOUS": InvalidInput,
    "SELECT COUNT(*) WITHIN 9 FROM people GROUP BY word GROUPS_OF 60 SAMPLE 1 % ROWS_AT_MOST 9": InvalidInput,
    "SELECT COUNT(*) WITHIN 9 FROM people GROUP BY word GROUPS_OF 1": NotPossible,
    "SELECT COUNT(*) WITHIN 9 FROM people GROUP BY word GROUPS_OF 60 EPSILON 0.1": NotPossible,
}  # fmt: skip


def test_what_is_refused_is_not_charged():
    with curator_of(rows_of(SIZES)) as curator:
        for asked, error in REFUSED.items():
            with pytest.raises(error):
                curator.ask(asked)
        assert curator.budget("people").state.epsilon == 0
        # too small to be paid for: said without looking for a wider bound
        price = curator.price(ASKED.replace("60", "3"))
        assert not price.reachable
        assert "GROUPS_OF" in str(price)
    pure = replace(PEOPLE, budget=Budget(epsilon=5.0, delta=0.0))
    with (
        curator_of(rows_of(SIZES), table=pure) as curator,
        pytest.raises(NotPossible, match="delta"),
    ):
        curator.ask(ASKED)


def test_keys_that_cannot_be_asked_for_are_no_keys():
    sizes = {"a\x00b": 300, "\ufffd": 300, "a ": 300, "A": 300, "a": 300, "'; --": 300, "": 300}
    with curator_of(rows_of(sizes)) as curator:
        found = [row.key["word"] for row in curator.ask(ASKED).rows]
        assert found == ["", "'; --", "A", "a", "a "]
    numbers = pyarrow.table(
        {"user": list(range(600)), "word": pyarrow.array([2**64 - 1] * 300 + [7] * 300, pyarrow.uint64())}
    )  # fmt: skip
    with curator_of(numbers) as curator:
        assert [row.key["word"] for row in curator.ask(ASKED).rows] == [7]


def test_keys_from_the_data_cannot_forge_lines_of_an_answer():
    forged = "a\nb  900 ±20\x1b[31m\u202e"
    with curator_of(rows_of({forged: 300, "long" * 500: 300, "maté": 300})) as curator:
        answer = curator.ask(ASKED)
    assert {row.key["word"] for row in answer.rows} == {forged, "long" * 500, "maté"}
    text = str(answer)
    assert "a\\nb  900 ±20\\x1b[31m\\u202e" in text
    assert "maté" in text
    assert max(map(len, text.splitlines()[:4])) < 120
    assert "\x1b" not in answer._repr_html_()


def test_no_plan_depends_on_the_data():
    asked = resolve(parse(ASKED), PEOPLE)
    filter = filter_for(PEOPLE)
    assert selection_for(asked, PEOPLE, filter) is selection_for(asked, PEOPLE, filter)
    (release,) = prepare(asked, PEOPLE, filter).releases
    assert release.cells is None
    assert release.draws == release.folds == 2
