"""What can go wrong, and how it is said: expected, got, what to do.

Messages never hold private data: they speak of arguments, schema and budgets only.
"""

from __future__ import annotations

from typing import final


class BrdpError(Exception):
    """The base of every error that brdp raises on purpose."""


@final
class InvalidInput(BrdpError, ValueError):
    """An argument is not of the form that was asked for."""

    def __init__(self, argument: str, *, expected: str, got: object, remedy: str = "") -> None:
        self.argument = argument
        self.expected = expected
        self.got = got
        self.remedy = remedy
        message = f"{argument}: expected {expected}, got {got!r}."
        super().__init__(f"{message} {remedy}".rstrip())


@final
class MissingExtra(BrdpError, ImportError):
    """A part of brdp needs a package that is not installed."""


@final
class NotPossible(BrdpError):
    """The request is well formed, but no mechanism can meet it."""


@final
class BudgetExceeded(BrdpError):
    """The owner's budget does not allow this."""
