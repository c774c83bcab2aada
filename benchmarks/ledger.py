"""Durable charges per second, beside raw single-row durable commits of the same store in the same run.

Claims: one client makes at least 0.5 times as many charges as there are raw commits; 16 threads of one process
share commits, and make at least 2 times as many charges as one raw client makes commits. A charge on top of many
past charges costs at most 2 times one on top of a hundred: with --full many is a million, else fifty thousand.

A raw commit inserts one row, as long as that of a charge, with the store's own driver and as durably. What is asked is
put together before the clock starts, as the raw row is.

    python benchmarks/ledger.py [--full] [--postgres URL]

Without a URL a PostgreSQL server is started from its binaries where they are installed.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import itertools
import secrets
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from brdp.cli.output import Percent
from brdp.ledger import Granted, Ledger, open_ledger
from brdp.ledger.books import Books
from tests.ledger.asking import TABLE, filter_for, request, serves
from tests.ledger.server import Server, binaries

ONE_CLIENT, SIXTEEN_THREADS, GROWTH = 0.5, 2.0, 2.0
FEW, SOME, MANY = 100, 50_000, 1_000_000
TOGETHER = 200  # more in one commit would leave versions of its rows for PostgreSQL to sweep up
MOST_PER_SECOND = 30_000  # no machine makes as many
counter = itertools.count()
Raw = Callable[[str, str], Callable[[], None]]


def raw_sqlite(place: str, text: str) -> Callable[[], None]:
    connection = sqlite3.connect(f"{place}.raw", isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE raw (number INTEGER, text TEXT)")

    def commit() -> None:
        connection.execute("INSERT INTO raw VALUES (?, ?)", (1, text))

    return commit


def raw_postgres(place: str, text: str) -> Callable[[], None]:
    import psycopg

    connection = psycopg.connect(place, autocommit=True)
    connection.execute("CREATE TABLE raw (number INTEGER, text TEXT)")

    def commit() -> None:
        connection.execute("INSERT INTO raw VALUES (%s, %s)", (1, text))

    return commit


def rate(work: Callable[[], None], *, seconds: float, threads: int = 1) -> float:
    """How often per second the work is done, by so many threads at once."""
    done = [0] * threads
    end = time.perf_counter() + seconds

    def loop(index: int) -> None:
        while time.perf_counter() < end:
            work()
            done[index] += 1

    start = time.perf_counter()
    running = [threading.Thread(target=loop, args=(index,)) for index in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return sum(done) / (time.perf_counter() - start)


def charging(ledger: Ledger, *, seconds: float) -> Callable[[], None]:
    """Charge for one question after another, each made up beforehand."""
    first = request("any")
    questions = iter(
        [
            dataclasses.replace(first, digest=f"question {next(counter)}")
            for _ in range(round(seconds * MOST_PER_SECOND))
        ]
    )

    def charge() -> None:
        assert isinstance(ledger.ask(next(questions), serves=serves(1)), Granted)

    return charge


def compare(name: str, place: str, raw_at: Raw, *, seconds: float, rounds: int) -> bool:
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(2 * MANY))
        granted = ledger.ask(request("first"), serves=serves(1))
        assert isinstance(granted, Granted)
        # the text and two hashes are nearly all of a charge's row
        raw = raw_at(place, granted.text + 128 * "x")
        one, many = [], []
        for _ in range(rounds):  # interleaved: other work on the machine meets all of them
            base = rate(raw, seconds=seconds)
            alone = rate(charging(ledger, seconds=seconds), seconds=seconds)
            charge = charging(ledger, seconds=seconds)
            together = rate(charge, seconds=seconds, threads=16)
            one.append(alone / base)
            many.append(together / base)
            print(
                f"  {name}: raw {base:.0f}/s, one client {alone:.0f}/s, 16 threads {together:.0f}/s"
            )
    one_ratio, many_ratio = sorted(one)[rounds // 2], sorted(many)[rounds // 2]
    good = one_ratio >= ONE_CLIENT and many_ratio >= SIXTEEN_THREADS
    print(
        f"{name}: one client {one_ratio:.2f} of raw commits (at least {ONE_CLIENT}), "
        f"16 threads {many_ratio:.2f} times (at least {SIXTEEN_THREADS}): {'met' if good else 'MISSED'}"
    )
    return good


def filled(place: str, charges: int) -> Ledger:
    """A ledger with so many past charges, made as ever but for a few hundred in one commit."""
    ledger = open_ledger(place)
    ledger.grant(TABLE, filter_for(2 * MANY))

    def work(books: Books) -> None:
        for index in range(piece):
            ledger._charge(books, request(f"past {done + index}"))

    shown = Percent("  filling", "charges") if sys.stderr.isatty() else None
    for done in range(0, charges, TOGETHER):
        piece = min(TOGETHER, charges - done)
        ledger._queue.write(work)
        if shown is not None:
            shown(done + piece, charges)
    return ledger


def grows(name: str, few: str, many: str, *, charges: int, rounds: int) -> bool:
    """Whether a charge is as cheap after many as after few; charges are made in turn."""
    with filled(few, FEW) as small, filled(many, charges) as large:
        seconds: dict[Ledger, list[float]] = {small: [], large: []}
        for index in range(rounds):
            for ledger in (small, large) if index % 2 else (large, small):
                asked = request(f"question {next(counter)}")
                start = time.perf_counter()
                assert isinstance(ledger.ask(asked, serves=serves(1)), Granted)
                seconds[ledger].append(time.perf_counter() - start)
        early, late = (statistics.median(times) for times in seconds.values())
    good = late <= GROWTH * early
    print(
        f"{name}: a charge after {charges:,} takes {late / early:.2f} times one after {FEW} "
        f"({late * 1e3:.2f} and {early * 1e3:.2f} ms; at most {GROWTH:g}): {'met' if good else 'MISSED'}"
    )
    return good


@contextlib.contextmanager
def postgres(url: str | None) -> Iterator[Callable[[], str] | None]:
    """Fresh places in PostgreSQL."""
    if url is not None:
        yield lambda: _schema(url)
    elif binaries() is None:
        yield None
    else:
        server = Server()
        try:
            yield server.database
        finally:
            server.stop()


def _schema(url: str) -> str:
    import psycopg

    name = f"brdp_bench_{secrets.token_hex(4)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--postgres")
    args = parser.parse_args()
    seconds, rounds = (5.0, 5) if args.full else (1.0, 3)
    charges, turns = (MANY, 1000) if args.full else (SOME, 200)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        # in the current folder: /tmp may be memory, where a durable commit costs nothing
        files = (str(Path(folder) / f"ledger{index}.sqlite") for index in itertools.count())
        good = compare("SQLite", next(files), raw_sqlite, seconds=seconds, rounds=rounds)
        good &= grows("SQLite", next(files), next(files), charges=charges, rounds=turns)
    with postgres(args.postgres) as place:
        if place is None:
            print("PostgreSQL: NOT MEASURED, it is not installed")
        else:
            good &= compare("PostgreSQL", place(), raw_postgres, seconds=seconds, rounds=rounds)
            good &= grows("PostgreSQL", place(), place(), charges=charges, rounds=turns)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
