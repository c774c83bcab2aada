"""One line of the ledger, and the chain of hashes that holds the lines together."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any, final

from brdp.ledger.failures import LedgerRefused

# What the first entry follows.
GENESIS = "0" * 64


@final
class EntryKind(Enum):
    """What an entry records."""

    BUDGET = "budget"
    CHARGE = "charge"
    ANSWER = "answer"


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """An appended line: `text` is its canonical JSON, the columns beside it are there to be searched.

    hash = SHA-256(previous hash, newline, text). Changing any earlier line changes every later hash.
    """

    seq: int
    kind: EntryKind
    table: str
    digest: str | None
    charge: int | None
    text: str
    previous: str
    hash: str

    @classmethod
    def of(
        cls,
        *,
        seq: int,
        kind: EntryKind,
        table: str,
        time: float,
        body: Mapping[str, Any],
        previous: str,
        digest: str | None = None,
        charge: int | None = None,
    ) -> Entry:
        """Write a new line."""
        whole = {
            **body,
            "seq": seq,
            "kind": kind.value,
            "table": table,
            "digest": digest,
            "charge": charge,
            "time": moment_text(time),
        }
        text = canonical(whole)
        return cls(seq, kind, table, digest, charge, text, previous, chained(previous, text))

    @property
    def row(self) -> tuple[Any, ...]:
        """Its columns, as a store keeps them."""
        return (
            self.seq,
            self.kind.value,
            self.table,
            self.digest,
            self.charge,
            self.text,
            self.previous,
            self.hash,
        )

    @property
    def body(self) -> dict[str, Any]:
        """The line as plain data."""
        found: dict[str, Any] = json.loads(self.text)
        return found

    def checked(self) -> Entry:
        """The entry itself, if its own hash and columns agree with its text."""
        problem = self.fault()
        if problem:
            raise LedgerRefused(
                f"ledger entry {self.seq}: expected the line that was written; got one that was edited "
                f"({problem}). Nothing was changed. Restore the ledger from a copy that "
                "`brdp ledger verify` accepts."
            )
        return self

    def fault(self) -> str:
        """What is wrong with this line by itself; empty where nothing is."""
        if chained(self.previous, self.text) != self.hash:
            return "its hash does not match"
        try:
            body = self.body
        except ValueError:
            return "its text is not JSON"
        columns = {
            "seq": self.seq,
            "kind": self.kind.value,
            "table": self.table,
            "digest": self.digest,
            "charge": self.charge,
        }
        wrong = [name for name, value in columns.items() if body.get(name) != value]
        return f"its {wrong[0]} does not match its text" if wrong else ""


_encoder = json.JSONEncoder(
    sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False
)


def canonical(value: Any) -> str:
    """JSON in one form: keys sorted, no spaces, ASCII, no NaN."""
    return _encoder.encode(value)


def chained(previous: str, text: str) -> str:
    """The hash of a line that follows another."""
    return hashlib.sha256(f"{previous}\n{text}".encode("ascii", "backslashreplace")).hexdigest()


@functools.lru_cache(maxsize=8)  # entries of one transaction have one time
def moment_text(time: float) -> str:
    """Seconds since 1970 as ISO 8601 in UTC."""
    return datetime.fromtimestamp(time, tz=UTC).isoformat(timespec="microseconds")


@functools.lru_cache(maxsize=1)
def software() -> str:
    """The version of brdp that writes, as it is installed."""
    from importlib import metadata

    try:
        return f"brdp {metadata.version('brdp')}"
    except metadata.PackageNotFoundError:
        return "brdp, not installed"
