"""The books as one transaction has them: what the store holds, and over it what is to be written down."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, final

from brdp.ledger.entry import Entry, EntryKind
from brdp.ledger.failures import LedgerRefused
from brdp.ledger.records import BudgetStatus
from brdp.ledger.rows import (
    ANSWER_OF,
    CHARGED,
    CHARGES_OF,
    CLAIM_OF,
    DROP_CLAIM,
    ENTRY_AT,
    GRANTS_OF,
    HEAD,
    NEW_ENTRY,
    NEW_TOTAL,
    SET_CLAIM,
    SET_HEAD,
    SET_TOTAL,
    Claim,
    Head,
    as_text,
    budget_of,
    checked_entry,
    edited,
    entry_of,
    for_all,
    head_of,
    proven,
    totals_of,
)
from brdp.ledger.store import Row, Statement, Store
from brdp.privacy.filters import FilterState

Result = TypeVar("Result")
# Clocks are set back a little all the time; further back than this, somebody should look.
CLOCK_TOLERANCE = 5.0


@final
@dataclass(slots=True)
class _Page:
    """What is to be written down."""

    head: Head | None = None
    entries: list[Entry] = field(default_factory=list)
    granted: list[BudgetStatus] = field(default_factory=list)
    # the running sums of a budget, and the entry that changed them last
    totals: dict[int, tuple[FilterState, Entry]] = field(default_factory=dict)
    claims: dict[int, Claim] = field(default_factory=dict)
    dropped: list[tuple[int, str]] = field(default_factory=list)

    def copy(self) -> _Page:
        return _Page(
            self.head,
            self.entries.copy(),
            self.granted.copy(),
            self.totals.copy(),
            self.claims.copy(),
            self.dropped.copy(),
        )


@final
class Books:
    """What every piece of work in a transaction reads and writes. It sees what those before it have written.

    Every row is checked as it is read. Nothing goes to the store before `write_down`, then all of it at once: many
    charges in one transaction cost little more than one.
    """

    def __init__(
        self, store: Store, clock: Callable[[], float], reads: Iterable[Statement] = ()
    ) -> None:
        self._store = store
        self._clock = clock
        self._page = _Page()
        together = dict.fromkeys(reads)
        questions = [parameters for statement, parameters in together if statement == CHARGED]
        others = [read for read in together if read[0] != CHARGED]
        found = store.execute_all([*others, *for_all(CHARGED, questions)])
        # in this transaction nobody else can change what is there; what is written here lies over it
        self._found = dict(zip(others, found, strict=False))
        self._new = set(questions).difference(*found[len(others) :])
        self._budgets: dict[str, tuple[BudgetStatus, ...]] = {}
        self._time: float | None = None

    def attempt(self, work: Callable[[Books], Result]) -> Result:
        """Do a piece of work; where it fails, what it has written is struck out."""
        before = self._page.copy()
        try:
            return work(self)
        except BaseException:
            self._page = before
            raise

    def rows(self, statement: str, *parameters: Any) -> list[Row]:
        """What the store held when the transaction began."""
        read = (statement, parameters)
        if read not in self._found:
            self._found[read] = self._store.execute(statement, parameters)
        return self._found[read]

    # ---- entries -----------------------------------------------------------------------------------------

    def head(self) -> Head:
        """The head, which must agree with the last entry, in a ledger of the version that this brdp writes."""
        if self._page.head is None:
            self._page.head = head_of(self._store, self.rows(HEAD))
        return self._page.head

    def time(self) -> float:
        """Now, but never before the last entry; a clock that went far back is refused.

        One moment for all that is written in a transaction.
        """
        if self._time is None:
            head, now = self.head(), self._clock()
            if not now >= head.time - CLOCK_TOLERANCE:
                raise LedgerRefused(
                    f"{self._store.place}: expected a clock that moves on; got one that is "
                    f"{head.time - now:.0f} s behind the last entry. Nothing was changed. Set the clock right."
                )
            self._time = max(now, head.time)
        return self._time

    def append(
        self,
        kind: EntryKind,
        table: str,
        body: Mapping[str, Any],
        *,
        digest: str | None = None,
        charge: int | None = None,
    ) -> Entry:
        """Add an entry after the last one."""
        head, time = self.head(), self.time()
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
        self._page.entries.append(entry)
        self._page.head = Head(entry.seq, entry.hash, time)
        return entry

    def entry(self, seq: int) -> Entry:
        """One entry, checked by itself."""
        for entry in self._page.entries:
            if entry.seq == seq:
                return entry
        rows = self.rows(ENTRY_AT, seq)
        return checked_entry(seq, rows[0] if rows else ())

    def charges(self, table: str, digest: str) -> list[Entry]:
        """The charges for a question, the newest first."""
        added = [
            entry
            for entry in reversed(self._page.entries)
            if entry.digest == digest and entry.table == table
        ]
        if (table, digest) in self._new:
            return added
        return added + [entry_of(row).checked() for row in self.rows(CHARGES_OF, table, digest)]

    def answer(self, charge: int) -> Entry | None:
        """The answer of a charge, where it has one."""
        for entry in self._page.entries:
            if entry.charge == charge:
                return entry
        rows = self.rows(ANSWER_OF, charge)
        return entry_of(rows[0]).checked() if rows else None

    # ---- budgets -----------------------------------------------------------------------------------------

    def budgets(self, table: str) -> tuple[BudgetStatus, ...]:
        """A table's budgets, the oldest (its own) first; what is spent of them is `state_of` each."""
        if table not in self._budgets:
            self._budgets[table] = tuple(
                budget_of(table, row) for row in self.rows(totals_of(type(self._store)), table)
            )
        granted = [budget for budget in self._page.granted if budget.table == table]
        return (*self._budgets[table], *granted)

    def all_budgets(self, table: str) -> tuple[BudgetStatus, ...]:
        """The same, refused where running sums are gone while their budgets are still written down.

        Nothing but a budget that is newly granted asks for it: it looks through every entry.
        """
        found = self.budgets(table)
        ((written,),) = self.rows(GRANTS_OF, table)
        if written != len(self._budgets[table]):
            raise edited("the sums of a budget are missing")
        return found

    def state_of(self, budget: BudgetStatus) -> FilterState:
        """What is spent of a budget by now."""
        known = self._page.totals.get(budget.seq)
        return budget.state if known is None else known[0]

    def grant(self, budget: BudgetStatus) -> None:
        """Begin the running sums of a new budget."""
        self._page.granted.append(budget)

    def spend(self, budget: BudgetStatus, state: FilterState, *, by: Entry) -> None:
        """Change the running sums of a budget."""
        self._page.totals[budget.seq] = (state, by)

    # ---- claims ------------------------------------------------------------------------------------------

    def claim(self, charge: int) -> Claim | None:
        """Who is completing a charge."""
        if charge in self._page.claims:
            return self._page.claims[charge]
        rows = self.rows(CLAIM_OF, charge)
        claim = Claim(*rows[0]) if rows else None
        if claim is None or (charge, claim.token) in self._page.dropped:
            return None
        return claim

    def set_claim(self, charge: int, claim: Claim) -> None:
        """Take (over) a charge."""
        self._page.claims[charge] = claim

    def drop_claim(self, charge: int, token: str) -> None:
        """Let a charge go, if it is still this caller's."""
        self._page.dropped.append((charge, token))

    # ---- the end -----------------------------------------------------------------------------------------

    def write_down(self) -> None:
        """Give everything to the store, each kind of row at once."""
        page = self._page
        statements: list[Statement] = []
        if page.entries:
            head = self.head()
            statements += for_all(NEW_ENTRY, [entry.row for entry in page.entries])
            statements.append((SET_HEAD, (head.seq, head.hash, head.time)))
        statements += for_all(
            NEW_TOTAL, [(b.seq, b.table, as_text(b.state.spent), b.seq) for b in page.granted]
        )
        for budget, (state, last) in page.totals.items():
            spent = as_text(state.spent)
            statements.append((SET_TOTAL, (spent, last.seq, budget)))
            proven(budget, spent, last.row)
        # who let go did so before somebody else took over
        statements += [(DROP_CLAIM, dropped) for dropped in page.dropped]
        statements += for_all(
            SET_CLAIM, [(charge, c.token, c.holder, c.until) for charge, c in page.claims.items()]
        )
        self._store.write(statements)
