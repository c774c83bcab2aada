"""Ledgers that older versions of brdp wrote, as they wrote them: read, verified, gone on with.

`older/version2.sql` is the dump of a real file, written by the first brdp that answered questions (commit f236ca8):
two questions answered, a spend of another tool, and a mean that was interrupted after its charge. It knows neither
whom a budget protects nor the secret that later ones hold.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from brdp.catalog import parse_catalog
from brdp.curator import Curator
from brdp.ledger import Ledger, LedgerRefused, open_ledger, verify
from brdp.ledger.schema import NEWEST
from brdp.ledger.sqlite import SQLiteStore
from tests.ledger.nursery import CONFIG, write_world

OLDER = Path(__file__).parent / "older"
# the day after it was written
NOW = datetime.fromisoformat("2026-11-20T12:00:00+00:00").timestamp()
COUNT = "SELECT colour, COUNT(*) AS n WITHIN 20 FROM people GROUP BY colour CONFIDENCE 0.95"
SUM = "SELECT SUM(age) AS s WITHIN 900 FROM people CONFIDENCE 0.9"
MEAN = "SELECT AVG(age) AS m WITHIN 5 FROM people CONFIDENCE 0.9 ROWS_AT_LEAST 500"


def curator_over(folder: Path, ledger: Ledger) -> Curator:
    write_world(folder)
    config = CONFIG.replace("epsilon = 0.6", "epsilon = 3.0")  # as when it was written
    return Curator(parse_catalog(config, folder=folder), ledger)


@pytest.fixture(params=["as it was", "of version 1"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "ledger.sqlite"
    database = sqlite3.connect(path)
    database.executescript((OLDER / "version2.sql").read_text())
    if request.param == "of version 1":  # all that version 2 added
        database.executescript("DROP TABLE claims; UPDATE brdp_ledger SET version = 1;")
    database.close()
    return path


def dump(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as database:
        return list(database.iterdump())


def test_an_older_file_is_brought_up_to_date_and_gone_on_with(file: Path, tmp_path: Path) -> None:
    ledger = open_ledger(file, clock=lambda: NOW)
    found = verify(ledger)
    assert (found.entries, found.charges, found.answers) == (7, 4, 2)
    assert ledger._store.execute("SELECT version FROM brdp_ledger") == [(NEWEST,)]
    with curator_over(tmp_path, ledger) as curator:
        spent = curator.budget("people").state.spent
        counts = curator.ask(COUNT)
        assert counts.replayed
        assert [row.cells["n"].value for row in counts.rows] == [301, 295]
        total = curator.ask(SUM)
        assert total.replayed
        assert total.value() == 14151
        mean = curator.ask(MEAN)
        assert not mean.replayed
        assert mean.epsilon == 0, "what was interrupted then completes free today"
        assert 20 < mean.value() < 29
        assert curator.budget("people").state.spent == spent
        assert curator.ask("SELECT COUNT(*) AS n WITHIN 50 FROM people CONFIDENCE 0.9").epsilon > 0
        assert curator.budget("people").state.spent > spent
        found = verify(curator.ledger)
        assert (found.entries, found.charges, found.answers) == (10, 5, 4)


def test_an_edited_older_file_is_refused(file: Path) -> None:
    database = sqlite3.connect(file)
    database.executescript(
        "DROP TRIGGER entries_no_update; "
        "UPDATE entries SET body = replace(body, '\"ann\"', '\"eve\"') WHERE seq = 2;"
    )
    database.close()
    with open_ledger(file, clock=lambda: NOW) as ledger, pytest.raises(LedgerRefused):
        verify(ledger)


def test_a_migration_that_fails_changes_nothing(file: Path, monkeypatch) -> None:
    """Steps run in one transaction: a step that cannot be taken leaves the file as it was."""
    from brdp.ledger import schema, store

    assert store.schema is schema
    before = dump(file)
    monkeypatch.setattr(schema, "NEWEST", NEWEST + 1)
    steps = (*schema.STEPS, ("CREATE TABLE fine (x INTEGER)", "CREATE TABLE head (x INTEGER)"))
    monkeypatch.setattr(schema, "STEPS", steps)
    opened = SQLiteStore(str(file))
    with pytest.raises(Exception, match="already exists"):
        opened.upgrade(to=NEWEST + 1)
    opened.close()
    assert dump(file) == before
