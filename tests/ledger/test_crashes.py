"""Killed anywhere, a process leaves a ledger that is whole: nothing left without a charge, nothing overspent.

Every life starts a process that asks question after question, kills it with SIGKILL after a random time, and
looks at what is there. The next life asks the interrupted question again, which must cost nothing.
"""

from __future__ import annotations

import dataclasses
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from brdp.errors import BudgetExceeded
from brdp.ledger import Granted, Ledger, LedgerUnavailable, Stored, open_ledger, verify
from brdp.ledger.sqlite import SQLiteStore
from tests.ledger.asking import EACH, TABLE, filter_for, request, serves
from tests.ledger.server import Server

ROOT = Path(__file__).parents[2]


def spawn(place: str, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.ledger.worker", place, name, str(count)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def forked(place: str, name: str, count: int) -> tuple[int, int]:
    """The same life in a fork, which starts a hundred times faster: (pid, the reading end)."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:  # pragma: no cover - the child is killed
        try:
            os.close(reading)
            os.dup2(writing, 1)
            sys.stdout = os.fdopen(1, "w")
            from tests.ledger.worker import life

            life(place, name, count)
        finally:
            os._exit(0)
    os.close(writing)
    return pid, reading


def lives(place: str, deaths: int, *, seed: int) -> tuple[int, int]:
    """Live and die so often; returns how many answers left, and how many charges were interrupted."""
    chance = random.Random(seed)
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(100 * deaths))
    left: dict[str, str] = {}
    interrupted = 0
    for life in range(deaths):
        pid, reading = forked(place, f"life{life}-", 100)
        with os.fdopen(reading) as lines:
            assert lines.readline() == "ready\n"
            # some lives end before their first answer, some after a few
            early = [lines.readline() for _ in range(chance.randrange(3))]
            time.sleep(chance.uniform(0, 0.02))
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            told = [line.split() for line in [*early, *lines.read().splitlines()]]
            answers = [line for line in told if len(line) == 2]
        left |= dict(answers)
        with open_ledger(place) as ledger:
            interrupted += check(ledger, left, life)
    return len(left), interrupted


def check(ledger: Ledger, left: dict[str, str], life: int) -> int:
    """Everything that must hold after a death; completes what was interrupted and says whether it was."""
    verified = verify(ledger)
    history = ledger.history()
    names = [charge["digest"] for charge in history]
    assert len(names) == len(set(names)), "charged twice for one question"
    assert set(left) <= set(names), "an answer left without a charge"
    spent = ledger.budget(TABLE).state
    assert spent.filter.fits(spent.spent)
    assert spent.epsilon == pytest.approx(len(names) * EACH, rel=1e-12)
    open_charges = verified.charges - verified.answers
    assert open_charges <= 1
    if open_charges:
        before = ledger.head()
        found = ledger.ask(request(names[-1]), serves=serves(1), patience=1)
        assert isinstance(found, Granted), "a dead process still holds its claim"
        assert not found.fresh
        ledger.answer(found, {"n": "completed"})
        assert ledger.head()[0] == before[0] + 1
        assert len(ledger.history()) == len(names), "completing cost something"
        assert names[-1] not in left
    for name in [name for name in left if name.startswith(f"life{life}-")]:
        stored = ledger.ask(request(name), serves=serves(1))
        assert isinstance(stored, Stored)
        assert stored.answer["n"] == left[name], "what left is not what is stored"
    return open_charges


def test_killed_at_random_instants(place: str) -> None:
    answers, interrupted = lives(place, 25, seed=1)
    # deaths must fall inside questions, not only before the first: else nothing was tested
    assert answers > 0
    print(f"{answers} answers, {interrupted} interrupted charges")


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_killed_at_a_thousand_random_instants(place: str) -> None:
    answers, interrupted = lives(place, 500, seed=2)
    assert answers > 500
    assert interrupted > 10


def test_a_process_of_its_own_is_killed(place: str) -> None:
    """The same without a fork: a fresh interpreter, killed in mid-question."""
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(10_000))
    process = spawn(place, "own-", 5000)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(6)]
    process.kill()
    rest = process.stdout.read().splitlines()
    process.wait()
    process.stdout.close()
    left = dict(
        line.split() for line in [*(text.strip() for text in lines[1:]), *rest] if " " in line
    )
    with open_ledger(place) as ledger:
        check(ledger, left, 0)


def test_control_an_answer_before_its_charge_is_caught(tmp_path: Path) -> None:
    """A life that tells its answer before charging must not pass the check."""
    with open_ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.grant(TABLE, filter_for(10))
        with pytest.raises(AssertionError, match="without a charge"):
            check(ledger, {"life0-0": "told too early"}, 0)


def test_no_room_left_in_the_database(tmp_path: Path) -> None:
    store = SQLiteStore(str(tmp_path / "ledger.sqlite"))
    ledger = Ledger(store)
    ledger.grant(TABLE, filter_for(10_000))
    ((pages,),) = store.execute("PRAGMA page_count")
    store.execute(f"PRAGMA max_page_count = {pages + 12}")
    left = {}
    full = 0
    for index in range(200):
        name = f"life0-{index}"
        try:
            granted = ledger.ask(request(name), serves=serves(1))
            assert isinstance(granted, Granted)
            left[name] = ledger.answer(granted, {"n": "x" * 50})["n"]
        except LedgerUnavailable:
            full += 1
    assert left
    assert full
    ledger.close()
    with open_ledger(tmp_path / "ledger.sqlite") as again:
        interrupted = [
            charge["digest"] for charge in again.history() if charge["digest"] not in left
        ]
        assert len(interrupted) <= 1
        check(again, left, 0)


def test_no_room_left_on_the_disk(tmp_path: Path) -> None:
    """RLIMIT_FSIZE stands for a full disk: writes beyond it fail in the middle."""
    place = str(tmp_path / "ledger.sqlite")
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(10_000))
    script = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))\n"
        "from tests.ledger.worker import life\n"
        "life(sys.argv[1], 'life0-', 300)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, place],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    lines = [line.split() for line in done.stdout.splitlines() if " " in line]
    unavailable = [line for line in lines if line[0] == "unavailable"]
    left = {name: value for name, value in lines if name not in ("unavailable", "refused")}
    assert left, done.stderr
    assert unavailable
    with open_ledger(place) as ledger:
        names = [charge["digest"] for charge in ledger.history()]
        assert set(left) <= set(names)
        verify(ledger)
        for name, value in left.items():
            stored = ledger.ask(request(name), serves=serves(1))
            assert isinstance(stored, Stored)
            assert stored.answer["n"] == value


def _server_dies(server: Server, times: int, seed: int) -> None:
    place = server.database()
    chance = random.Random(seed)
    left: dict[str, str] = {}
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(100_000))
    for life in range(times):
        pid, reading = forked(place, f"life{life}-", 3000)
        with os.fdopen(reading) as lines:
            assert lines.readline() == "ready\n"
            time.sleep(chance.uniform(0, 0.3))
            server.kill()
            time.sleep(0.05)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            told = [line.split() for line in lines.read().splitlines() if len(line.split()) == 2]
        server.start()
        left |= {name: value for name, value in told if name not in ("unavailable", "refused")}
        with open_ledger(place) as ledger:
            assert set(left) <= {charge["digest"] for charge in ledger.history()}
            verify(ledger)
            for name, value in left.items():
                stored = ledger.ask(request(name), serves=serves(1))
                assert isinstance(stored, Stored)
                assert stored.answer["n"] == value
    assert left


def test_the_server_is_killed_and_comes_back(server: Server) -> None:
    _server_dies(server, 2, seed=3)


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_the_server_is_killed_fifty_times(server: Server) -> None:
    _server_dies(server, 50, seed=4)


def race_for_the_last(place: str, rounds: int) -> None:
    """16 processes, 8 questions in pairs, room for one charge: exactly one question is granted."""
    for index in range(rounds):
        table = f"{TABLE}{index}"
        with open_ledger(place) as ledger:
            ledger.grant(table, filter_for(1))
        told = _ask_at_once(place, table, processes=16)
        with open_ledger(place) as ledger:
            charges = ledger.history(table=table)
            assert len(charges) == 1, "over by a charge, or nobody was granted the last one"
            state = ledger.budget(table).state
            assert state.filter.fits(state.spent)
        winners = [line for line in told if line != "refused"]
        assert all(told), "a racer said nothing"
        assert len(winners) == 2, "the pair that asks the granted question gets one answer twice"
        assert len(set(winners)) == 1


def _ask_at_once(place: str, table: str, *, processes: int) -> list[str]:
    gate_read, gate_write = os.pipe()
    children = []
    for process in range(processes):
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:  # pragma: no cover - a child
            code = 1
            try:
                os.close(gate_write)
                with open_ledger(place) as ledger:
                    os.read(gate_read, 1)  # returns for all when the gate closes
                    wanted = dataclasses.replace(request(f"question{process // 2}"), table=table)
                    try:
                        found = ledger.ask(wanted, serves=serves(1))
                        if isinstance(found, Granted):
                            answer = ledger.answer(found, {"n": os.getpid()})
                        else:
                            answer = found.answer
                        text = f"{wanted.digest} {answer['n']}"
                    except BudgetExceeded:
                        text = "refused"
                    os.write(writing, text.encode())
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
        children.append((pid, reading))
    os.close(gate_read)
    os.close(gate_write)
    told = []
    for pid, reading in children:
        with os.fdopen(reading) as stream:
            told.append(stream.read())
        assert os.waitpid(pid, 0)[1] == 0, "a racer failed"
    return told


def test_sixteen_processes_race_for_the_last_charge(place: str) -> None:
    race_for_the_last(place, 5)


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_two_hundred_races(place: str) -> None:
    race_for_the_last(place, 200)
