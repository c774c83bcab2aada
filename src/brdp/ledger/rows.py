"""Reading and writing the ledger's rows inside a transaction, each row checked as it is read."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, final

from brdp.ledger.entry import Entry, EntryKind
from brdp.ledger.failures import LedgerRefused
from brdp.ledger.records import BudgetStatus, Period
from brdp.ledger.schema import NEWEST
from brdp.ledger.store import ENTRY_COLUMNS, Store, entry_of
from brdp.privacy.filters import Amounts, Filter, FilterState, read_filter

# Entries beside other rows are looked up one by one, never joined: a server that has no statistics yet would rather
# read all of them.
HEAD = (
    "SELECT h.seq, h.hash, h.time, (SELECT e.hash FROM entries e WHERE e.seq = h.seq), "
    "(SELECT max(v.version) FROM brdp_ledger v) FROM head h"
)
COLUMNS = len(ENTRY_COLUMNS.split(","))
ENTRY_AT = f"SELECT {ENTRY_COLUMNS} FROM entries WHERE seq = ?"  # noqa: S608 - names of columns alone
ANSWER_OF = f"SELECT {ENTRY_COLUMNS} FROM entries WHERE kind = 'answer' AND charge = ?"  # noqa: S608
CHARGES_OF = (
    f"SELECT {ENTRY_COLUMNS} FROM entries WHERE kind = 'charge' AND table_name = ? AND digest = ? "  # noqa: S608
    "ORDER BY seq + 0 DESC LIMIT 1000"  # not by the primary key: from the end it would pass all others by
)
# A table's running sums, each beside its budget's entry and the last entry that changed it.
LOOKED_UP = ", ".join(
    f"(SELECT {name.strip()} FROM entries WHERE seq = t.{which})"  # noqa: S608
    for which in ("budget", "last")
    for name in ENTRY_COLUMNS.split(",")
)
WITH_ENTRIES = (
    f"SELECT t.budget, t.spent, t.last, {LOOKED_UP} FROM totals t "  # noqa: S608
    "WHERE t.table_name = ? ORDER BY t.budget"
)


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


def head_of(store: Store) -> Head:
    """The head, which must agree with the last entry, in a ledger of the version that this brdp writes."""
    known: Head | None = store.memo.get("head")
    if known is not None:
        return known
    rows = store.execute(HEAD)
    if len(rows) != 1 or (rows[0][0] > 0 and rows[0][1] != rows[0][3]):
        raise _edited("the head does not match the last entry")
    seq, hash_, time, _, version = rows[0]
    if version != NEWEST:
        # a newer brdp may keep sums by other rules: what this process knows of them is no longer enough
        raise LedgerRefused(
            f"{store.place}: expected a ledger of version {NEWEST}, as it was opened; got version {version}: "
            "another brdp has changed it since. Nothing was changed. Use that version."
        )
    store.memo["head"] = Head(seq, hash_, time)
    return Head(seq, hash_, time)


def append(
    store: Store,
    kind: EntryKind,
    table: str,
    time: float,
    body: dict[str, Any],
    *,
    digest: str | None = None,
    charge: int | None = None,
) -> Entry:
    """Write a new entry after the last one."""
    head = head_of(store)
    entry = Entry.of(
        seq=head.seq + 1,
        kind=kind,
        table=table,
        time=time,
        body=body,
        previous=head.hash,
        digest=digest,
        charge=charge,
    )
    store.execute(
        f"INSERT INTO entries ({ENTRY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        (
            entry.seq,
            entry.kind.value,
            entry.table,
            entry.digest,
            entry.charge,
            entry.text,
            entry.previous,
            entry.hash,
        ),
    )
    store.execute(
        "UPDATE head SET seq = ?, hash = ?, time = ? WHERE id = 1", (entry.seq, entry.hash, time)
    )
    store.memo["head"] = Head(entry.seq, entry.hash, time)
    return entry


def entry_at(store: Store, seq: int) -> Entry:
    """One entry, checked by itself."""
    rows = store.execute(ENTRY_AT, (seq,))
    return _checked(seq, rows[0] if rows else ())


def _checked(seq: int, row: Sequence[Any]) -> Entry:
    """The entry of a number, from its columns; there is nothing in them where it is missing."""
    if not row or row[0] is None:
        raise _edited(f"entry {seq} is missing")
    return entry_of(tuple(row)).checked()


def budgets_of(store: Store, table: str) -> tuple[BudgetStatus, ...]:
    """A table's budgets with their running sums, the oldest (its own) first.

    Two entries are read for each, however many charges there were, and all in one statement, because a server is
    waited for at each: the budget's own and the last one that changed it, whose hash covers the sums.
    """
    known: tuple[BudgetStatus, ...] | None = store.memo.get(f"budgets of {table}")
    if known is not None:
        return known
    rows = store.execute(WITH_ENTRIES, (table,))
    found = []
    for budget, spent_text, last, *entries in rows:
        spent = as_amounts(spent_text)
        entry = _checked(budget, entries[:COLUMNS])
        body = entry.body
        filter = _filter(json.dumps(body["filter"]))
        if entry.kind is not EntryKind.BUDGET or entry.table != table:
            raise _edited("a budget's row does not match its entry")
        proof = as_text(filter.empty)
        if last != budget:
            latest = _checked(last, entries[COLUMNS:])
            proof = latest.body.get("after", {}).get(str(budget), "")
        if as_amounts(proof) != spent or len(spent) != len(filter.empty):
            raise _edited(f"the sums of budget {budget} do not match its last charge")
        found.append(
            BudgetStatus(
                budget,
                table,
                body["analyst"],
                read_period(body["period"]),
                FilterState(filter, spent),
                body.get("protects", ""),
                body.get("secret", ""),
            )
        )
    store.memo[f"budgets of {table}"] = tuple(found)
    return tuple(found)


def require_all(store: Store, table: str, found: tuple[BudgetStatus, ...]) -> None:
    """Refuse a table whose running sums are gone while its budgets are still written down.

    Nothing but a budget that is newly granted asks for it: it looks through every entry.
    """
    ((granted,),) = store.execute(
        "SELECT count(*) FROM entries WHERE kind = 'budget' AND table_name = ?", (table,)
    )
    if granted != len(found):
        raise _edited("the sums of a budget are missing")


def set_total(
    store: Store, budget: int, table: str, spent: Amounts, *, last: int, new: bool = False
) -> None:
    """Write a budget's running sums."""
    known: tuple[BudgetStatus, ...] | None = store.memo.pop(f"budgets of {table}", None)
    if known is not None and not new:
        store.memo[f"budgets of {table}"] = tuple(
            replace(b, state=FilterState(b.filter, spent)) if b.seq == budget else b for b in known
        )
    if new:
        store.execute(
            "INSERT INTO totals (budget, table_name, spent, last) VALUES (?, ?, ?, ?)",
            (budget, table, as_text(spent), last),
        )
    else:
        store.execute(
            "UPDATE totals SET spent = ?, last = ? WHERE budget = ?", (as_text(spent), last, budget)
        )


def claim_of(store: Store, charge: int) -> Claim | None:
    """Who is completing a charge."""
    rows = store.execute("SELECT token, holder, until FROM claims WHERE charge = ?", (charge,))
    return Claim(*rows[0]) if rows else None


def set_claim(store: Store, charge: int, token: str, holder: str, *, until: float) -> None:
    """Take (over) a charge."""
    store.execute(
        "INSERT INTO claims (charge, token, holder, until) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (charge) DO UPDATE SET token = excluded.token, holder = excluded.holder, "
        "until = excluded.until",
        (charge, token, holder, until),
    )


def drop_claim(store: Store, charge: int, token: str) -> None:
    """Let a charge go, if it is still this caller's."""
    store.execute("DELETE FROM claims WHERE charge = ? AND token = ?", (charge, token))


def as_text(amounts: Amounts) -> str:
    """Amounts as they are written down: whole numbers of 2^-200, in hexadecimal."""
    return " ".join(f"{amount:x}" for amount in amounts)


def as_amounts(text: str) -> Amounts:
    """Amounts from their text."""
    try:
        return tuple(int(part, 16) for part in text.split())
    except ValueError:
        raise _edited("a sum is not a number") from None


@functools.lru_cache(maxsize=256)
def _filter(text: str) -> Filter:
    """A budget's filter, read once: its limits take longer to work out than a charge to write."""
    return read_filter(json.loads(text))


def read_period(data: Any) -> Period | None:
    """A period from its text."""
    if data is None:
        return None
    start, end = (datetime.fromisoformat(text) for text in data)
    return Period(start, end)


def _edited(what: str) -> LedgerRefused:
    return LedgerRefused(
        f"ledger: expected rows as they were written; got edited ones ({what}). Nothing was changed. "
        "Restore the ledger from a copy that `brdp ledger verify` accepts."
    )
