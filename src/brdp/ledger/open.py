"""Opening a ledger by its place: a file's path, ":memory:", or the URL of a PostgreSQL database."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from brdp.errors import InvalidInput
from brdp.ledger.ledger import Ledger
from brdp.ledger.postgres import PostgresStore
from brdp.ledger.sqlite import SQLiteStore
from brdp.ledger.store import Store

POSTGRES = ("postgresql://", "postgres://")


def open_ledger(
    place: str | Path, *, clock: Callable[[], float] = time.time, create: bool = True
) -> Ledger:
    """Open a ledger, bringing it up to date where needed; with `create`, a new one where there is none."""
    text = str(place)
    store: Store
    if text.startswith(POSTGRES):
        store = PostgresStore(text)
        if not create:
            _require_there(store)
    elif "://" in text:
        raise InvalidInput(
            "ledger",
            expected="a path, or a URL that starts with postgresql://",
            # what follows may hold a password
            got=text.split("://")[0] + "://...",
        )
    else:
        if not create and not Path(text).exists():
            raise _none(text)
        store = SQLiteStore(text)
    return Ledger(store, clock=clock)


def _require_there(store: Store) -> None:
    store.begin_reading()
    found = store.has_table("brdp_ledger")
    store.rollback()
    if not found:
        store.close()
        raise _none(store.place)


def _none(place: str) -> InvalidInput:
    return InvalidInput(
        "ledger",
        expected="one that is there",
        got=f"none at {place}",
        remedy="The first question of a table creates one. If there was one, restore it from a copy: a new one "
        "would know nothing of what was spent.",
    )
