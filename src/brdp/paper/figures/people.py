"""The people of the two data sets: one number a person, read from a file the reader names."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import IO, final

import numpy as np

from brdp.errors import InvalidInput
from brdp.paper.formulas.kernel import Floats

_SECONDS_A_MONTH = 30.4375 * 86400.0
_GAIN = "capital_gain"
_GOWALLA_COLUMNS = ("user", "time")


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
            raise InvalidInput("people", expected=f"at least {parts} people", got=self.values.size)
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
    A table with a header and commas serves as well; either may be gzipped.
    """
    if not path.is_file():
        raise InvalidInput(
            "--gowalla",
            expected="a file of check-ins",
            got=str(path),
            remedy="Take loc-gowalla_totalCheckins.txt.gz from the SNAP collection.",
        )
    first: dict[int, str] = {}
    last: dict[int, str] = {}
    lines = 0
    with _text(path) as file:
        for user, time in _check_ins(file, path):
            lines += 1
            # ISO times in one zone sort as text
            if user not in first:
                first[user] = last[user] = time
            elif time < first[user]:
                first[user] = time
            elif time > last[user]:
                last[user] = time
    if not first:
        raise InvalidInput("--gowalla", expected="check-ins", got=f"none in {path.name}")
    months = [
        (_seconds(last[user]) - _seconds(first[user])) / _SECONDS_A_MONTH for user in sorted(first)
    ]
    described = _described(path, lines, "check-ins") + f" of {len(months):,} users"
    return People(np.array(months), described, "months")


def _check_ins(file: IO[str], path: Path) -> Iterator[tuple[int, str]]:
    start = file.readline()
    tabs = "\t" in start
    fields = start.rstrip("\n").split("\t" if tabs else ",")
    user_at, time_at = 0, 1
    if fields[0].strip().isdigit():
        yield _check_in(fields, 0, 1, path)
    elif set(_GOWALLA_COLUMNS) <= set(fields):
        user_at, time_at = (fields.index(name) for name in _GOWALLA_COLUMNS)
    else:
        raise InvalidInput(
            "--gowalla", expected="columns user, time, latitude, longitude, location", got=path.name
        )
    for row in csv.reader(file, delimiter="\t" if tabs else ","):
        if row:
            yield _check_in(row, user_at, time_at, path)


def _check_in(fields: Sequence[str], user_at: int, time_at: int, path: Path) -> tuple[int, str]:
    try:
        return int(fields[user_at]), fields[time_at]
    except (ValueError, IndexError) as error:
        raise InvalidInput(
            "--gowalla", expected="lines of user, ISO time, ...", got=f"another line in {path.name}"
        ) from error


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()


@contextmanager
def _text(path: Path) -> Iterator[IO[str]]:
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        stream = gzip.GzipFile(fileobj=raw) if packed else raw
        yield io.TextIOWrapper(stream, encoding="utf-8", newline="")


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
