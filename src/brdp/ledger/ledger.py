"""The ledger: what may be spent, what has been spent, and every answer that was paid for.

The order of a question's life is its whole safety: charge durably, then read data, then store the answer
durably, then let it leave. Cut anywhere, nothing has left without a charge, and a charge without an answer
is completed at no cost when the question is asked again.
"""

from __future__ import annotations

import secrets
import time as clock_module
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, final

from brdp.errors import BudgetExceeded, InvalidInput
from brdp.ledger.books import Books
from brdp.ledger.entry import Entry, EntryKind, canonical, software
from brdp.ledger.failures import LedgerUnavailable
from brdp.ledger.holder import may_be_alive, this_process
from brdp.ledger.queue import CommitQueue
from brdp.ledger.records import (
    BudgetStatus,
    Granted,
    Json,
    Period,
    Request,
    Serves,
    Stored,
    named,
)
from brdp.ledger.room import check_room, own, paid
from brdp.ledger.rows import (
    ANSWER_OF,
    CHARGED,
    ENTRIES_BETWEEN,
    ENTRY_AT,
    HEAD,
    TOTALS,
    Claim,
    as_amounts,
    as_text,
    entry_of,
    totals_of,
)
from brdp.ledger.store import Statement, Store
from brdp.privacy.filters import Amounts, Filter, FilterState

# A claim that nobody renews is free again after so many seconds; answers stay exclusive all the same.
LEASE = 60.0


@final
class Ledger:
    """Budgets, charges and answers in a store. Threads and processes may share a ledger freely."""

    def __init__(self, store: Store, *, clock: Callable[[], float] = clock_module.time) -> None:
        self._store = store
        self._clock = clock
        self._queue = CommitQueue(store, clock)
        self._totals_of = totals_of(type(store))
        try:
            store.upgrade()
        except BaseException:
            store.close()
            raise

    @property
    def place(self) -> str:
        """Where it is kept."""
        return self._store.place

    # ---- budgets -----------------------------------------------------------------------------------------

    def grant(
        self,
        table: str,
        filter: Filter,
        *,
        analyst: str | None = None,
        period: Period | None = None,
        protects: str = "",
    ) -> BudgetStatus:
        """Create a table's budget, or a sub-budget of it for an analyst, a period or both.

        `protects` says whom it is for (which unit, which neighbours), so that nobody goes on with it for others.
        Guarantee: a charge counts against the table's budget and every sub-budget that covers it, and all of
        them must fit. Sub-budgets of one sort never add up to more than the table's.
        """
        named("table", table)
        if analyst is not None:
            named("analyst", analyst)

        def work(books: Books) -> BudgetStatus:
            check_room(books.all_budgets(table), table, filter, analyst, period)
            body = {
                "filter": filter.to_dict(),
                "analyst": analyst,
                "period": None if period is None else period.to_list(),
                "protects": protects,
                "secret": secrets.token_hex(32),
                "software": software(),
            }
            entry = books.append(EntryKind.BUDGET, table, body)
            state = FilterState.start(filter)
            budget = BudgetStatus(
                entry.seq, table, analyst, period, state, protects, str(body["secret"])
            )
            books.grant(budget)
            return budget

        return self._queue.write(work)

    def budgets(self, table: str) -> tuple[BudgetStatus, ...]:
        """The budgets of a table, its own first; empty where it has none."""
        return self._queue.read(lambda books: books.budgets(table))

    def budget(self, table: str) -> BudgetStatus:
        """The table's own budget."""
        return own(self.budgets(table), table)

    def covering(
        self, budgets: tuple[BudgetStatus, ...], *, analyst: str
    ) -> tuple[BudgetStatus, ...]:
        """Those of a table's budgets that a charge of this analyst would count against now."""
        time = self._clock()
        return tuple(budget for budget in budgets if budget.covers(analyst=analyst, time=time))

    # ---- charges -----------------------------------------------------------------------------------------

    def ask(self, request: Request, *, serves: Serves, patience: float = 600.0) -> Granted | Stored:
        """Find the answer of an earlier charge that serves, or an interrupted charge, or charge anew.

        Guarantee: when this returns Granted, the charge is durable and within every budget that covers it.
        While another caller is completing a charge that would serve, this waits for its answer.
        """
        deadline = clock_module.monotonic() + patience
        pause = 0.005

        def reads() -> tuple[Statement, ...]:
            table = (request.table,)
            return (HEAD, ()), (CHARGED, (*table, request.digest)), (self._totals_of, table)

        def work(books: Books) -> Granted | Stored | None:
            return self._ask(books, request, serves)

        while True:
            found = self._queue.write(work, reads=reads)
            if found is not None:
                return found
            if clock_module.monotonic() >= deadline:
                raise LedgerUnavailable(
                    f"{self.place}: expected an answer that another process is computing; it did not come. "
                    "It is paid for: ask again later."
                )
            clock_module.sleep(pause)
            pause = min(2 * pause, 0.25)

    def stored(self, table: str, digest: str, *, serves: Serves) -> Stored | None:
        """An answer that serves, if there is one. Charges nothing."""
        return self._queue.read(lambda books: _find(books, table, digest, serves)[0])

    def _ask(self, books: Books, request: Request, serves: Serves) -> Granted | Stored | None:
        time = books.time()
        stored, interrupted = _find(books, request.table, request.digest, serves)
        if stored is not None:
            return stored
        token = secrets.token_hex(16)
        mine = Claim(token, this_process(), until=time + LEASE)
        for charge in interrupted:
            claim = books.claim(charge.seq)
            if claim is None or claim.until < time or not may_be_alive(claim.holder):
                books.set_claim(charge.seq, mine)
                return Granted(charge.seq, token, charge.text, fresh=False)
        if interrupted:
            return None
        entry = self._charge(books, request)
        books.set_claim(entry.seq, mine)
        return Granted(entry.seq, token, entry.text, fresh=True)

    def _charge(self, books: Books, request: Request) -> Entry:
        time = books.time()
        budgets = books.budgets(request.table)
        own(budgets, request.table)
        touched = [b for b in budgets if b.covers(analyst=request.analyst, time=time)]
        after = [paid(b, books.state_of(b), request.price) for b in touched]
        body = {
            "analyst": request.analyst,
            "question": request.question,
            "version": request.version,
            "software": software(),
            "releases": [dict(release) for release in request.releases],
            "promise": dict(request.promise),
            "note": request.note,
            "tau": str(request.tau),
            "price": as_text(request.price),
            "after": {str(b.seq): as_text(s.spent) for b, s in zip(touched, after, strict=True)},
        }
        entry = books.append(EntryKind.CHARGE, request.table, body, digest=request.digest)
        for budget, state in zip(touched, after, strict=True):
            books.spend(budget, state, by=entry)
        return entry

    def answer(self, granted: Granted, answer: Json) -> Json:
        """Store the answer of a charge durably; what this returns, and nothing else, may leave.

        Guarantee: a charge has one answer for ever. If another process stored one first, that one is
        returned and the caller's must be forgotten.
        """

        def work(books: Books) -> Json:
            books.drop_claim(granted.seq, granted.token)
            stored = books.answer(granted.seq)
            if stored is not None:
                earlier: Json = stored.body["answer"]
                return earlier
            charge = books.entry(granted.seq)
            body = {"answer": dict(answer), "software": software()}
            books.append(EntryKind.ANSWER, charge.table, body, charge=charge.seq)
            return answer

        canonical(dict(answer))  # what JSON cannot hold is refused before anything is done
        here = (granted.seq,)
        reads = (HEAD, ()), (ANSWER_OF, here), (ENTRY_AT, here)
        return self._queue.write(work, reads=lambda: reads)

    def give_up(self, granted: Granted) -> None:
        """Let another caller complete the charge: this one failed."""
        self._queue.write(lambda books: books.drop_claim(granted.seq, granted.token))

    def spend(
        self, table: str, *, epsilon: float, delta: float, note: str, analyst: str = "owner"
    ) -> BudgetStatus:
        """Record a spend of which no more is known, such as another tool's, and return the table's budget."""
        if not note:
            raise InvalidInput("note", expected="what the spend was for", got="")
        price = self.budget(table).filter.price_of_spend(epsilon=epsilon, delta=delta)
        request = Request(
            table=table,
            analyst=analyst,
            question="",
            # a digest of its own: two equal spends are two charges
            digest=f"spend-{secrets.token_hex(16)}",
            version="",
            price=price,
            tau=Fraction(0),
            releases=({"spend": {"epsilon": float(epsilon), "delta": float(delta)}},),
            note=note,
        )
        try:
            self._queue.write(lambda books: self._charge(books, request))
        except BudgetExceeded as error:
            which = str(error).partition(": expected")[0]
            raise BudgetExceeded(
                f"{which}: expected a spend that fits what is left; got epsilon {epsilon:g}, delta "
                f"{delta:g}, which does not. Nothing was recorded. Record a spend before the other tool "
                "releases anything; if it has, the promise of this budget is broken: ask nothing more."
            ) from None
        return self.budget(table)

    # ---- records -----------------------------------------------------------------------------------------

    def entries(self, *, until: int = 1 << 62) -> Iterator[Entry]:
        """Every entry, oldest first, in pieces: one state of the ledger need not fit in memory."""
        last = 0
        while True:
            after = last
            piece = self._queue.read(
                lambda books: books.rows(ENTRIES_BETWEEN, after, until)  # noqa: B023 - run at once
            )
            if not piece:
                return
            for row in piece:
                yield entry_of(row)
            last = piece[-1][0]

    def state(self) -> tuple[int, str, dict[int, Amounts]]:
        """The head and the running sums of every budget, as they are at one moment."""

        def work(books: Books) -> tuple[int, str, dict[int, Amounts]]:
            head = books.head()
            sums = {budget: as_amounts(spent) for budget, spent in books.rows(TOTALS)}
            return head.seq, head.hash, sums

        return self._queue.read(work)

    def head(self) -> tuple[int, str]:
        """The number of the last entry and its hash: written down elsewhere, it shows if lines are cut off."""
        head = self._queue.read(Books.head)
        return head.seq, head.hash

    def history(
        self, *, table: str | None = None, analyst: str | None = None
    ) -> list[dict[str, Any]]:
        """The charges so far, oldest first."""
        return [
            entry.body
            for entry in self.entries()
            if entry.kind is EntryKind.CHARGE
            and table in (None, entry.table)
            and analyst in (None, entry.body["analyst"])
        ]

    def close(self) -> None:
        """Let the store go."""
        self._queue.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _find(
    books: Books, table: str, digest: str, serves: Serves
) -> tuple[Stored | None, list[Entry]]:
    """An answer that serves, or else the charges that would and have none."""
    interrupted: list[Entry] = []
    for charge in books.charges(table, digest):
        body = charge.body
        if not serves(body["promise"]):
            continue
        answer = books.answer(charge.seq)
        if answer is not None:
            return Stored(charge.seq, body, answer.body["answer"]), []
        interrupted.append(charge)
    return None, interrupted
