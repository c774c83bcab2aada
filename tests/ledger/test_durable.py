"""No charge is answered before its commit is durable: commits held back, commits that fail, a disk that fails."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from brdp.errors import BudgetExceeded
from brdp.ledger import Granted, Ledger, LedgerRefused, LedgerUnavailable, open_ledger, verify
from brdp.ledger.books import Books
from brdp.ledger.entry import EntryKind
from brdp.ledger.rows import Claim
from tests.ledger.asking import TABLE, filter_for, request, serves

ROOT = Path(__file__).parents[2]
THREADS = 8


class Asking:
    """So many threads that ask one question each, and what became of them."""

    def __init__(self, ledger: Ledger, name: str) -> None:
        self.granted: list[str] = []
        self.failed: list[LedgerUnavailable] = []

        def ask(question: str) -> None:
            try:
                found = ledger.ask(request(question), serves=serves(1))
            except LedgerUnavailable as error:
                self.failed.append(error)
            else:
                assert isinstance(found, Granted)
                self.granted.append(question)

        self.threads = [
            threading.Thread(target=ask, args=(f"{name}{index}",)) for index in range(THREADS)
        ]
        for thread in self.threads:
            thread.start()

    def join(self) -> None:
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()


def holding_commits(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> tuple[threading.Event, list[int]]:
    """Hold every commit back until the event is set; the list grows by one with each that begins."""
    commit, free, commits = ledger._store.commit, threading.Event(), []

    def held() -> None:
        commits.append(1)
        free.wait(60)
        commit()

    monkeypatch.setattr(ledger._store, "commit", held)
    return free, commits


def together(works: list[Callable[[], None]], free: threading.Event, commits: list[int]) -> None:
    """Do the first by itself and all others in one commit."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
        time.sleep(0.1)  # the first holds its commit back, the others wait for one together
    assert len(commits) == 1
    free.set()
    for thread in threads:
        thread.join(60)


def test_nobody_is_answered_before_the_commit_returns(place: str, monkeypatch) -> None:
    with open_ledger(place) as ledger, open_ledger(place) as other:
        ledger.grant(TABLE, filter_for(100))
        free, commits = holding_commits(ledger, monkeypatch)
        asking = Asking(ledger, "q")
        time.sleep(0.3)
        assert asking.granted == []
        assert other.history() == []
        free.set()
        asking.join()
        assert len(asking.granted) == len(other.history()) == THREADS
        assert len(commits) < THREADS  # they share


def test_a_commit_that_fails_answers_nobody(place: str, monkeypatch) -> None:
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(100))

        def failing() -> None:
            time.sleep(0.1)  # so that several wait for one commit
            raise LedgerUnavailable("the disk is gone")

        with monkeypatch.context() as patch:
            patch.setattr(ledger._store, "commit", failing)
            asking = Asking(ledger, "q")
            asking.join()
        assert asking.granted == []
        assert len(asking.failed) == len({id(error) for error in asking.failed}) == THREADS
        assert ledger.history() == []
        again = Asking(ledger, "q")
        again.join()
        assert len(again.granted) == verify(ledger).charges == THREADS


# fsync and fdatasync of everything in the process: kept waiting, or failing, while a file says so
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>
static int injected(const char *name, int fd) {
    char path[4096];
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    const char *folder = getenv("BRDP_TEST_DISK");
    snprintf(path, sizeof path, "%s/hang", folder);
    while (access(path, F_OK) == 0) usleep(1000);
    snprintf(path, sizeof path, "%s/fail", folder);
    if (access(path, F_OK) == 0) { errno = EIO; return -1; }
    return real(fd);
}
int fsync(int fd) { return injected("fsync", fd); }
int fdatasync(int fd) { return injected("fdatasync", fd); }
"""
LIFE = """
import sys, threading
from brdp.ledger import LedgerUnavailable, open_ledger
from tests.ledger.asking import request, serves
with open_ledger(sys.argv[1]) as ledger:
    print("ready", flush=True)
    for line in sys.stdin:
        def ask(name):
            try:
                granted = ledger.ask(request(name), serves=serves(1))
                answer = ledger.answer(granted, {"n": name})
                sys.stdout.write(f"{answer['n']} left\\n")
            except LedgerUnavailable:
                sys.stdout.write(f"{name} unavailable\\n")
        threads = [threading.Thread(target=ask, args=(f"{line.strip()}{i}",)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print("done", flush=True)
"""


def test_no_answer_leaves_before_the_disk_has_it(tmp_path: Path) -> None:
    """fsync itself is held back, then fails: nothing leaves, nothing is granted, and all is well afterwards."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("no C compiler on Linux: a failing fsync under SQLite is not tested")
    source, library = tmp_path / "shim.c", tmp_path / "shim.so"
    source.write_text(SHIM)
    build = [compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    subprocess.run(build, check=True, timeout=60)
    hang, fail = tmp_path / "hang", tmp_path / "fail"
    place = tmp_path / "ledger.sqlite"
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(100))
    told: list[str] = []

    def listen(out) -> None:
        for line in out:
            told.append(line.strip())

    with subprocess.Popen(
        [sys.executable, "-c", LIFE, str(place)],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
            "LD_PRELOAD": str(library),
            "BRDP_TEST_DISK": str(tmp_path),
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as process:
        ear = threading.Thread(target=listen, args=(process.stdout,))
        ear.start()

        def until(done: int) -> list[str]:
            deadline = time.monotonic() + 60
            while told.count("done") < done:
                assert time.monotonic() < deadline, told
                time.sleep(0.01)
            return [line for line in told if line not in ("ready", "done")]

        def ask(name: str) -> None:
            assert process.stdin is not None
            process.stdin.write(f"{name}\n")
            process.stdin.flush()

        with contextlib.ExitStack() as stack:
            stack.callback(process.kill)
            while "ready" not in told:
                time.sleep(0.01)
            hang.touch()
            ask("a")
            time.sleep(1)
            assert told == ["ready"], "an answer left before its fsync returned"
            hang.unlink()
            assert sorted(until(1)) == sorted(f"a{i} left" for i in range(8))
            fail.touch()
            ask("b")
            assert sorted(until(2)[8:]) == sorted(f"b{i} unavailable" for i in range(8))
            fail.unlink()
            ask("c")
            assert sorted(until(3)[16:]) == sorted(f"c{i} left" for i in range(8))
        ear.join(60)
    with open_ledger(place) as ledger:
        found = verify(ledger)
        names = {charge["digest"] for charge in ledger.history()}
        assert {f"a{i}" for i in range(8)} | {f"c{i}" for i in range(8)} <= names
        assert found.answers == 16


@pytest.mark.parametrize("names", [("a", "a"), ("a", "b")])
def test_two_in_one_commit_see_each_other(place: str, monkeypatch, names: tuple[str, str]) -> None:
    """What is read ahead for all of a commit is never older than what its first has written."""
    told: list[object] = []

    def ask(name: str) -> None:
        try:
            told.append(ledger.ask(request(name), serves=serves(1), patience=0.2))
        except (BudgetExceeded, LedgerUnavailable) as error:
            told.append(error)

    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(2))
        free, commits = holding_commits(ledger, monkeypatch)
        together([partial(ask, name) for name in ("first", *names)], free, commits)
        assert [type(one) for one in told].count(Granted) == 2
        assert len(told) == 3
        (refused,) = [one for one in told if not isinstance(one, Granted)]
        # the same question is charged once and waited for; another does not fit any more
        assert isinstance(refused, LedgerUnavailable if names == ("a", "a") else BudgetExceeded)
        assert verify(ledger).charges == 2


def test_work_that_fails_after_it_has_written_undoes_itself_alone(place: str, monkeypatch) -> None:
    """Three pieces of work in one commit: the second charges, then fails."""
    told: list[object] = []

    def ask(name: str) -> None:
        told.append(ledger.ask(request(name), serves=serves(1)))

    def fail() -> None:
        def work(books: Books) -> None:
            ledger._charge(books, request("undone"))
            books.set_claim(1, Claim("token", "holder", until=1e12))
            raise ValueError("after the charge")

        with pytest.raises(ValueError, match="after the charge"):
            ledger._queue.write(work)
        told.append("failed")

    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(3))
        free, commits = holding_commits(ledger, monkeypatch)
        works = [partial(ask, "first"), partial(ask, "a"), fail, partial(ask, "b")]
        together(works, free, commits)
        assert len(commits) == 2
        assert [type(one) for one in told].count(Granted) == 3
        assert told.count("failed") == 1
        assert [charge["digest"] for charge in ledger.history()] == ["first", "a", "b"]
        assert verify(ledger).charges == 3
        assert ledger._store.execute("SELECT count(*) FROM claims WHERE charge = 1") == [(0,)]


def test_a_call_in_the_middle_of_another_is_refused(place):
    """As a signal's handler makes it: in PostgreSQL its transaction would end the one around it."""
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(5))
        refused = []

        def serves_and_asks(promise):
            for call in (
                lambda: ledger.budget(TABLE),
                lambda: ledger.ask(request("b"), serves=serves(1.0)),
            ):
                with pytest.raises(LedgerRefused, match="one call at a time"):
                    call()
                refused.append(promise)
            return False

        ledger.ask(request("a"), serves=serves(1.0))
        granted = ledger.ask(request("a"), serves=serves_and_asks)
        assert isinstance(granted, Granted)
        assert len(refused) == 2
        assert len([entry for entry in ledger.entries() if entry.kind is EntryKind.CHARGE]) == 2
        verify(ledger)


def test_without_memory_nothing_goes_on_line_by_line(tmp_path):
    """SQLite rolls back by itself where it has no memory: what came after was durable without a transaction."""
    with open_ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        ledger.grant(TABLE, filter_for(5))
        before = len(list(ledger.entries()))

        def work(books: Books) -> None:
            ledger._charge(books, request("a"))
            ledger._store._connection.execute("ROLLBACK")  # as SQLITE_NOMEM does

        with pytest.raises(LedgerUnavailable, match="had ended"):
            ledger._queue.write(work)
        assert len(list(ledger.entries())) == before
        verify(ledger)
