"""Statements sent together to PostgreSQL: all are answered in order, and one that fails undoes what came with it."""

from __future__ import annotations

import pytest

from brdp.ledger.wire import Broken, Wire
from tests.ledger.server import Server


@pytest.fixture
def wire(server: Server):
    opened = Wire(server.database())
    yield opened
    opened.close()


def test_many_long_statements_are_sent_and_answered_at_once(wire: Wire) -> None:
    """Far more than the buffers between them hold, both ways: whoever only sent would wait for ever."""
    texts = [f"{index} " + "x" * 200_000 for index in range(200)]
    found = wire.run([("SELECT ?::text, ?::bigint", (text, 7)) for text in texts])
    assert found == [[(text, 7)] for text in texts]


def test_columns_are_read_as_what_they_are(wire: Wire) -> None:
    statement = "SELECT ?::text, ?::integer, ?::bigint, ?::double precision, ?::text, true, false"
    values = ("Zoë ? %s $1 \\ 🙂", -3, 1 << 62, 0.1 + 0.2, None)
    assert wire.run([(statement, values)]) == [[(*values, True, False)]]
    assert wire.run([]) == []


def test_after_a_statement_that_fails_nothing_of_its_transaction_is_kept(wire: Wire) -> None:
    wire.run([("CREATE TABLE numbers (number BIGINT PRIMARY KEY)", ())])
    add = "INSERT INTO numbers (number) VALUES (?)"
    with pytest.raises(Broken, match="UniqueViolation"):
        wire.run([("BEGIN", ()), (add, (1,)), (add, (1,)), (add, (2,)), ("COMMIT", ())])
    assert wire.in_transaction
    with pytest.raises(Broken, match="rolled back"):
        wire.run([("COMMIT", ())])
    assert not wire.in_transaction
    assert wire.run([("SELECT count(*) FROM numbers", ())]) == [[(0,)]]
    wire.run([("BEGIN", ()), (add, (1,)), ("COMMIT", ())])
    with pytest.raises(Broken, match="UndefinedTable"):
        wire.run([("SELECT 1 FROM nowhere", ())])
    assert wire.run([("SELECT number FROM numbers", ())]) == [[(1,)]]
    assert not wire.ended


def test_a_connection_that_is_lost_says_so(wire: Wire, server: Server) -> None:
    with pytest.raises(Broken):
        wire.run([("SELECT pg_terminate_backend(pg_backend_pid())", ())])
    assert wire.ended
    with pytest.raises(Broken):
        wire.run([("SELECT 1", ())])
