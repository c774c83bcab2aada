"""Going through a whole ledger again: every line, every hash, every sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import final

from brdp.ledger.entry import GENESIS, Entry, EntryKind
from brdp.ledger.failures import LedgerRefused
from brdp.ledger.ledger import Ledger
from brdp.ledger.records import Period
from brdp.ledger.rows import as_amounts, read_period
from brdp.privacy.filters import Amounts, Filter, read_filter
from brdp.privacy.filters.amount import added

# Progress is told every so many lines.
LINES = 1000


@final
@dataclass(frozen=True, slots=True)
class Verified:
    """What a ledger that is whole consists of. Write `hash` down: it shows later whether lines were cut off."""

    entries: int
    charges: int
    answers: int
    hash: str


def verify(
    ledger: Ledger,
    *,
    holds: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verified:
    """Check a ledger from its first line to its last; raises LedgerRefused at the first fault.

    `holds` is a hash that was written down at an earlier time: some line must still have it. `progress` is told
    now and then how many lines of how many were checked.

    Guarantee: any change of a line, any line missing before the last, any sum that the charges do not add
    up to, any charge that passed a budget by and any budget overspent is found. Someone who can write the
    file can write a whole new chain, or cut off its end: against that stands only a hash kept elsewhere.
    """
    seq, head_hash, totals = ledger.state()
    budgets: dict[int, _Budget] = {}
    charges: dict[int, str] = {}
    answered: set[int] = set()
    last, previous = 0, GENESIS
    held = holds in (None, GENESIS)
    # lines that others add meanwhile come after the head, and are theirs
    for entry in ledger.entries(until=seq):
        if entry.seq != last + 1 or entry.previous != previous:
            raise _broken(entry, "it does not follow the line before it")
        fault = entry.fault()
        if fault:
            raise _broken(entry, fault)
        last, previous = entry.seq, entry.hash
        if progress is not None and (last % LINES == 0 or last == seq):
            progress(last, seq)
        held = held or entry.hash == holds
        if entry.kind is EntryKind.BUDGET:
            budgets[entry.seq] = _Budget.read(entry)
        elif entry.kind is EntryKind.CHARGE:
            charges[entry.seq] = entry.table
            _check_charge(entry, budgets)
        else:
            if charges.get(entry.charge or 0) != entry.table:
                raise _broken(entry, "its answer belongs to no charge")
            if entry.charge in answered:
                raise _broken(entry, "its charge has two answers")
            answered.add(entry.charge or 0)
    if last != seq or previous != head_hash:
        raise LedgerRefused(
            f"ledger: expected its last line to be {seq}; got {last}, or one with another hash."
        )
    if totals != {number: budget.spent for number, budget in budgets.items()}:
        raise LedgerRefused("ledger: expected the sums of all charges; got other running totals.")
    if not held:
        raise LedgerRefused(
            f"ledger: expected a line with the hash {holds}; got none. Lines were cut off or written anew "
            "since that hash was noted, or it is of another ledger."
        )
    return Verified(last, len(charges), len(answered), previous)


@final
@dataclass(slots=True)
class _Budget:
    """A budget met on the way, and its sum so far."""

    table: str
    analyst: str | None
    period: Period | None
    filter: Filter
    spent: Amounts

    @classmethod
    def read(cls, entry: Entry) -> _Budget:
        body = entry.body
        filter = read_filter(body["filter"])
        return cls(entry.table, body["analyst"], read_period(body["period"]), filter, filter.empty)

    def covers(self, entry: Entry, analyst: str, time: float) -> bool:
        return (
            self.table == entry.table
            and self.analyst in (None, analyst)
            and (self.period is None or self.period.holds(time))
        )


def _check_charge(entry: Entry, budgets: dict[int, _Budget]) -> None:
    body = entry.body
    price = as_amounts(body["price"])
    time = datetime.fromisoformat(body["time"]).timestamp()
    due = {
        number for number, budget in budgets.items() if budget.covers(entry, body["analyst"], time)
    }
    if not due or due != set(map(int, body["after"])):
        raise _broken(entry, "it is not charged to every budget that covers it")
    for name, after in body["after"].items():
        budget = budgets[int(name)]
        budget.spent = added(budget.spent, price)
        if budget.spent != as_amounts(after):
            raise _broken(entry, "its sum does not add up")
        if not budget.filter.fits(budget.spent):
            raise _broken(entry, "its budget is overspent")


def _broken(entry: Entry, what: str) -> LedgerRefused:
    return LedgerRefused(
        f"ledger entry {entry.seq}: expected the line that was written; got one that was edited ({what}). "
        "Restore the ledger from a copy that `brdp ledger verify` accepts."
    )
