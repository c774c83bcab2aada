"""The people of the two data sets: one number a person, read from a file the reader names."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import chain
from pathlib import Path
from typing import IO, final

import numpy as np

from brdp.errors import InvalidInput
from brdp.paper.formulas.kernel import Floats

_SECONDS_A_MONTH = 30.4375 * 86400.0
_GAIN = "capital_gain"
_GOWALLA_COLUMNS = ("user", "time")
_SNAP_CHECK_INS = 6_442_890
_REMEDY = "Take loc-gowalla_totalCheckins.txt.gz from the SNAP collection, or a table like it."


@final
@dataclass(frozen=True, eq=False)
class People:
    """One number for each person, in the order of their ids, and where it came from."""

    values: Floats
    source: str
    unit: str

    def subsets(self, *, people: int, parts: int, seed: int) -> list[Floats]:
        """Disjoint subsets of equal size, in id order, of `people` randomly chosen (or all, if fewer)."""
        rng = np.random.default_rng(seed)
        size = min(people, self.values.size) // parts
        if size < 1:
            raise InvalidInput(
                "the data", expected=f"at least {parts} people", got=self.values.size
            )
        chosen = np.sort(rng.choice(self.values.size, size * parts, replace=False))
        return list(self.values[chosen].reshape(parts, size))


def read_adult(path: Path) -> People:
    """Capital gain in thousand dollars of each record without a missing value."""
    with _text(path) as file:
        rows = [
            float(row[_GAIN]) / 1000.0 for row in csv.DictReader(file) if "?" not in row.values()
        ]
    if not rows:
        raise InvalidInput("adult", expected="the Adult table", got=str(path))
    return People(np.array(rows), _described(path, len(rows), "records"), "thousand dollars")


def read_gowalla(path: Path) -> People:
    """Months from each user's first check-in to the last, from the SNAP file or a table like it.

    The SNAP file is tab-separated without a header: user, ISO time, latitude, longitude, location.
    A table with a header and commas serves as well; either may be gzipped. Times without a zone
    are taken as UTC. A file is read once as long as it stays as it is.
    """
    check_gowalla(path)
    return _gowalla(path, file_mark(path))


def check_gowalla(path: Path) -> None:
    """Refuse a file that does not begin with a check-in; reads its first lines only."""
    if not path.is_file():
        raise InvalidInput(
            "--gowalla", expected="a file of check-ins", got=str(path), remedy=_REMEDY
        )
    for _ in _check_ins(path):
        return
    raise InvalidInput("--gowalla", expected="check-ins", got=f"none in {path.name}")


@cache
def _gowalla(path: Path, mark: str) -> People:
    del mark
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    lines = 0
    for user, time in _check_ins(path):
        lines += 1
        if user not in first:
            first[user] = last[user] = time
        elif time < first[user]:
            first[user] = time
        elif time > last[user]:
            last[user] = time
    months = [(last[user] - first[user]) / _SECONDS_A_MONTH for user in sorted(first)]
    described = _described(path, lines, "check-ins") + f" of {len(months):,} users"
    if lines != _SNAP_CHECK_INS:
        described += f", not the whole data set, which has {_SNAP_CHECK_INS:,} check-ins"
    return People(np.array(months), described, "months")


def _check_ins(path: Path) -> Iterator[tuple[int, float]]:
    """User and time in seconds of each check-in."""
    try:
        with _text(path) as file:
            yield from _parsed(file, path)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(
            "--gowalla",
            expected="a text file, or a whole gzip file of one",
            got=path.name,
            remedy=_REMEDY,
        ) from error


def _parsed(file: IO[str], path: Path) -> Iterator[tuple[int, float]]:
    start = file.readline()
    rows = csv.reader(chain([start], file), delimiter="\t" if "\t" in start else ",")
    fields = [field.strip() for field in next(rows, [])]
    user_at, time_at = 0, 1
    if fields and fields[0].isdigit():
        yield _check_in(fields, 0, 1, path, 1)
    elif set(_GOWALLA_COLUMNS) <= set(fields):
        user_at, time_at = (fields.index(name) for name in _GOWALLA_COLUMNS)
    else:
        raise InvalidInput(
            "--gowalla",
            expected="a line of column names with user and time, or the SNAP file without one",
            got=path.name,
            remedy=_REMEDY,
        )
    for number, row in enumerate(rows, start=2):
        if row:
            yield _check_in(row, user_at, time_at, path, number)


def _check_in(
    fields: Sequence[str], user_at: int, time_at: int, path: Path, number: int
) -> tuple[int, float]:
    try:
        time = datetime.fromisoformat(fields[time_at])
        known = time if time.tzinfo else time.replace(tzinfo=UTC)
        return int(fields[user_at]), known.timestamp()
    except (ValueError, IndexError) as error:
        raise InvalidInput(
            "--gowalla",
            expected="a user's whole number and an ISO time such as 2010-10-19T23:55:27Z",
            got="another line",
            remedy=f"See line {number} of {path.name}.",
        ) from error


@contextmanager
def _text(path: Path) -> Iterator[IO[str]]:
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        stream = gzip.GzipFile(fileobj=raw) if packed else raw
        yield io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")


def file_mark(path: Path) -> str:
    """The first digits of a file's SHA-256; read once as long as the file stays as it is."""
    at = path.stat()
    return _mark(path, at.st_size, at.st_mtime_ns)


@cache
def _mark(path: Path, size: int, changed: int) -> str:
    del size, changed
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


def _described(path: Path, count: int, what: str) -> str:
    size = path.stat().st_size
    return f"{path.name} ({size:,} bytes, sha256 {file_mark(path)}...): {count:,} {what}"
