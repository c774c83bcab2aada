"""Going through a whole ledger again: every line, every hash, every sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from brdp.ledger.entry import GENESIS, Entry, EntryKind
from brdp.ledger.failures import LedgerRefused
from brdp.ledger.ledger import Ledger
from brdp.ledger.rows import as_amounts
from brdp.privacy.filters import Amounts, Filter, read_filter
from brdp.privacy.filters.amount import added


@final
@dataclass(frozen=True, slots=True)
class Verified:
    """What a ledger that is whole consists of. Write `hash` down: it shows later whether lines were cut off."""

    entries: int
    charges: int
    answers: int
    hash: str


def verify(ledger: Ledger) -> Verified:
    """Check a ledger from its first line to its last; raises LedgerRefused at the first fault.

    Guarantee: any change of a line, any line missing before the last, any sum that the charges do not add
    up to and any budget overspent is found. Someone who can write the file can write a whole new chain,
    or cut off its end: against that stands only the hash of the head, kept elsewhere.
    """
    budgets: dict[int, Filter] = {}
    sums: dict[int, Amounts] = {}
    charges: dict[int, str] = {}
    answered: set[int] = set()
    last, previous = 0, GENESIS
    for entry in ledger.entries():
        if entry.seq != last + 1 or entry.previous != previous:
            raise _broken(entry, "it does not follow the line before it")
        fault = entry.fault()
        if fault:
            raise _broken(entry, fault)
        last, previous = entry.seq, entry.hash
        body = entry.body
        if entry.kind is EntryKind.BUDGET:
            budgets[entry.seq] = read_filter(body["filter"])
            sums[entry.seq] = budgets[entry.seq].empty
        elif entry.kind is EntryKind.CHARGE:
            charges[entry.seq] = entry.table
            price = as_amounts(body["price"])
            for name, after in body["after"].items():
                budget = int(name)
                if budget not in budgets:
                    raise _broken(entry, "it is charged to no budget")
                sums[budget] = added(sums[budget], price)
                if sums[budget] != as_amounts(after):
                    raise _broken(entry, "its sum does not add up")
                if not budgets[budget].fits(sums[budget]):
                    raise _broken(entry, "its budget is overspent")
        else:
            if charges.get(entry.charge or 0) != entry.table:
                raise _broken(entry, "its answer belongs to no charge")
            if entry.charge in answered:
                raise _broken(entry, "its charge has two answers")
            answered.add(entry.charge or 0)
    seq, hash_ = ledger.head()
    if seq < last or (seq == last and hash_ != previous):
        raise LedgerRefused(
            f"ledger: expected its head at entry {last}; got it at entry {seq}, or with another hash."
        )
    if seq == last and ledger.totals() != sums:
        raise LedgerRefused("ledger: expected the sums of all charges; got other running totals.")
    return Verified(last, len(charges), len(answered), previous)


def _broken(entry: Entry, what: str) -> LedgerRefused:
    return LedgerRefused(
        f"ledger entry {entry.seq}: expected the line that was written; got one that was edited ({what}). "
        "Restore the ledger from a copy that `brdp ledger verify` accepts."
    )
