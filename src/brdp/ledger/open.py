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


def open_ledger(place: str | Path, *, clock: Callable[[], float] = time.time) -> Ledger:
    """Open a ledger, creating it or bringing it up to date where needed."""
    text = str(place)
    store: Store
    if text.startswith(POSTGRES):
        store = PostgresStore(text)
    elif "://" in text:
        raise InvalidInput(
            "ledger",
            expected="a path, or a URL that starts with postgresql://",
            # what follows may hold a password
            got=text.split("://")[0] + "://...",
        )
    else:
        store = SQLiteStore(text)
    return Ledger(store, clock=clock)
