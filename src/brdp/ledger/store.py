"""A place that keeps a ledger durably: one final class each for SQLite and PostgreSQL."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, ClassVar, final

from brdp.ledger import schema
from brdp.ledger.entry import GENESIS
from brdp.ledger.failures import LedgerRefused

Row = tuple[Any, ...]
# SQL, with ? for its parameters, and the parameters.
Statement = tuple[str, tuple[Any, ...]]


class Store(abc.ABC):
    """One connection of one process, used by one thread at a time (the commit queue sees to that).

    Every failure of the storage itself becomes LedgerUnavailable.
    """

    # how to set one entry beside a row, looked up by its number however many there are
    beside: ClassVar[str]

    @abc.abstractmethod
    def begin(self) -> None:
        """Start a transaction that excludes every other writer, in this process or another."""

    @abc.abstractmethod
    def begin_reading(self) -> None:
        """Start a transaction that sees one state and writes nothing."""

    @abc.abstractmethod
    def commit(self) -> None:
        """Make everything since `begin` durable: when this returns, a power cut cannot undo it."""

    @abc.abstractmethod
    def rollback(self) -> None:
        """Undo everything since `begin`; never raises."""

    @abc.abstractmethod
    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run one statement (with ? for parameters) and return its rows."""

    @abc.abstractmethod
    def execute_all(self, reads: Sequence[Statement]) -> list[list[Row]]:
        """Run several statements and return the rows of each: a server is waited for once."""

    @abc.abstractmethod
    def write(self, statements: Sequence[Statement]) -> None:
        """Run statements that write; whether they failed may be told as late as by `commit`."""

    @property
    @abc.abstractmethod
    def number(self) -> str:
        """The type of a number that rows are looked up by."""

    @property
    @abc.abstractmethod
    def protect_entries(self) -> tuple[str, ...]:
        """Statements that make the store refuse any change of an entry."""

    @abc.abstractmethod
    def has_table(self, name: str) -> bool:
        """Whether a table of the ledger is there."""

    @property
    @abc.abstractmethod
    def place(self) -> str:
        """Where it is, for messages; without secrets."""

    @abc.abstractmethod
    def before_fork(self) -> None:
        """Let go whatever a child process must not have a copy of; nobody else is at work on the store."""

    @abc.abstractmethod
    def close(self) -> None:
        """Let the connection go."""

    @final
    def upgrade(self, *, to: int = schema.NEWEST) -> None:
        """Create what is missing, step by step, in one transaction; refuse what a newer brdp wrote."""
        self.begin()
        try:
            fresh = not self.has_table("brdp_ledger")
            if fresh:
                self.execute("CREATE TABLE brdp_ledger (version INTEGER NOT NULL)")
                self.execute("INSERT INTO brdp_ledger (version) VALUES (0)")
            version = _version(self.place, self.execute("SELECT version FROM brdp_ledger"))
            for step in schema.STEPS[version:to]:
                for statement in step:
                    self.execute(statement.replace("NUMBER", self.number))
            if fresh:
                self.execute(
                    "INSERT INTO head (id, seq, hash, time) VALUES (1, 0, ?, 0)", (GENESIS,)
                )
                for statement in self.protect_entries:
                    self.execute(statement)
            if version < to:
                self.execute("UPDATE brdp_ledger SET version = ?", (to,))
            self.commit()
        except BaseException:
            self.rollback()
            raise


def _version(place: str, rows: list[tuple[Any, ...]]) -> int:
    if len(rows) != 1 or not isinstance(rows[0][0], int) or rows[0][0] < 0:
        raise LedgerRefused(
            f"{place}: expected a ledger with its version; got one without. Nothing was changed. Restore the "
            "ledger from a copy that `brdp ledger verify` accepts."
        )
    version: int = rows[0][0]
    if version > schema.NEWEST:
        raise LedgerRefused(
            f"{place}: expected a ledger of version {schema.NEWEST} or older; got version {version}, which a "
            "newer brdp wrote. Nothing was changed. Use that version."
        )
    return version
