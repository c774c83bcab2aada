"""Curators to be killed, forked from a process that has imported everything and opened nothing.

Run as `python -m tests.ledger.nursery [HOW IT IS CARELESS]`; it says `here`. Every line on stdin is a life to live: a
JSON object with `place`, `config` and `questions`. A life says `pid N`, then `ready` when its ledger is open, and for
every question what left the process: the answer as JSON, or why there is none. After its end the nursery says `dead`.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from brdp.catalog import Kind, Table, load_catalog
from brdp.curator import Curator
from brdp.curator.curator import filter_for
from brdp.curator.prepare import prepare
from brdp.errors import BudgetExceeded
from brdp.ledger import Granted, Ledger, LedgerUnavailable, open_ledger
from brdp.ledger import ledger as ledger_module
from brdp.query import Query, as_query, resolve
from brdp.query import question as normal

CONFIG = """
[tables.people]
source = "people.csv"
unit = "row"
[tables.people.budget]
epsilon = 0.6
delta = 1e-6
[tables.people.columns.colour]
categories = ["x", "y"]
[tables.people.columns.age]
clip = [0, 49]
integer = true
"""


def write_world(folder: Path) -> Path:
    """A small table, and a brdp.toml whose budget lasts for about forty questions."""
    rows = [f"{'xy'[row % 2]},{row % 50}" for row in range(600)]
    (folder / "people.csv").write_text("colour,age\n" + "\n".join(rows) + "\n")
    config = folder / "brdp.toml"
    config.write_text(CONFIG)
    return config


def question(number: int) -> str:
    """A question of its own for every number, all of one price."""
    return (
        "SELECT colour, COUNT(*) AS n WITHIN 200 FROM people "
        f"WHERE age < {number + 0.5} GROUP BY colour CONFIDENCE 0.95"
    )


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())  # one write: killed in the middle, all of a line or none


def life(place: str, config: str, questions: list[int]) -> None:
    with Curator(load_catalog(config), open_ledger(place)) as curator:
        say("ready")
        for number in questions:
            try:
                answer = curator.ask(question(number))
            except BudgetExceeded:
                say(json.dumps({"question": number, "refused": "budget"}))
            except LedgerUnavailable:
                say(json.dumps({"question": number, "refused": "unavailable"}))
            else:
                values = {row.key["colour"]: row.cells["n"].value for row in answer.rows}
                told: dict[str, Any] = {"question": number, "values": values}
                say(json.dumps({**told, "epsilon": answer.epsilon, "replayed": answer.replayed}))


def resolved(number: int, config: str | Path) -> tuple[Query, Table]:
    """A question as a curator understands it; opens nothing."""
    table = load_catalog(config).table("people")
    schema = {"colour": Kind.TEXT, "age": Kind.INTEGER}
    return resolve(as_query(question(number)), table, schema), table


def digest_of(number: int, config: str | Path) -> str:
    """What the ledger calls a question."""
    return normal(*resolved(number, config)).digest


def warm(config: str) -> None:
    """Plan once, so that the lives find the noise worked out."""
    query, table = resolved(0, config)
    filter = filter_for(table)
    prepare(query, table, filter).price(filter)


def be_careless(how: str) -> None:
    """The controls: what a curator must not do."""
    if how == "tells first":
        store = Ledger.answer

        def answer(self: Ledger, granted: Granted, found: Any) -> Any:
            def later() -> None:
                time.sleep(0.05)
                store(self, granted, found)

            threading.Thread(target=later, daemon=True).start()
            return found

        Ledger.answer = answer  # type: ignore[method-assign]
    if how == "forgets":
        find = ledger_module._find
        ledger_module._find = lambda *found, **serves: (find(*found, **serves)[0], [])


def main() -> None:
    be_careless(*sys.argv[1:2] or [""])
    say("here")
    for line in sys.stdin:
        wanted = json.loads(line)
        warm(wanted["config"])
        pid = os.fork()
        if pid == 0:
            try:
                say(f"pid {os.getpid()}")
                life(**wanted)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        say("dead")


if __name__ == "__main__":
    main()
