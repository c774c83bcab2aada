"""Threads, forks and signals over one open ledger: nothing lost, nothing granted twice, nobody left waiting."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable

import pytest

from brdp.errors import BudgetExceeded
from brdp.ledger import Granted, Ledger, LedgerUnavailable, open_ledger, verify
from tests.ledger.asking import TABLE, filter_for, request, serves


def charged(ledger: Ledger) -> list[str]:
    return [charge["digest"] for charge in ledger.history()]


def in_fork(work: Callable[[], None]) -> int:
    """Run in a fork; returns its exit status."""
    pid = os.fork()
    if pid == 0:  # pragma: no cover - the child
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1]


def test_threads_race_for_the_last_charges_of_one_ledger(place: str) -> None:
    granted: list[int] = []
    refused: list[str] = []
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(5))

        def ask(name: str) -> None:
            try:
                found = ledger.ask(request(name), serves=serves(1))
                assert isinstance(found, Granted)
                granted.append(found.seq)
            except BudgetExceeded:
                refused.append(name)

        threads = [threading.Thread(target=ask, args=(f"q{index}",)) for index in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(set(granted)) == 5
        assert len(refused) == 11
        assert verify(ledger).charges == 5


def test_charges_of_a_fork_outlive_the_ledger_that_was_open_before_it(place: str) -> None:
    """A SQLite connection must not cross a fork: the child's writes would go to a log thrown away by others."""
    told, tell = os.pipe()
    wait, go_on = os.pipe()
    ledger = open_ledger(place)
    ledger.grant(TABLE, filter_for(100))
    ledger.ask(request("before"), serves=serves(1))
    pid = os.fork()
    if pid == 0:  # pragma: no cover - the child
        code = 1
        try:
            ledger.ask(request("early"), serves=serves(1))
            os.write(tell, b"x")
            os.read(wait, 1)
            ledger.ask(request("late"), serves=serves(1))
            code = 0
        finally:
            os._exit(code)
    os.read(told, 1)
    ledger.close()  # the last connection of a process: SQLite puts the log into the file, and deletes it

    def elsewhere() -> None:
        with open_ledger(place) as third:
            third.ask(request("elsewhere"), serves=serves(1))

    assert in_fork(elsewhere) == 0
    os.write(go_on, b"x")
    assert os.waitpid(pid, 0)[1] == 0
    for end in (told, tell, wait, go_on):
        os.close(end)
    with open_ledger(place) as again:
        assert charged(again) == ["before", "early", "elsewhere", "late"]
        verify(again)


def test_a_fork_while_threads_charge(place: str) -> None:
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(1_000_000))
        stop = threading.Event()

        def charge(thread: int) -> None:
            count = 0
            while not stop.is_set():
                ledger.ask(request(f"{thread}-{count}"), serves=serves(1))
                count += 1

        threads = [threading.Thread(target=charge, args=(index,)) for index in range(3)]
        for thread in threads:
            thread.start()
        try:
            for index in range(3):
                name = f"fork {index}"
                assert in_fork(lambda: ledger.ask(request(name), serves=serves(1))) == 0  # noqa: B023
        finally:
            stop.set()
            for thread in threads:
                thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        assert {f"fork {index}" for index in range(3)} <= set(charged(ledger))
        verify(ledger)


def test_a_ledger_in_memory_is_refused_in_a_fork() -> None:
    """Each process would have a whole budget of its own."""
    with open_ledger(":memory:") as ledger:
        ledger.grant(TABLE, filter_for(1))

        def charge() -> None:
            with pytest.raises(LedgerUnavailable, match="forked"):
                ledger.ask(request("a"), serves=serves(1))

        assert in_fork(charge) == 0
        assert isinstance(ledger.ask(request("a"), serves=serves(1)), Granted)


class Interrupted(Exception):
    pass


def test_a_thread_interrupted_before_it_leads_is_not_waited_for() -> None:
    """Ctrl-C while another thread reads: whoever charges next must not wait for ever."""

    def interrupt(*_: object) -> None:
        raise Interrupted

    with open_ledger(":memory:") as ledger:
        ledger.grant(TABLE, filter_for(9))
        reading, free = threading.Event(), threading.Event()

        def read(_: object) -> None:
            reading.set()
            free.wait(60)

        reader = threading.Thread(target=lambda: ledger._queue.read(read))
        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            reader.start()
            reading.wait(60)
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(Interrupted):
                ledger.ask(request("a"), serves=serves(1))
        finally:
            signal.signal(signal.SIGALRM, before)
            free.set()
            reader.join(60)
        found: list[object] = []
        other = threading.Thread(
            target=lambda: found.append(ledger.ask(request("b"), serves=serves(1))), daemon=True
        )
        other.start()
        other.join(60)
        assert isinstance(found[0], Granted)
        assert charged(ledger) == ["b"]


def test_an_interrupted_commit_is_no_answer() -> None:
    with open_ledger(":memory:") as ledger:
        ledger.grant(TABLE, filter_for(9))

        def interrupted(_: object) -> int:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            ledger._queue.write(interrupted)
        assert isinstance(ledger.ask(request("a"), serves=serves(1)), Granted)


def test_postgres_with_other_defaults_is_the_same(server) -> None:
    """A server that starts transactions as serializable and commits without waiting is told otherwise."""
    place = server.database()
    options = "%20-cdefault_transaction_isolation%3Dserializable%20-csynchronous_commit%3Doff"
    told: list[object] = []

    def charge(name: str) -> None:
        with open_ledger(place + options) as ledger:
            told.append(ledger.ask(request(name), serves=serves(1)))

    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(8))
    threads = [threading.Thread(target=charge, args=(str(index),)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(told) == 8
    with open_ledger(place) as ledger:
        assert verify(ledger).charges == 8
