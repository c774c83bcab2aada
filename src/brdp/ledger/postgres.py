"""The ledger in PostgreSQL: for several machines, or where a database is already looked after."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, final

from brdp import _extras
from brdp.ledger.failures import LedgerUnavailable
from brdp.ledger.store import Read, Store

# A number that brdp alone uses: two processes must not create the tables at once.
CREATING = 0x62726470


@final
class PostgresStore(Store):
    """One connection to a PostgreSQL database, by its URL; opened anew after it was lost."""

    # connections that a fork copied: closing them in the child would end the parent's session
    _left_behind: list[Any] = []  # noqa: RUF012 - shared by intent

    def __init__(self, url: str) -> None:
        super().__init__()
        self._psycopg = _extras.require("psycopg", extra="postgres")
        self._url = url
        self._pid = os.getpid()
        self._open: Any = None
        self._pipeline: Any = None
        self._ahead: dict[Read, Any] = {}

    @property
    def place(self) -> str:
        try:
            parts = self._psycopg.conninfo.conninfo_to_dict(self._url)
        except self._psycopg.Error:
            return "the PostgreSQL ledger"
        # never the password
        return f"PostgreSQL database {parts.get('dbname', '')} on {parts.get('host', 'localhost')}"

    @property
    def _connection(self) -> Any:
        if self._open is None or self._pid != os.getpid():
            raise self._unavailable("no connection")
        return self._open

    def _require_connection(self) -> Any:
        """Connect where that is needed; never in the middle of a transaction."""
        if self._pid != os.getpid():
            self._left_behind.append(self._open)
            self._pid, self._open = os.getpid(), None
        if self._open is None or self._open.closed:
            try:
                self._open = self._psycopg.connect(self._url, autocommit=True, connect_timeout=10)
                ((kept,),) = self._open.execute("SHOW fsync").fetchall()
            except self._psycopg.Error as error:
                self._open = None
                raise self._unavailable(error) from None
            if kept != "on":
                self.close()
                raise self._unavailable("a server with fsync off, which may forget charges")
        return self._open

    def begin(self) -> None:
        self._ahead.clear()
        connection = self._require_connection()
        try:
            # statements whose rows nobody needs are sent without waiting for the server; if one fails,
            # the next that waits fails too, and so does the commit
            self._pipeline = connection.pipeline()
            self._pipeline.__enter__()
        except self._psycopg.Error as error:
            self._pipeline = None
            raise self._unavailable(error) from None
        # whatever the server's defaults: every statement sees the last commit, and this commit is on disk
        # before it returns
        self._run("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
        try:
            # one writer at a time, from the start: no deadlock, and sums are read after the last commit
            self._send(
                "SELECT set_config('synchronous_commit', 'on', true), pg_advisory_xact_lock(?)",
                (CREATING,),
            )
        except self._psycopg.Error as error:
            raise self._unavailable(error) from None

    def read_ahead(self, reads: Iterable[Read]) -> None:
        """Send all of them at once: the server is waited for once, at the first that is asked for."""
        try:
            for statement, parameters in reads:
                if (statement, parameters) not in self._ahead:
                    self._ahead[statement, parameters] = self._send(statement, parameters)
        except self._psycopg.Error as error:
            raise self._unavailable(error) from None

    def begin_reading(self) -> None:
        self._ahead.clear()
        self._require_connection()
        self._run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def commit(self) -> None:
        pipeline, self._pipeline = self._pipeline, None
        try:
            done = self._connection.execute("COMMIT")
            if pipeline is not None:
                pipeline.__exit__(None, None, None)
        except self._psycopg.Error as error:
            raise self._unavailable(error) from None
        if done.statusmessage != "COMMIT":
            # what had failed before is rolled back by a COMMIT that itself succeeds
            raise self._unavailable("a transaction that was rolled back")

    def rollback(self) -> None:
        if self._open is None or self._pid != os.getpid():
            self._pipeline = None
            return
        pipeline, self._pipeline = self._pipeline, None
        try:
            if pipeline is not None:
                pipeline.__exit__(None, None, None)
            self._open.execute("ROLLBACK")
        except self._psycopg.Error:
            # the server undoes what a lost connection began
            with suppress(self._psycopg.Error):
                self._open.close()
            self._open = None

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._run(statement, parameters)

    def stream(self, statement: str, parameters: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        try:
            with self._connection.cursor(name="brdp_stream") as cursor:
                cursor.execute(statement.replace("?", "%s"), parameters)
                yield from cursor
        except self._psycopg.Error as error:
            raise self._unavailable(error) from None

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
        ((found,),) = self._run("SELECT to_regclass(?) IS NOT NULL", (name,))
        return bool(found)

    def before_fork(self) -> None:
        """Nothing: the child leaves the copy alone, and psycopg sends no goodbye in the parent's name."""

    def close(self) -> None:
        if self._open is not None and self._pid == os.getpid():
            with suppress(self._psycopg.Error):
                self._open.close()
        self._open = None

    def _run(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            cursor = self._ahead.pop((statement, tuple(parameters)), None)
            cursor = cursor or self._send(statement, parameters)
            return list(cursor.fetchall()) if statement.startswith("SELECT") else []
        except self._psycopg.Error as error:
            raise self._unavailable(error) from None

    def _send(self, statement: str, parameters: Sequence[Any]) -> Any:
        return self._connection.execute(statement.replace("?", "%s"), parameters or None)

    def _unavailable(self, error: Exception | str) -> LedgerUnavailable:
        # the kind alone: the server's messages may quote rows, the driver's the URL
        what = error if isinstance(error, str) else type(error).__name__
        return LedgerUnavailable(
            f"{self.place}: expected to read and write the ledger; got {what}. "
            "Nothing was released; see to the server and ask again."
        )
