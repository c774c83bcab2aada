"""A TOML table read key by key: every value checked, every key accounted for, every error naming
file, key and remedy.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import final

from brdp.catalog.exact import exact
from brdp.catalog.nearest import did_you_mean
from brdp.errors import InvalidInput


@final
class Reader:
    """One table of a TOML file. `finish` refuses the keys that nobody asked for."""

    def __init__(self, values: Mapping[str, object], *, file: str, path: str = "") -> None:
        self._values = values
        self._file = file
        self._path = path
        self._asked: list[str] = []

    def where(self, key: str = "") -> str:
        """The file and the full name of a key, as errors show them."""
        return f"{self._file}: " + ".".join(part for part in (self._path, key) if part)

    def refuse(self, key: str, *, expected: str, got: object, remedy: str = "") -> InvalidInput:
        """The error to raise about a key."""
        return InvalidInput(self.where(key), expected=expected, got=got, remedy=remedy)

    def has(self, key: str) -> bool:
        """Whether the key was written at all."""
        self._asked.append(key)
        return key in self._values

    def raw(self, key: str) -> object:
        """The value as TOML gave it, or None."""
        self._asked.append(key)
        return self._values.get(key)

    def text(self, key: str, *, default: str | None = None, remedy: str = "") -> str:
        """A piece of text that is not empty."""
        value = self.raw(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or not value:
            raise self.refuse(
                key,
                expected="text in quotes",
                got="nothing" if value is None else value,
                remedy=remedy,
            )
        return value

    def texts(self, key: str, *, remedy: str = "") -> tuple[str, ...]:
        """One piece of text or a list of them; none where the key is absent."""
        value = self.raw(key)
        if value is None:
            return ()
        entries = value if isinstance(value, list) else [value]
        if not entries or not all(isinstance(entry, str) and entry for entry in entries):
            raise self.refuse(
                key, expected="text in quotes, or a list of such", got=value, remedy=remedy
            )
        return tuple(entries)

    def flag(self, key: str) -> bool:
        """Yes or no; no where the key is absent."""
        value = self.raw(key)
        if value is not None and not isinstance(value, bool):
            raise self.refuse(key, expected="true or false", got=value)
        return bool(value)

    def whole(self, key: str) -> int | None:
        """A whole number from 1, or None where the key is absent."""
        value = self.raw(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self.refuse(key, expected="a whole number, 1 or above", got=value)
        return value

    def number(self, key: str, *, remedy: str = "") -> Fraction:
        """A finite number that must be there."""
        value = self.raw(key)
        if value is None:
            raise self.refuse(key, expected="a finite number", got="nothing", remedy=remedy)
        return exact(value, argument=self.where(key))

    def numbers(self, key: str) -> tuple[Fraction, ...]:
        """A list of finite numbers; none where the key is absent."""
        value = self.raw(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.refuse(key, expected="a list of numbers such as [0, 10]", got=value)
        return tuple(exact(entry, argument=self.where(key)) for entry in value)

    def inner(self, key: str, *, remedy: str = "") -> Reader | None:
        """The table under a key, or None where the key is absent."""
        value = self.raw(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.refuse(key, expected="a table of keys", got=value, remedy=remedy)
        path = ".".join(part for part in (self._path, key) if part)
        return Reader(value, file=self._file, path=path)

    def all_inner(self) -> tuple[tuple[str, Reader], ...]:
        """Every key with the table under it."""
        found = []
        for key in self._values:
            inner = self.inner(key)
            if inner is not None:
                found.append((key, inner))
        return tuple(found)

    def finish(self) -> None:
        """Refuse a key nobody asked for: a misspelt limit must not be a limit left out."""
        known = sorted(set(self._asked))
        for key in self._values:
            if key not in known:
                raise self.refuse(
                    key,
                    expected=f"one of {', '.join(known)}",
                    got=key,
                    remedy=did_you_mean(key, known) or "Remove it.",
                )
