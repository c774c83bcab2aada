"""The ledger's tables, as steps from one version to the next; a new ledger takes all of them.

Steps are only ever added at the end. The statements are SQL that SQLite and PostgreSQL both read, but for what
each store writes in its own words: NUMBER, the type of a key, and the triggers that keep entries from being changed.
"""

from __future__ import annotations

STEPS: tuple[tuple[str, ...], ...] = (
    # version 1: entries, their head, running totals
    (
        """CREATE TABLE entries (
            seq NUMBER PRIMARY KEY, kind TEXT NOT NULL, table_name TEXT NOT NULL, digest TEXT,
            charge BIGINT, body TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL)""",
        "CREATE INDEX entries_by_question ON entries (table_name, digest) WHERE kind = 'charge'",
        "CREATE UNIQUE INDEX entries_one_answer ON entries (charge) WHERE kind = 'answer'",
        """CREATE TABLE head (
            id INTEGER PRIMARY KEY CHECK (id = 1), seq BIGINT NOT NULL, hash TEXT NOT NULL,
            time DOUBLE PRECISION NOT NULL)""",
        """CREATE TABLE totals (
            budget NUMBER PRIMARY KEY, table_name TEXT NOT NULL, spent TEXT NOT NULL,
            last BIGINT NOT NULL)""",
        "CREATE INDEX totals_by_table ON totals (table_name)",
    ),
    # version 2: who is completing a charge that has no answer yet
    (
        """CREATE TABLE claims (
            charge NUMBER PRIMARY KEY, token TEXT NOT NULL, holder TEXT NOT NULL,
            until DOUBLE PRECISION NOT NULL)""",
    ),
)
NEWEST = len(STEPS)
