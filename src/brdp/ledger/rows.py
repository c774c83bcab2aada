"""The ledger's rows: the statements that read and write them, and what their columns say, checked."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, final

from brdp.ledger.entry import Entry, EntryKind
from brdp.ledger.failures import LedgerRefused
from brdp.ledger.records import BudgetStatus, Period
from brdp.ledger.schema import NEWEST
from brdp.ledger.store import Row, Statement, Store
from brdp.privacy.filters import Amounts, FilterState, read_filter

ENTRY_COLUMNS = "seq, kind, table_name, digest, charge, body, previous, hash"
COLUMNS = len(ENTRY_COLUMNS.split(","))


def _columns_of(name: str) -> str:
    return ", ".join(f"{name}.{column.strip()}" for column in ENTRY_COLUMNS.split(","))


# Entries beside other rows are looked up one by one, never joined: a server that has no statistics yet, or had them
# when there was little, would rather read all of them.
HEAD = (
    "SELECT h.seq, h.hash, h.time, (SELECT e.hash FROM entries e WHERE e.seq = h.seq), "
    "(SELECT max(v.version) FROM brdp_ledger v) FROM head h"
)
SET_HEAD = "UPDATE head SET seq = ?, hash = ?, time = ? WHERE id = 1"
ENTRY_AT = f"SELECT {ENTRY_COLUMNS} FROM entries WHERE seq = ?"  # noqa: S608 - names of columns alone
ENTRIES_BETWEEN = (
    f"SELECT {ENTRY_COLUMNS} FROM entries WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT 2000"  # noqa: S608
)
ANSWER_OF = f"SELECT {ENTRY_COLUMNS} FROM entries WHERE kind = 'answer' AND charge = ?"  # noqa: S608
CHARGES_OF = (
    f"SELECT {ENTRY_COLUMNS} FROM entries WHERE kind = 'charge' AND table_name = ? AND digest = ? "  # noqa: S608
    "ORDER BY seq + 0 DESC LIMIT 1000"  # not by the primary key: from the end it would pass all others by
)
# Which of some questions have charges: nearly all are new.
CHARGED = (
    "SELECT q.column1, q.column2 FROM (VALUES (?, ?)) AS q WHERE (SELECT seq FROM entries "
    "WHERE kind = 'charge' AND table_name = q.column1 AND digest = q.column2 LIMIT 1) IS NOT NULL"
)
GRANTS_OF = "SELECT count(*) FROM entries WHERE kind = 'budget' AND table_name = ?"
NEW_ENTRY = f"INSERT INTO entries ({ENTRY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
TOTALS = "SELECT budget, spent FROM totals ORDER BY budget"
NEW_TOTAL = "INSERT INTO totals (budget, table_name, spent, last) VALUES (?, ?, ?, ?)"
SET_TOTAL = "UPDATE totals SET spent = ?, last = ? WHERE budget = ?"
CLAIM_OF = "SELECT token, holder, until FROM claims WHERE charge = ?"
SET_CLAIM = (
    "INSERT INTO claims (charge, token, holder, until) VALUES (?, ?, ?, ?) ON CONFLICT (charge) DO UPDATE "
    "SET token = excluded.token, holder = excluded.holder, until = excluded.until"
)
DROP_CLAIM = "DELETE FROM claims WHERE charge = ? AND token = ?"
# The most rows in one statement: SQLite and PostgreSQL take some tens of thousands of parameters.
MOST_ROWS = 64
# How many charges of its own a process remembers.
MOST_PROVEN = 256


@final
@dataclass(frozen=True, slots=True)
class Head:
    """The last entry's number, hash and time."""

    seq: int
    hash: str
    time: float


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """Who is completing a charge, and until when that is believed."""

    token: str
    holder: str
    until: float


@functools.cache
def totals_of(store: type[Store]) -> str:
    """A table's running sums, each beside its budget's entry and the last entry that changed it."""
    entries = [
        store.beside.format(name=name, seq=seq)
        for name, seq in (("b", "t.budget"), ("e", "t.last"))
    ]
    return (
        f"SELECT t.budget, t.spent, t.last, {_columns_of('b')}, {_columns_of('e')} FROM totals t "  # noqa: S608
        f"{' '.join(entries)} WHERE t.table_name = ? ORDER BY t.budget"
    )


_VALUES = re.compile(r"(?<=VALUES )\(\?(?:, \?)*\)")


def for_all(statement: str, rows: Sequence[Row]) -> list[Statement]:
    """A statement about the VALUES of one row, for many: pieces of a few sizes, which stay prepared."""
    found: list[Statement] = []
    done = 0
    while done < len(rows):
        size = min(1 << ((len(rows) - done).bit_length() - 1), MOST_ROWS)
        piece = rows[done : done + size]
        found.append((_repeated(statement, size), tuple(itertools.chain.from_iterable(piece))))
        done += size
    return found


@functools.cache
def _repeated(statement: str, times: int) -> str:
    return _VALUES.sub(lambda row: ", ".join([row[0]] * times), statement)


def entry_of(row: Row) -> Entry:
    """An entry from its columns."""
    seq, kind, table, digest, charge, text, previous, hash_ = row
    try:
        known = EntryKind(kind)
    except ValueError:
        raise LedgerRefused(
            f"ledger entry {seq}: expected a budget, charge or answer; got another kind. "
            "Restore the ledger from a copy that `brdp ledger verify` accepts."
        ) from None
    return Entry(seq, known, table, digest, charge, text, previous, hash_)


def checked_entry(seq: int, row: Row) -> Entry:
    """The entry of a number, from its columns; there is nothing in them where it is missing."""
    if not row or row[0] is None:
        raise edited(f"entry {seq} is missing")
    return entry_of(row).checked()


def head_of(store: Store, rows: list[Row]) -> Head:
    """The head, which must agree with the last entry, in a ledger of the version that this brdp writes."""
    if len(rows) != 1 or (rows[0][0] > 0 and rows[0][1] != rows[0][3]):
        raise edited("the head does not match the last entry")
    seq, hash_, time, _, version = rows[0]
    if version != NEWEST:
        # a newer brdp may keep sums by other rules: what this process knows of them is no longer enough
        raise LedgerRefused(
            f"{store.place}: expected a ledger of version {NEWEST}, as it was opened; got version {version}: "
            "another brdp has changed it since. Nothing was changed. Use that version."
        )
    return Head(seq, hash_, time)


def budget_of(table: str, row: Row) -> BudgetStatus:
    """A budget with its running sums, from the row that holds them.

    Two entries prove them, however many charges there were: the budget's own, and the last one that changed the
    sums, whose hash covers them.
    """
    seq, spent_text, last = row[:3]
    budget = _granted(seq, table, row[3 : 3 + COLUMNS])
    spent = as_amounts(spent_text)
    if last == seq:
        good = spent == budget.state.spent
    else:
        good = len(spent) == len(budget.state.spent)
        proof = (seq, spent_text, row[3 + COLUMNS :])
        if good and proof not in _proven:
            sums = checked_entry(last, row[3 + COLUMNS :]).body.get("after", {})
            good = as_amounts(sums.get(str(seq), "")) == spent
    if not good:
        raise edited(f"the sums of budget {seq} do not match its last charge")
    return replace(budget, state=FilterState(budget.filter, spent))


# Budgets, their sums, and the columns of the charges that left them so, as this process has written them. They are read
# back for the next charge; columns that are the same, letter by letter, need not be hashed again.
_proven: set[tuple[int, str, Row]] = set()


def proven(seq: int, spent: str, row: Row) -> None:
    """Remember a charge that this process writes, for the next one to rest on."""
    if len(_proven) >= MOST_PROVEN:
        _proven.clear()
    _proven.add((seq, spent, row))


# The same columns are checked once, too.
@functools.lru_cache(maxsize=256)
def _granted(seq: int, table: str, row: Row) -> BudgetStatus:
    """A budget as it was granted."""
    entry = checked_entry(seq, row)
    if entry.kind is not EntryKind.BUDGET or entry.table != table:
        raise edited("a budget's row does not match its entry")
    body = entry.body
    return BudgetStatus(
        seq,
        table,
        body["analyst"],
        read_period(body["period"]),
        FilterState.start(read_filter(body["filter"])),
        body.get("protects", ""),
        body.get("secret", ""),
    )


def as_text(amounts: Amounts) -> str:
    """Amounts as they are written down: whole numbers of 2^-200, in hexadecimal."""
    return " ".join(f"{amount:x}" for amount in amounts)


def as_amounts(text: str) -> Amounts:
    """Amounts from their text."""
    try:
        return tuple(int(part, 16) for part in text.split())
    except ValueError:
        raise edited("a sum is not a number") from None


def read_period(data: Any) -> Period | None:
    """A period from its text."""
    if data is None:
        return None
    start, end = (datetime.fromisoformat(text) for text in data)
    return Period(start, end)


def edited(what: str) -> LedgerRefused:
    """The refusal of rows that are not as they were written."""
    return LedgerRefused(
        f"ledger: expected rows as they were written; got edited ones ({what}). Nothing was changed. "
        "Restore the ledger from a copy that `brdp ledger verify` accepts."
    )
