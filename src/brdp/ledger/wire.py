"""A connection to PostgreSQL on which many statements are sent at once, and waited for once.

psycopg connects. Its cursors would do the rest, but they look after the socket at every statement, and that takes
longer than the server takes to run one. So statements go to libpq itself (psycopg.pq), in its pipeline mode, each
prepared the first time that it is used.
"""

from __future__ import annotations

import functools
import itertools
import select
from collections.abc import Callable, Sequence
from typing import Any, final

from brdp import _extras
from brdp.ledger.store import Row, Statement

# How to read the columns that a ledger has, by the server's number for their type; all others are text.
READ_AS: dict[int, Callable[[bytes], Any]] = {
    16: lambda text: text == b"t",  # boolean
    20: int,  # bigint
    23: int,  # integer
    701: float,  # double precision
}


class Broken(Exception):
    """A statement or the connection failed. The text says of what kind it was, and quotes nothing."""


@final
class Wire:
    """One connection, used by one thread at a time."""

    def __init__(self, url: str) -> None:
        self._psycopg = _extras.require("psycopg", extra="postgres")
        self._status = self._psycopg.pq.ExecStatus
        self._names: dict[str, bytes] = {}
        self._numbers = itertools.count()
        try:
            self._connection = self._psycopg.connect(
                url, autocommit=True, connect_timeout=10, client_encoding="utf8"
            )
            self._line = self._connection.pgconn
            self._line.enter_pipeline_mode()
        except self._psycopg.Error as error:
            raise Broken(type(error).__name__) from None

    @property
    def ended(self) -> bool:
        """Whether it was lost."""
        return bool(self._connection.closed)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, as far as the server has said."""
        idle = self._psycopg.pq.TransactionStatus.IDLE
        return bool(self._line.transaction_status != idle)

    def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Send all statements (with ? for parameters), wait once, and return the rows of each.

        Where one fails those after it are not run.
        """
        try:
            new = {
                s: b"brdp%d" % next(self._numbers) for s, _ in statements if s not in self._names
            }
            for statement, name in new.items():
                self._line.send_prepare(name, _numbered(statement))
            if new:
                # by themselves: a BEGIN must not find that its transaction has already read something
                self._line.pipeline_sync()
            for statement, parameters in statements:
                name = self._names.get(statement) or new[statement]
                self._line.send_query_prepared(name, [*map(_sent, parameters)])
            self._line.pipeline_sync()
            self._flush()
            prepared = [self._result() for _ in range(len(new) + 1)] if new else []
            told = [self._result() for _ in range(len(statements) + 1)]
        except BaseException as error:
            # what comes on it now would be taken for the answer to something else
            self.close()
            if isinstance(error, self._psycopg.Error):
                raise Broken(type(error).__name__) from None
            raise
        for result in prepared + told:
            if result.status == self._status.FATAL_ERROR:
                raise Broken(self._kind(result))
        self._names |= new
        for (statement, _), result in zip(statements, told[:-1], strict=True):
            # what had failed before is rolled back by a COMMIT that itself succeeds
            if statement == "COMMIT" and result.command_status != b"COMMIT":
                raise Broken("a transaction that was rolled back")
        return [_rows(result) for result in told[:-1]]

    def close(self) -> None:
        """End it; what was not committed is undone."""
        self._connection.close()

    def _flush(self) -> None:
        while self._line.flush():
            # a server that has much to say must be listened to, or it takes nothing more
            if self._wait(writing=True):
                self._line.consume_input()

    def _result(self) -> Any:
        """The next result; a statement's is followed by None, that of the end is not."""
        for _ in range(3):
            while self._line.is_busy():
                self._wait()
                self._line.consume_input()
            result = self._line.get_result()
            if result is not None:
                return result
        raise Broken("a connection that has nothing more to say")

    def _wait(self, *, writing: bool = False) -> bool:
        """Wait for the socket; returns whether there is something to read. Signals are heard meanwhile."""
        socket = self._line.socket
        if not hasattr(select, "poll"):
            return bool(select.select([socket], [socket] if writing else [], [])[0])
        poll = select.poll()
        poll.register(socket, select.POLLIN | (select.POLLOUT if writing else 0))
        return any(event & ~select.POLLOUT for _, event in poll.poll())

    def _kind(self, result: Any) -> str:
        state = result.error_field(self._psycopg.pq.DiagnosticField.SQLSTATE) or b""
        try:
            return str(self._psycopg.errors.lookup(state.decode()).__name__)
        except KeyError:
            return "DatabaseError"


@functools.lru_cache(maxsize=256)
def _numbered(statement: str) -> bytes:
    """$1, $2, ... for every ?, as PostgreSQL has them."""
    first, *rest = statement.split("?")
    return (first + "".join(f"${i}{part}" for i, part in enumerate(rest, start=1))).encode()


def _sent(parameter: Any) -> bytes | None:
    if parameter is None:
        return None
    text = str(parameter)
    if "\0" in text:
        raise Broken("a text with a NUL, which the server would cut off there")
    return text.encode()


def _rows(result: Any) -> list[Row]:
    if not result.ntuples:
        return []
    read = [READ_AS.get(result.ftype(column), _text) for column in range(result.nfields)]
    value = result.get_value
    return [
        tuple(
            None if (told := value(row, column)) is None else read_one(told)
            for column, read_one in enumerate(read)
        )
        for row in range(result.ntuples)
    ]


def _text(told: bytes) -> str:
    return told.decode()
