"""The ledger in PostgreSQL: for several machines, or where a database is already looked after."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, final

from brdp import _extras
from brdp.ledger.failures import LedgerUnavailable
from brdp.ledger.store import Row, Statement, Store
from brdp.ledger.wire import Broken, Wire

# A number that brdp alone uses: two processes must not create the tables at once.
CREATING = 0x62726470
BEGIN: Statement = ("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", ())
LOCK = "SELECT set_config('synchronous_commit', 'on', true), pg_advisory_xact_lock(?)"
# Entries are looked up by their keys, in their order. Ways that are off count as costly, and what is costly would be
# compiled.
SETTINGS = "SELECT current_setting('fsync'), " + ", ".join(
    f"set_config('{name}', 'off', false)" for name in ("enable_seqscan", "enable_bitmapscan", "jit")
)


@final
class PostgresStore(Store):
    """One connection to a PostgreSQL database, by its URL; opened anew after it was lost."""

    # the limit keeps it from being planned as any other join
    beside = "LEFT JOIN LATERAL (SELECT * FROM entries WHERE seq = {seq} LIMIT 1) {name} ON true"

    # connections that a fork copied: closing them in the child would end the parent's session
    _left_behind: list[Wire] = []  # noqa: RUF012 - shared by intent

    def __init__(self, url: str) -> None:
        self._psycopg = _extras.require("psycopg", extra="postgres")
        self._url = url
        self._pid = os.getpid()
        self._wire: Wire | None = None
        # statements whose rows nobody needs: they go with the next that is waited for
        self._unsent: list[Statement] = []

    @property
    def place(self) -> str:
        try:
            parts = self._psycopg.conninfo.conninfo_to_dict(self._url)
        except self._psycopg.Error:
            return "the PostgreSQL ledger"
        # never the password
        return f"PostgreSQL database {parts.get('dbname', '')} on {parts.get('host', 'localhost')}"

    def _require_wire(self) -> None:
        """Connect where that is needed; never in the middle of a transaction."""
        self._unsent.clear()
        if self._pid != os.getpid():
            if self._wire is not None:
                self._left_behind.append(self._wire)
            self._pid, self._wire = os.getpid(), None
        if self._wire is None or self._wire.ended:
            self._wire = self._connected()

    def _connected(self) -> Wire:
        """A connection to a server that keeps what it commits."""
        try:
            wire = Wire(self._url)
            (((fsync, *_),),) = wire.run([(SETTINGS, ())])
        except Broken as error:
            raise self._unavailable(error) from None
        if fsync != "on":
            wire.close()
            raise self._unavailable("a server with fsync off, which may forget charges")
        return wire

    def begin(self) -> None:
        self._require_wire()
        self._unsent += [
            # whatever the server's defaults: every statement sees the last commit, and this commit is on
            # disk before it returns
            BEGIN,
            # one writer at a time, from the start: no deadlock, and sums are read after the last commit
            (LOCK, (CREATING,)),
        ]

    def begin_reading(self) -> None:
        self._require_wire()
        self._unsent.append(("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", ()))

    def commit(self) -> None:
        begun = self._wire is not None and self._wire.in_transaction
        if not begun and BEGIN not in self._unsent:
            raise self._unavailable("a transaction that had ended")
        self._run([("COMMIT", ())])

    def rollback(self) -> None:
        self._unsent.clear()
        if self._wire is None or self._pid != os.getpid() or self._wire.ended:
            return
        if self._wire.in_transaction:
            with suppress(LedgerUnavailable):
                # the server undoes what a lost connection began
                self._run([("ROLLBACK", ())])

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        (rows,) = self._run([(statement, tuple(parameters))])
        return rows

    def execute_all(self, reads: Sequence[Statement]) -> list[list[Row]]:
        return self._run(reads) if reads else []

    def write(self, statements: Sequence[Statement]) -> None:
        self._unsent += statements

    @property
    def number(self) -> str:
        return "BIGINT"

    @property
    def protect_entries(self) -> tuple[str, ...]:
        return (
            "CREATE FUNCTION brdp_entries_are_only_added() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'entries are only ever added'; END $$",
            "CREATE TRIGGER entries_no_change BEFORE UPDATE OR DELETE ON entries "
            "FOR EACH ROW EXECUTE FUNCTION brdp_entries_are_only_added()",
            "CREATE TRIGGER entries_no_truncate BEFORE TRUNCATE ON entries "
            "FOR EACH STATEMENT EXECUTE FUNCTION brdp_entries_are_only_added()",
        )

    def has_table(self, name: str) -> bool:
        ((found,),) = self.execute("SELECT to_regclass(?) IS NOT NULL", (name,))
        return bool(found)

    def before_fork(self) -> None:
        """Nothing: the child leaves the copy alone, and psycopg sends no goodbye in the parent's name."""

    def close(self) -> None:
        if self._wire is not None and self._pid == os.getpid():
            self._wire.close()
        self._wire = None

    def _run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        if self._wire is None or self._pid != os.getpid():
            raise self._unavailable("no connection")
        unsent, self._unsent = self._unsent, []
        try:
            return self._wire.run([*unsent, *statements])[len(unsent) :]
        except Broken as error:
            raise self._unavailable(error) from None

    def _unavailable(self, error: Exception | str) -> LedgerUnavailable:
        # the kind alone: the server's messages may quote rows, the driver's the URL
        return LedgerUnavailable(
            f"{self.place}: expected to read and write the ledger; got {error}. "
            "Nothing was released; see to the server and ask again."
        )
