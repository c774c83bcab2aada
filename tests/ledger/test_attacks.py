"""What people do to a ledger's place: each is refused before anything is charged, or changes nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from brdp.errors import BudgetExceeded, InvalidInput
from brdp.ledger import Ledger, LedgerRefused, LedgerUnavailable, open_ledger, verify
from brdp.ledger.schema import NEWEST
from brdp.ledger.store import Store
from tests.ledger.asking import TABLE, filter_for, request, serves
from tests.ledger.server import Server
from tests.ledger.test_processes import in_fork


def charged(place: Path | str) -> list[str]:
    with open_ledger(place) as ledger:
        verify(ledger)
        return [charge["digest"] for charge in ledger.history()]


def charge(ledger: Ledger, name: str) -> None:
    ledger.ask(request(name), serves=serves(1))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.sqlite"
    with open_ledger(path) as ledger:
        ledger.grant(TABLE, filter_for(3))
        charge(ledger, "a")
    return path


def remove(file: Path) -> None:
    file.unlink()


def exchange(file: Path) -> None:
    shutil.copy(file, file.with_name("copy"))
    file.with_name("copy").replace(file)


def remove_log(file: Path) -> None:
    file.with_name(f"{file.name}-wal").unlink()


@pytest.mark.parametrize("harm", [remove, exchange, remove_log])
def test_a_file_exchanged_while_it_is_open_takes_no_charge(file: Path, harm) -> None:
    """What this process wrote would be seen by nobody else: each would have the budget for itself."""
    with open_ledger(file) as ledger:
        charge(ledger, "b")
        harm(file)
        for _ in range(2):
            with pytest.raises(LedgerUnavailable, match="another file in its place"):
                charge(ledger, "c")
            with pytest.raises(LedgerUnavailable, match="another file in its place"):
                ledger.budget(TABLE)

        def forked() -> None:
            with pytest.raises(LedgerUnavailable):
                charge(ledger, "d")

        if harm is not remove_log:  # the child opens the file anew, and finds its log
            assert in_fork(forked) == 0


def test_a_file_with_two_names_is_refused(file: Path) -> None:
    """SQLite keeps a log by name: under two names, two processes would not see each other's charges."""
    other = file.with_name("other.sqlite")
    with open_ledger(file) as ledger:
        os.link(file, other)
        with pytest.raises(LedgerUnavailable, match="hard links"):
            open_ledger(other)
        charge(ledger, "b")
        other.unlink()
    assert charged(file) == ["a", "b"]


def test_a_symbolic_link_is_the_same_ledger(file: Path) -> None:
    link = file.with_name("link.sqlite")
    link.symlink_to(file)
    with open_ledger(file) as ledger, open_ledger(link) as other:
        charge(ledger, "b")
        charge(other, "c")
        for each in (ledger, other):
            with pytest.raises(BudgetExceeded):
                charge(each, "d")
    assert charged(link) == ["a", "b", "c"]


def test_another_folder_and_a_fork_find_the_same_ledger(file: Path, monkeypatch, tmp_path) -> None:
    """A daemon changes its folder and forks: a relative place stays what it was."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(file.parent)
    with open_ledger(file.name) as ledger:
        os.chdir(elsewhere)
        charge(ledger, "b")
        assert in_fork(lambda: charge(ledger, "c")) == 0
    assert list(elsewhere.iterdir()) == []
    assert charged(file) == ["a", "b", "c"]


def test_a_ledger_that_another_version_has_changed_since_takes_no_charge(
    place: str, store_at: Callable[[str], Store]
) -> None:
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(3))
        store = store_at(place)
        store.begin()
        store.execute("UPDATE brdp_ledger SET version = ?", (NEWEST + 1,))
        store.commit()
        store.close()
        with pytest.raises(LedgerRefused, match="another brdp has changed it"):
            charge(ledger, "a")


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM brdp_ledger",
        "UPDATE brdp_ledger SET version = -1",
        "INSERT INTO brdp_ledger (version) VALUES (1)",
    ],
)
def test_a_ledger_without_its_version_is_refused(
    place: str, store_at: Callable[[str], Store], statement: str
) -> None:
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(3))
    store = store_at(place)
    store.begin()
    store.execute(statement)
    store.commit()
    store.close()
    with pytest.raises(LedgerRefused, match="its version"):
        open_ledger(place)


def test_a_ledger_that_is_not_there_is_not_created_by_looking(place: str) -> None:
    for _ in range(2):
        with pytest.raises(InvalidInput, match="one that is there"):
            open_ledger(place, create=False)
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(3))
    with open_ledger(place, create=False) as ledger:
        assert len(ledger.budgets(TABLE)) == 1


def test_a_server_that_does_not_wait_for_its_disk_is_refused(server: Server) -> None:
    place = server.database()
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(3))
    server.configure("fsync", "off")
    try:
        with pytest.raises(LedgerUnavailable, match="fsync off"):
            open_ledger(place)
    finally:
        server.configure("fsync", "on")
    assert charged(place) == []


def test_a_server_that_is_read_only_by_default_is_told_otherwise(server: Server) -> None:
    place = server.database()
    with open_ledger(place) as ledger:
        ledger.grant(TABLE, filter_for(3))
    server.configure("default_transaction_read_only", "on")
    try:
        with open_ledger(place) as ledger:
            charge(ledger, "a")
    finally:
        server.configure("default_transaction_read_only", "off")
    assert charged(place) == ["a"]
