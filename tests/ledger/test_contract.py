"""What both stores promise: one suite, run on SQLite and on PostgreSQL."""

from __future__ import annotations

import dataclasses
import math
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest

from brdp.errors import BudgetExceeded, InvalidInput
from brdp.ledger import (
    BudgetStatus,
    Granted,
    Ledger,
    LedgerRefused,
    LedgerUnavailable,
    Period,
    Stored,
    open_ledger,
    verify,
)
from brdp.ledger.books import Books
from brdp.ledger.schema import NEWEST
from brdp.ledger.store import Store
from brdp.privacy.filters import PureFilter, RenyiFilter
from tests.ledger.asking import EACH, TABLE, filter_for, request, serves


@pytest.fixture
def ledger(place: str):
    with open_ledger(place) as opened:
        opened.grant(TABLE, filter_for(3))
        yield opened


def charges(ledger: Ledger) -> int:
    return len(ledger.history())


def test_a_question_is_charged_answered_and_replayed(ledger: Ledger, place: str) -> None:
    granted = ledger.ask(request("a"), serves=serves(1))
    assert isinstance(granted, Granted)
    assert granted.fresh
    assert ledger.answer(granted, {"n": 41}) == {"n": 41}
    with open_ledger(place) as again:
        stored = again.ask(request("a"), serves=serves(1))
        assert isinstance(stored, Stored)
        assert stored.answer == {"n": 41}
        assert charges(again) == 1
        verified = verify(again)
    assert (verified.entries, verified.charges, verified.answers) == (3, 1, 1)


def test_a_tighter_bound_is_charged_anew(ledger: Ledger) -> None:
    granted = ledger.ask(request("a", bound=2.0), serves=serves(2))
    assert isinstance(granted, Granted)
    ledger.answer(granted, {"n": 1})
    tighter = ledger.ask(request("a", bound=1.0), serves=serves(1))
    assert isinstance(tighter, Granted)
    assert tighter.fresh
    ledger.answer(tighter, {"n": 2})
    wider = ledger.ask(request("a", bound=3.0), serves=serves(3))
    assert isinstance(wider, Stored)
    assert charges(ledger) == 2


def test_the_last_of_a_budget(ledger: Ledger) -> None:
    for name in "abc":
        ledger.ask(request(name), serves=serves(1))
    before = ledger.head()
    with pytest.raises(BudgetExceeded):
        ledger.ask(request("d"), serves=serves(1))
    with pytest.raises(BudgetExceeded):
        ledger.ask(request("d", epsilon=1e-50), serves=serves(1))
    assert ledger.head() == before
    assert ledger.budget(TABLE).to_dict()["epsilon"] == {
        "total": 3 * EACH,
        "spent": 3 * EACH,
        "left": 0.0,
    }
    verify(ledger)


def test_an_interrupted_question_completes_free_with_the_noise_it_was_charged_for(
    ledger: Ledger,
) -> None:
    first = ledger.ask(request("a", epsilon=2.0), serves=serves(1))
    assert isinstance(first, Granted)
    ledger.give_up(first)
    again = ledger.ask(request("a", epsilon=3.0), serves=serves(1))
    assert isinstance(again, Granted)
    assert not again.fresh
    assert again.seq == first.seq
    assert again.charge == first.charge
    assert charges(ledger) == 1


def test_only_one_completes_a_charge_and_the_other_gets_its_answer(ledger: Ledger) -> None:
    first = ledger.ask(request("a"), serves=serves(1))
    assert isinstance(first, Granted)
    found: list[object] = []
    waiting = threading.Thread(
        target=lambda: found.append(ledger.ask(request("a"), serves=serves(1)))
    )
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    ledger.answer(first, {"n": 7})
    waiting.join(20)
    assert isinstance(found[0], Stored)
    assert found[0].answer == {"n": 7}


def test_an_expired_claim_is_taken_over_and_the_first_answer_wins(place: str) -> None:
    now = [1e9]
    with open_ledger(place, clock=lambda: now[0]) as ledger:
        ledger.grant(TABLE, filter_for(3))
        slow = ledger.ask(request("a"), serves=serves(1))
        now[0] += 1000
        quick = ledger.ask(request("a"), serves=serves(1))
        assert isinstance(slow, Granted)
        assert isinstance(quick, Granted)
        assert quick.seq == slow.seq
        assert ledger.answer(quick, {"n": 1}) == {"n": 1}
        assert ledger.answer(slow, {"n": 2}) == {"n": 1}
        verify(ledger)


def test_patience_ends(ledger: Ledger) -> None:
    ledger.ask(request("a"), serves=serves(1))
    with pytest.raises(LedgerUnavailable, match="ask again later"):
        ledger.ask(request("a"), serves=serves(1), patience=0.05)


@pytest.mark.parametrize(
    "bad",
    [
        {"price": (-1, 0, 0)},
        {"price": (1, 0)},
        {"price": (1.0, 0, 0)},
        {"price": (math.nan, 0, 0)},
    ],
)
def test_bad_prices_change_nothing(ledger: Ledger, bad: dict[str, object]) -> None:
    before = ledger.head()
    with pytest.raises(InvalidInput):
        ledger.ask(dataclasses.replace(request("a"), **bad), serves=serves(1))
    assert ledger.head() == before


@pytest.mark.parametrize("tau", [Fraction(-1, 9), math.nan, 0.1, None])
def test_a_distance_that_is_none_is_refused(tau: object) -> None:
    with pytest.raises(InvalidInput, match="tau"):
        dataclasses.replace(request("a"), tau=tau)


@pytest.mark.parametrize("name", ["", "a\x00b", "x" * 1001, "half \ud800", None, 7])
def test_bad_names_change_nothing(ledger: Ledger, name: object) -> None:
    before = ledger.head()
    for field in ("table", "analyst", "digest"):
        with pytest.raises(InvalidInput, match=field):
            dataclasses.replace(request("a"), **{field: name})
    with pytest.raises(InvalidInput):
        ledger.grant(name, filter_for(1))  # type: ignore[arg-type]
    if name is not None:
        with pytest.raises(InvalidInput):
            ledger.grant(TABLE, filter_for(1), analyst=name)  # type: ignore[arg-type]
    assert ledger.head() == before


@pytest.mark.parametrize(
    "name",
    [
        "'; DROP TABLE entries; --",
        '"quoted"',
        "%s ? $1",
        "Zoë 测试 🙂",
        "a\nb",
        "{}",
        "\\",
        "x" * 1000,
    ],
)
def test_any_name_is_kept_as_it_is(place: str, name: str) -> None:
    with open_ledger(place) as ledger:
        ledger.grant(name, filter_for(3))
        ledger.grant(name, filter_for(1), analyst=name)
        asked = dataclasses.replace(request("a"), table=name, analyst=name, question=name)
        granted = ledger.ask(asked, serves=serves(1))
        assert isinstance(granted, Granted)
        ledger.answer(granted, {name: name})
        stored = ledger.ask(asked, serves=serves(1))
        assert isinstance(stored, Stored)
        assert stored.answer == {name: name}
        with pytest.raises(BudgetExceeded) as refused:
            ledger.ask(dataclasses.replace(asked, digest="b"), serves=serves(1))
        assert f"analyst {name}: expected a charge that fits" in str(refused.value)
        assert [line["analyst"] for line in ledger.history(table=name, analyst=name)] == [name]
        verify(ledger)


@pytest.mark.parametrize("epsilon, delta", [(-1, 0), (math.nan, 0), (0.1, -1), (0.1, math.nan)])
def test_bad_spends_change_nothing(ledger: Ledger, epsilon: float, delta: float) -> None:
    before = ledger.head()
    with pytest.raises(InvalidInput):
        ledger.spend(TABLE, epsilon=epsilon, delta=delta, note="other tool")
    assert ledger.head() == before


def test_an_unknown_table_has_no_budget(ledger: Ledger) -> None:
    before = ledger.head()
    with pytest.raises(BudgetExceeded, match="expected a budget"):
        ledger.ask(dataclasses.replace(request("a"), table="nobody"), serves=serves(1))
    assert ledger.head() == before


def test_spends_elsewhere_count(ledger: Ledger) -> None:
    status = ledger.spend(TABLE, epsilon=2.5 * EACH, delta=1e-8, note="a model trained elsewhere")
    assert status.state.epsilon == pytest.approx(2.5 * EACH, rel=1e-12)
    with pytest.raises(BudgetExceeded):
        ledger.ask(request("a"), serves=serves(1))
    assert ledger.history()[0]["note"] == "a model trained elsewhere"


def test_a_charge_reads_and_writes_as_much_however_many_were_before(
    place: str, monkeypatch
) -> None:
    """O(1) in the number of past charges: the same statements, the same rows. Seconds are for benchmarks/."""
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(10_000))
        told: list[tuple[str, int]] = []
        store = ledger._store
        execute, execute_all, write = store.execute, store.execute_all, store.write

        def one(statement, parameters=()):
            rows = execute(statement, parameters)
            told.append((statement, len(rows)))
            return rows

        def several(reads):
            found = execute_all(reads)
            told.extend((read[0], len(rows)) for read, rows in zip(reads, found, strict=True))
            return found

        def written(statements):
            told.extend((statement, 1) for statement, _ in statements)
            write(statements)

        def cost_of(name: str) -> list[tuple[str, int]]:
            told.clear()
            ledger.answer(ledger.ask(request(name), serves=serves(1)), {"n": 1})
            return list(told)

        for name, watched in (("execute", one), ("execute_all", several), ("write", written)):
            monkeypatch.setattr(store, name, watched)
        cost_of("first")
        early = cost_of("early")

        def many(books: Books) -> None:
            for index in range(2000):
                ledger._charge(books, request(f"past {index}"))

        ledger._queue.write(many)
        assert cost_of("late") == early
        assert {statement.split()[0] for statement, _ in early} >= {"SELECT", "INSERT", "UPDATE"}
        assert sum(rows for _, rows in early) < 20


def test_a_budget_is_fixed_once(ledger: Ledger) -> None:
    with pytest.raises(InvalidInput, match="second one"):
        ledger.grant(TABLE, filter_for(100))


def test_sub_budgets_bind_beside_the_tables(ledger: Ledger) -> None:
    ledger.grant(TABLE, filter_for(1), analyst="ann")
    ledger.grant(TABLE, filter_for(2), analyst="bob")
    with pytest.raises(InvalidInput, match="add up"):
        ledger.grant(TABLE, filter_for(1), analyst="eve")
    ledger.ask(request("a"), serves=serves(1))
    with pytest.raises(BudgetExceeded):
        ledger.ask(request("b"), serves=serves(1))
    ledger.ask(request("c", analyst="eve"), serves=serves(1))
    ledger.ask(request("d", analyst="bob"), serves=serves(1))
    with pytest.raises(BudgetExceeded):  # bob has one left, the table has none
        ledger.ask(request("e", analyst="bob"), serves=serves(1))
    verify(ledger)


def test_a_sub_budget_of_a_period(place: str) -> None:
    start = datetime(2026, 11, 1, tzinfo=UTC)
    now = [start.timestamp() + 60]
    with open_ledger(place, clock=lambda: now[0]) as ledger:
        ledger.grant(TABLE, filter_for(3))
        november = Period(start, start + timedelta(days=30))
        ledger.grant(TABLE, filter_for(1), period=november)
        with pytest.raises(InvalidInput, match="second one"):
            ledger.grant(
                TABLE, filter_for(1), period=Period(start + timedelta(days=9), november.end)
            )
        ledger.ask(request("a"), serves=serves(1))
        with pytest.raises(BudgetExceeded):
            ledger.ask(request("b"), serves=serves(1))
        now[0] = november.end.timestamp()
        ledger.ask(request("b"), serves=serves(1))


def test_parts_as_they_are_written_add_up(place: str) -> None:
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, PureFilter(0.3))
        with pytest.raises(InvalidInput, match=r"at most the table's 0\.3"):
            ledger.grant(TABLE, PureFilter(0.4), analyst="ann")
        ledger.grant(TABLE, PureFilter(0.1), analyst="ann")
        ledger.grant(TABLE, PureFilter(0.2), analyst="bob")  # as floats they are more than 0.3
        with pytest.raises(InvalidInput, match="add up"):
            ledger.grant(TABLE, PureFilter(1e-300), analyst="eve")


def test_periods_are_the_same_in_every_time_zone(place: str) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    # the hour that summer time has twice: by the clock on the wall, this period ends before it starts
    start = datetime(2026, 10, 25, 2, 45, tzinfo=berlin)
    end = datetime(2026, 10, 25, 2, 15, fold=1, tzinfo=berlin)
    assert Period(start, end) == Period(start.astimezone(UTC), end.astimezone(UTC))
    with pytest.raises(InvalidInput):
        Period(end, start)
    with pytest.raises(InvalidInput, match="time zone"):
        Period(datetime(2026, 10, 25), end)
    now = [datetime(2026, 10, 31, 22, 59, 59, 999_999, tzinfo=UTC).timestamp()]
    november = Period(datetime(2026, 11, 1, tzinfo=berlin), datetime(2026, 12, 1, tzinfo=berlin))
    with open_ledger(place, clock=lambda: now[0]) as ledger:
        ledger.grant(TABLE, filter_for(9))
        ledger.grant(TABLE, filter_for(1), period=november)
        ledger.grant(TABLE, filter_for(1), analyst="ann", period=november)
        ledger.ask(
            request("october"), serves=serves(1)
        )  # the last microsecond of October in Berlin
        now[0] = november.start.timestamp()  # midnight there, still October in London
        ledger.ask(request("november"), serves=serves(1))
        now[0] -= 3  # a clock put right by three seconds does not reopen October
        with pytest.raises(BudgetExceeded, match="2026-10-31 23:00 to 2026-11-30 23:00 UTC"):
            ledger.ask(request("again"), serves=serves(1))
        now[0] = november.end.timestamp()
        ledger.ask(request("december"), serves=serves(1))
        verify(ledger)


def test_a_sub_budget_of_another_kind_is_refused(ledger: Ledger) -> None:
    for other in (RenyiFilter.for_budget(epsilon=1, delta=1e-7),):
        with pytest.raises(InvalidInput):
            ledger.grant(TABLE, other, analyst="ann")
    with pytest.raises(InvalidInput):
        ledger.grant(TABLE, PureFilter(1.0), analyst="ann")


def test_a_clock_that_went_back_is_refused(place: str) -> None:
    now = [1e9]
    with open_ledger(place, clock=lambda: now[0]) as ledger:
        ledger.grant(TABLE, filter_for(3))
        now[0] -= 1  # clocks are corrected by so much all the time
        ledger.ask(request("a"), serves=serves(1))
        before = ledger.head()
        now[0] -= 3600
        with pytest.raises(LedgerRefused, match="clock"):
            ledger.ask(request("b"), serves=serves(1))
        now[0] = math.nan
        with pytest.raises(LedgerRefused, match="clock"):
            ledger.ask(request("b"), serves=serves(1))
        assert ledger.head() == before


def test_a_ledger_from_a_newer_version_is_refused(
    place: str, store_at: Callable[[str], Store]
) -> None:
    store = store_at(place)
    store.upgrade()
    store.begin()
    store.execute("UPDATE brdp_ledger SET version = 1000")
    store.commit()
    with pytest.raises(LedgerRefused, match="newer brdp"):
        open_ledger(place)
    store.begin_reading()
    assert store.execute("SELECT version FROM brdp_ledger") == [(1000,)]
    store.rollback()
    store.close()


@pytest.mark.parametrize("version", range(1, NEWEST))
def test_an_older_ledger_is_brought_up_to_date(
    place: str, store_at: Callable[[str], Store], version: int
) -> None:
    store = store_at(place)
    store.upgrade(to=version)
    assert not store.has_table("claims")
    store.close()
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(3))
        ledger.ask(request("a"), serves=serves(1))
        verify(ledger)


# what somebody does to the store -> what verify says
EDITS: dict[str, tuple[tuple[str, ...], str]] = {
    "a name in a line": (
        (
            'UPDATE entries SET body = replace(body, \'"analyst":"ann"\', \'"analyst":"eve"\') '
            "WHERE seq = 2",
        ),
        "edited",
    ),
    "the kind": (("UPDATE entries SET kind = 'answer' WHERE seq = 2",), "edited"),
    "an unknown kind": (("UPDATE entries SET kind = 'gift' WHERE seq = 2",), "another kind"),
    "the table": (("UPDATE entries SET table_name = 'other' WHERE seq = 2",), "edited"),
    "the digest": (("UPDATE entries SET digest = 'other' WHERE seq = 2",), "edited"),
    "the charge of an answer": (("UPDATE entries SET charge = 9 WHERE seq = 3",), "edited"),
    "the body": (("UPDATE entries SET body = '{}' WHERE seq = 2",), "edited"),
    "the hash before": (("UPDATE entries SET previous = hash WHERE seq = 2",), "edited"),
    "the hash": (("UPDATE entries SET hash = previous WHERE seq = 2",), "edited"),
    "a number": (("UPDATE entries SET seq = 99 WHERE seq = 5",), "edited"),
    "the first line gone": (("DELETE FROM entries WHERE seq = 1",), "follow|missing"),
    "a line gone": (("DELETE FROM entries WHERE seq = 3",), "follow|missing"),
    "the last line gone": (("DELETE FROM entries WHERE seq = 5",), "head"),
    "all lines gone": (("DELETE FROM entries",), "head"),
    "two lines exchanged": (
        (
            "UPDATE entries SET seq = 99 WHERE seq = 2",
            "UPDATE entries SET seq = 2 WHERE seq = 4",
            "UPDATE entries SET seq = 4 WHERE seq = 99",
        ),
        "edited",
    ),
    "a line twice": (
        (
            "INSERT INTO entries SELECT 6, kind, table_name, digest, charge, body, previous, hash "
            "FROM entries WHERE seq = 4",
            "UPDATE head SET seq = 6, hash = (SELECT hash FROM entries WHERE seq = 6)",
        ),
        "follow",
    ),
    "a lower sum": (("UPDATE totals SET spent = '0 0 0'",), "totals"),
    "an earlier sum": (
        ("UPDATE totals SET spent = '0 0 0', last = 1",),
        "totals",
    ),
    "the sums gone": (("DELETE FROM totals",), "totals"),
    "the head": (("UPDATE head SET seq = 4 WHERE id = 1",), "head"),
    "the hash of the head": (("UPDATE head SET hash = 'other'",), "head"),
    "the head gone": (("DELETE FROM head",), "head"),
}


def five_lines(ledger: Ledger) -> None:
    """A budget, a charge, its answer, a charge, its answer."""
    ledger.grant(TABLE, filter_for(9))
    for name in "ab":
        granted = ledger.ask(request(name), serves=serves(1))
        assert isinstance(granted, Granted)
        ledger.answer(granted, {"n": 1})


def edit_store(store: Store, statements: tuple[str, ...], place: str) -> None:
    """What the store's own guard would refuse."""
    postgres = "://" in place
    store.begin()
    for trigger in (
        ["entries_no_change"] if postgres else ["entries_no_update", "entries_no_delete"]
    ):
        store.execute(f"DROP TRIGGER {trigger}" + (" ON entries" if postgres else ""))
    for statement in statements:
        store.execute(statement)
    store.commit()


@pytest.mark.parametrize("edit", EDITS)
def test_edits_are_refused(place: str, store_at: Callable[[str], Store], edit: str) -> None:
    statements, message = EDITS[edit]
    with open_ledger(place) as ledger:
        five_lines(ledger)
        verify(ledger)
    store = store_at(place)
    edit_store(store, statements, place)
    store.close()
    with open_ledger(place) as ledger, pytest.raises(LedgerRefused, match=message):
        verify(ledger)


@pytest.mark.parametrize("edit", ["a lower sum", "the head", "the head gone", "the last line gone"])
def test_edits_of_what_a_charge_rests_on_stop_it_at_once(
    place: str, store_at: Callable[[str], Store], edit: str
) -> None:
    with open_ledger(place) as ledger:
        five_lines(ledger)
    store = store_at(place)
    edit_store(store, EDITS[edit][0], place)
    store.begin_reading()
    before = store.execute("SELECT count(*) FROM entries")
    store.rollback()
    with open_ledger(place) as ledger, pytest.raises(LedgerRefused):
        ledger.ask(request("c"), serves=serves(1))
    store.begin_reading()
    assert store.execute("SELECT count(*) FROM entries") == before
    store.rollback()
    store.close()


@pytest.mark.parametrize(
    "edit",
    [
        ("UPDATE entries SET body = replace(body, '0', '1') WHERE seq = 1",),
        ("UPDATE entries SET hash = previous WHERE seq = 1",),
        ("UPDATE entries SET body = replace(body, '0', '1') WHERE seq = 4",),
        ("UPDATE entries SET hash = previous WHERE seq = 4",),
        ("UPDATE entries SET digest = 'c' WHERE seq = 4",),
        ("DELETE FROM entries WHERE seq = 1",),
        ("DELETE FROM entries WHERE seq = 4",),
        ("UPDATE totals SET last = 2",),
        ("UPDATE head SET hash = 'other'",),
        *(EDITS[name][0] for name in ("a lower sum", "the head gone", "the last line gone")),
    ],
)
def test_edits_of_what_a_charge_rests_on_are_seen_by_a_ledger_that_was_open(
    place: str, store_at: Callable[[str], Store], edit: tuple[str, ...]
) -> None:
    """What a process has checked, or has written itself, is taken as checked only as long as it stays the same."""
    with open_ledger(place) as ledger:
        five_lines(ledger)
        ledger.budget(TABLE)
        store = store_at(place)
        edit_store(store, edit, place)
        store.begin_reading()
        before = store.execute("SELECT count(*) FROM entries")
        store.rollback()
        with pytest.raises(LedgerRefused):
            ledger.ask(request("c"), serves=serves(1))
        store.begin_reading()
        assert store.execute("SELECT count(*) FROM entries") == before
        store.rollback()
        store.close()


def test_a_budget_whose_sums_are_gone_is_not_granted_anew(
    place: str, store_at: Callable[[str], Store]
) -> None:
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(1))
        ledger.ask(request("a"), serves=serves(1))
    store = store_at(place)
    edit_store(store, ("DELETE FROM totals",), place)
    store.close()
    with open_ledger(place) as ledger:
        with pytest.raises(BudgetExceeded):
            ledger.ask(request("b"), serves=serves(1))
        with pytest.raises(LedgerRefused, match="missing"):
            ledger.grant(TABLE, filter_for(1))


def test_a_hash_noted_earlier_must_still_be_there(ledger: Ledger) -> None:
    ledger.ask(request("a"), serves=serves(1))
    noted = verify(ledger).hash
    ledger.ask(request("b"), serves=serves(1))
    assert verify(ledger, holds=noted).charges == 2
    with pytest.raises(LedgerRefused, match="cut off"):
        verify(ledger, holds="0" * 63 + "1")


def test_verify_tells_how_far_it_is(ledger: Ledger, monkeypatch) -> None:
    monkeypatch.setattr(sys.modules["brdp.ledger.verify"], "LINES", 2)
    for name in "ab":
        ledger.ask(request(name), serves=serves(1))
    told: list[tuple[int, int]] = []
    verify(ledger, progress=lambda done, total: told.append((done, total)))
    assert told == [(2, 3), (3, 3)]


def test_a_charge_that_passed_a_budget_by_is_found(ledger: Ledger, monkeypatch) -> None:
    """A whole new chain, well hashed, in which one charge counts against the table's budget alone."""
    ledger.grant(TABLE, filter_for(2), analyst="ann")
    verify(ledger)
    monkeypatch.setattr(BudgetStatus, "covers", lambda self, **_: self.analyst is None)
    ledger.ask(request("a"), serves=serves(1))
    with pytest.raises(LedgerRefused, match="every budget"):
        verify(ledger)


def edit_row(store: Store, statement: str) -> None:
    store.begin()
    store.execute(statement)
    store.commit()  # PostgreSQL's answer may come as late as this


def test_the_store_itself_refuses_edits(place: str, store_at: Callable[[str], Store]) -> None:
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(9))
    store = store_at(place)
    statements = ["UPDATE entries SET body = ''", "DELETE FROM entries"]
    for statement in [*statements, *(["TRUNCATE entries"] if "://" in place else [])]:
        with pytest.raises(LedgerUnavailable):
            edit_row(store, statement)
        store.rollback()
    store.begin_reading()
    assert store.execute("SELECT count(*) FROM entries WHERE body <> ''") == [(1,)]
    store.rollback()
    store.close()
