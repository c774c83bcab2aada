"""Both stores, for one contract suite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from brdp.ledger.postgres import PostgresStore
from brdp.ledger.sqlite import SQLiteStore
from brdp.ledger.store import Store


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh place for a ledger, in either store."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    url: str = request.getfixturevalue("server").database()
    return url


@pytest.fixture
def store_at() -> Callable[[str], Store]:
    def make(place: str) -> Store:
        return PostgresStore(place) if "://" in place else SQLiteStore(place)

    return make
