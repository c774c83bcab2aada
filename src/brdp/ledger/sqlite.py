"""The ledger in a SQLite file: WAL, synchronous FULL, so that a commit that returned survives a power cut."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, final

from brdp.ledger.failures import LedgerUnavailable
from brdp.ledger.store import Row, Statement, Store

# How long to wait for other processes that write, in seconds.
PATIENCE = 60.0
MEMORY = ":memory:"
EXCHANGED = "another file in its place or in its log's (-wal), or none, since it was opened"


@final
class SQLiteStore(Store):
    """One SQLite file, or ":memory:" for a ledger that lives as long as its process."""

    beside = "LEFT JOIN entries {name} ON {name}.seq = {seq}"

    def __init__(self, path: str) -> None:
        self._path = path
        # of this folder for ever: a daemon that changes its own and forks must not begin another ledger there
        self._file = path if path == MEMORY else str(Path(path).absolute())
        self._identity: tuple[int, int] | None = None
        self._log: tuple[int, int] | None = None
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
        """Open anew after a fork; never in the middle of a transaction. Refuse a file that was exchanged."""
        if self._pid != os.getpid():
            if self._open is not None:
                # in memory, or copied by a fork that Python did not see: SQLite forbids to use it here
                raise self._unavailable(
                    "a connection of the process that this one was forked from; open the ledger here"
                )
            self._pid = os.getpid()
        if self._open is None:
            self._open = self._connect()
        elif self._file != MEMORY and (self._identity, self._log) != (
            _identity(self._file),
            _identity(f"{self._file}-wal"),
        ):
            # what is written to them nobody else would see, and at the end it would be gone
            raise self._unavailable(EXCHANGED)

    def _connect(self) -> sqlite3.Connection:
        try:
            if self._file != MEMORY:
                self._require_own_file()
            connection = sqlite3.connect(
                self._file, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
            try:
                connection.execute("PRAGMA journal_mode = WAL").fetchall()
                connection.execute("PRAGMA synchronous = FULL").fetchall()
                # macOS alone needs it: there a plain fsync does not reach the disk
                connection.execute("PRAGMA fullfsync = ON").fetchall()
                connection.execute("PRAGMA foreign_keys = ON").fetchall()
                ((full,),) = connection.execute("PRAGMA synchronous").fetchall()
                if full != 2:
                    raise self._unavailable("a SQLite that is not synchronous FULL")
                # from here on its log is there, and stays until the last connection goes
                connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
                self._log = _identity(f"{self._file}-wal")
            except BaseException:
                connection.close()
                raise
        except (OSError, sqlite3.Error) as error:
            raise self._unavailable(error) from None
        return connection

    def _require_own_file(self) -> None:
        """Create the file the first time; later refuse any other in its place."""
        if self._identity is None:
            # stored answers are for analysts, not for everyone on the machine
            os.close(os.open(self._file, os.O_CREAT | os.O_RDWR, 0o600))
            self._identity = _identity(self._file)
        if _identity(self._file) != self._identity:
            raise self._unavailable(EXCHANGED)
        if os.stat(self._file).st_nlink > 1:
            # each name would have a log of its own, and not see what the other has charged
            raise self._unavailable("a file of several names (hard links); copy it instead")

    def begin(self) -> None:
        self._require_connection()
        self._run("BEGIN IMMEDIATE")

    def begin_reading(self) -> None:
        self._require_connection()
        self._run("BEGIN")

    def commit(self) -> None:
        self._require_transaction()
        self._run("COMMIT")

    def rollback(self) -> None:
        with suppress(sqlite3.Error, LedgerUnavailable):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        return self._run(statement, parameters)

    def execute_all(self, reads: Sequence[Statement]) -> list[list[Row]]:
        return [self._run(statement, parameters) for statement, parameters in reads]

    def write(self, statements: Sequence[Statement]) -> None:
        self._require_transaction()
        for statement, parameters in statements:
            self._run(statement, parameters)

    @property
    def number(self) -> str:
        # SQLite's own key of a row: any other type would need an index beside the table
        return "INTEGER"

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

    def _run(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        try:
            return self._connection.execute(statement, parameters).fetchall()
        except (sqlite3.Error, MemoryError) as error:
            # without memory SQLite has rolled back: nobody in this transaction may go on
            raise self._unavailable(str(error) or type(error).__name__) from None

    def _require_transaction(self) -> None:
        """One that SQLite ended by itself is over: what followed would be durable line by line."""
        if not self._connection.in_transaction:
            raise self._unavailable("a transaction that had ended")

    def _unavailable(self, error: Exception | str) -> LedgerUnavailable:
        # SQLite's messages speak of files, locks and room, never of what is in a row
        return LedgerUnavailable(
            f"ledger {Path(self._path).name}: expected to read and write it; got {error}. "
            "Nothing was released; see to the file, its folder and the room on its disk, and ask again."
        )


def _identity(file: str) -> tuple[int, int] | None:
    """Which file has this name; None where there is none."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino
