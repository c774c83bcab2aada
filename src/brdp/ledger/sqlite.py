"""The ledger in a SQLite file: WAL, synchronous FULL, so that a commit that returned survives a power cut."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, final

from brdp.ledger.failures import LedgerUnavailable
from brdp.ledger.store import Store

# How long to wait for other processes that write, in seconds.
PATIENCE = 60.0
MEMORY = ":memory:"


@final
class SQLiteStore(Store):
    """One SQLite file, or ":memory:" for a ledger that lives as long as its process."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self._pid = os.getpid()
        self._open: sqlite3.Connection | None = self._connect()

    @property
    def place(self) -> str:
        return self._path

    @property
    def _connection(self) -> sqlite3.Connection:
        if self._open is None or self._pid != os.getpid():
            raise self._unavailable("no connection, in a process that did not open one")
        return self._open

    def _require_connection(self) -> None:
        """Open anew after a fork; never in the middle of a transaction."""
        if self._pid != os.getpid():
            if self._open is not None:
                # in memory, or copied by a fork that Python did not see: SQLite forbids to use it here
                raise self._unavailable(
                    "a connection of the process that this one was forked from; open the ledger here"
                )
            self._pid = os.getpid()
        if self._open is None:
            self._open = self._connect()

    def _connect(self) -> sqlite3.Connection:
        try:
            if self._path != MEMORY:
                # stored answers are for analysts, not for everyone on the machine
                os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            connection = sqlite3.connect(
                self._path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
            try:
                connection.execute("PRAGMA journal_mode = WAL").fetchall()
                connection.execute("PRAGMA synchronous = FULL").fetchall()
                connection.execute("PRAGMA foreign_keys = ON").fetchall()
                ((full,),) = connection.execute("PRAGMA synchronous").fetchall()
            except BaseException:
                connection.close()
                raise
        except (OSError, sqlite3.Error) as error:
            raise self._unavailable(error) from None
        if full != 2:
            raise LedgerUnavailable(f"{self._path}: expected synchronous FULL; SQLite refused it.")
        return connection

    def begin(self) -> None:
        self._require_connection()
        self._run("BEGIN IMMEDIATE")

    def begin_reading(self) -> None:
        self._require_connection()
        self._run("BEGIN")

    def commit(self) -> None:
        self._run("COMMIT")

    def rollback(self) -> None:
        with suppress(sqlite3.Error, LedgerUnavailable):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._run(statement, parameters)

    def stream(self, statement: str, parameters: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection.execute(statement, parameters)
        except sqlite3.Error as error:
            raise self._unavailable(error) from None

    @property
    def protect_entries(self) -> tuple[str, ...]:
        return tuple(
            f"CREATE TRIGGER entries_no_{verb.lower()} BEFORE {verb} ON entries "
            "BEGIN SELECT RAISE(ABORT, 'entries are only ever added'); END"
            for verb in ("UPDATE", "DELETE")
        )

    def has_table(self, name: str) -> bool:
        return bool(
            self._run("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,))
        )

    def before_fork(self) -> None:
        if self._path != MEMORY and self._pid == os.getpid():
            self.close()

    def close(self) -> None:
        if self._open is not None and self._pid == os.getpid():
            self._open.close()
        self._open = None

    def _run(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(statement, parameters).fetchall()
        except sqlite3.Error as error:
            raise self._unavailable(error) from None

    def _unavailable(self, error: Exception | str) -> LedgerUnavailable:
        # SQLite's messages speak of files, locks and room, never of what is in a row
        return LedgerUnavailable(
            f"ledger {Path(self._path).name}: expected to read and write it; got {error}. "
            "Nothing was released; see to the file, its folder and the room on its disk, and ask again."
        )
