"""Curators killed with SIGKILL at random instants of their lives, from opening the ledger to the answer.

A life opens the ledger, its table and its engine, and asks question after question; death comes at a random time.
After each the ledger is looked at, and the next life begins with the question that was interrupted. Every forty
charges a budget is used up, and another ledger begins: so deaths meet its creation and its end too.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from brdp.ledger import EntryKind, Ledger, open_ledger, verify
from brdp.ledger.rows import as_amounts
from tests.ledger.nursery import digest_of, write_world

ROOT = Path(__file__).parents[2]
TABLE = "people"
LONGEST = 30  # questions a life asks


class Nursery:
    """Lives to order; see tests/ledger/nursery.py."""

    def __init__(self, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.ledger.nursery", *options],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.says: Any = self.process.stdout
        assert self.says.readline() == "here\n"

    def life(
        self, place: str, config: Path, questions: list[int], *, dies_after: float | None = None
    ) -> list[str]:
        """Live a life, to its end or killed so many seconds after its birth; returns what it said."""
        order = {"place": place, "config": str(config), "questions": questions}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        pid = int(self.says.readline().removeprefix("pid "))
        timer = None
        if dies_after is not None:
            timer = threading.Timer(dies_after, os.kill, (pid, signal.SIGKILL))
            timer.start()
        said: list[str] = []
        while (line := self.says.readline().strip()) != "dead":
            assert line, "the nursery itself ended"
            said.append(line)
        if timer is not None:
            timer.cancel()
            timer.join()
        return said

    def close(self) -> None:
        for end in (self.process.stdin, self.process.stdout):
            assert end is not None
            end.close()
        self.process.wait(60)


@contextmanager
def nursery(*options: str) -> Iterator[Nursery]:
    opened = Nursery(*options)
    try:
        yield opened
    finally:
        opened.close()


@dataclass
class World:
    """One ledger, and all that ever left it. Questions are numbered; each life asks on from the first untold."""

    place: str
    names: dict[str, int]  # the number of every question, by its digest
    left: dict[int, Any] = field(default_factory=dict)  # what was told, by question
    open: int | None = None  # the question that was charged and not answered
    stored: set[int] = field(default_factory=set)  # the questions that were answered
    over: bool = False

    def questions(self) -> list[int]:
        return list(range(len(self.left), len(self.left) + LONGEST))

    def hear(self, said: list[str]) -> None:
        """What one life said: no question costs anything twice, whenever the lives before it ended."""
        for line in said:
            if line == "ready":
                continue
            told = json.loads(line)
            number = told["question"]
            if "refused" in told:
                assert told["refused"] == "budget"
                assert number != self.open, "an interrupted question was not completed"
                assert number not in self.stored
                self.over = True
                continue
            free = number == self.open or number in self.stored
            assert (told["epsilon"] == 0) == free, "what it cost"
            assert told["replayed"] == (number in self.stored)
            self.left[number] = told["values"]

    def look(self, ledger: Ledger, said: list[str]) -> str:
        """Everything that must hold after a death; says where it came."""
        budgets = ledger.budgets(TABLE)
        found = verify(ledger)
        if not budgets:
            assert not self.left
            assert found.charges == 0
            return "before there was a budget"
        (status,) = budgets
        entries = list(ledger.entries())
        charges = {e.seq: e for e in entries if e.kind is EntryKind.CHARGE}
        answers = {e.charge: e.body["answer"] for e in entries if e.kind is EntryKind.ANSWER}
        numbers = [self.names[charge.digest or ""] for charge in charges.values()]
        assert numbers == list(range(len(numbers))), "a question cost twice, or came out of turn"
        spent = [as_amounts(charge.body["price"]) for charge in charges.values()]
        state = status.state
        assert state.spent == tuple(map(sum, zip(state.filter.empty, *spent, strict=True)))
        assert state.filter.fits(state.spent)
        if self.over:
            assert state.remaining(spent[0]) == 0
        kept = {self.names[charges[seq].digest or ""]: values_of(a) for seq, a in answers.items()}
        for number, values in self.left.items():
            assert number in kept, "an answer left without a charge"
            assert kept[number] == values, "what left is not what is stored"
        without = set(numbers) - set(kept)
        assert len(without) <= 1
        before = self.open
        self.open, self.stored = (without.pop() if without else None), set(kept)
        if before is not None and self.open is not None:
            assert self.open >= before
        if self.open is not None:
            return "charged, not answered"
        if len(kept) > len(self.left):
            return "answered, not told"
        return "not charged" if "ready" in said else "before its ledger was open"


def values_of(answer: Any) -> dict[str, int]:
    """The noisy counts of a stored answer, by their group."""
    (cells,) = answer["totals"].values()
    return {key[0]: cell[0] for key, cell in zip(answer["keys"], cells, strict=True)}


def deaths(
    new_place: Callable[[], str], folder: Path, times: int, *, seed: int, careless: str = ""
) -> Counter[str]:
    """Live and die so often; returns where the deaths came. A careless curator is the control."""
    chance = random.Random(seed)
    config = write_world(folder)
    names = {digest_of(number, config): number for number in range(100)}
    found: Counter[str] = Counter()
    with nursery(*([careless] if careless else [])) as nurse:
        # how long it takes here to open a ledger and to answer four questions
        start = time.monotonic()
        assert len(nurse.life(new_place(), config, [0, 1, 2, 3])) == 5
        usual = time.monotonic() - start
        world = World(new_place(), names)
        for _ in range(times):
            said = nurse.life(
                world.place, config, world.questions(), dies_after=chance.uniform(0, usual)
            )
            world.hear(said)
            with open_ledger(world.place) as ledger:
                found[world.look(ledger, said)] += 1
            if world.over:
                found["budgets used up"] += 1
                world = World(new_place(), names)
    return found


@pytest.fixture
def new_place(place: str, request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Fresh places for ledgers, all in one store."""
    if "://" in place:
        server = request.getfixturevalue("server")
        return lambda: str(server.database())
    count = itertools.count()
    return lambda: str(tmp_path / f"ledger{next(count)}.sqlite")


def test_killed_anywhere_in_the_life_of_a_question(
    new_place: Callable[[], str], tmp_path: Path
) -> None:
    found = deaths(new_place, tmp_path, 25, seed=5)
    # deaths must fall inside questions, not only before the first: else nothing was tested
    assert found["charged, not answered"] > 0
    assert found["not charged"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "careless, caught", [("tells first", "left without a charge"), ("forgets", "cost")]
)
def test_control_careless_curators_are_caught(tmp_path: Path, careless: str, caught: str) -> None:
    """One tells answers before they are stored, one charges an interrupted question anew."""
    count = itertools.count()
    with pytest.raises(AssertionError, match=caught):
        deaths(
            lambda: str(tmp_path / f"ledger{next(count)}.sqlite"),
            tmp_path,
            100,
            seed=7,
            careless=careless,
        )


@pytest.mark.slow
@pytest.mark.timeout(6000)
def test_killed_at_a_thousand_instants_of_the_life_of_a_question(
    new_place: Callable[[], str], tmp_path: Path
) -> None:
    found = deaths(new_place, tmp_path, 1000, seed=6)
    print(dict(found))
    assert found["charged, not answered"] > 50
    assert found["answered, not told"] > 5
    assert found["not charged"] > 50
    assert found["budgets used up"] > 5
