"""What can go wrong, and how it is said: expected, got, what to do.

Messages never hold private data: they speak of arguments, schema and budgets only.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
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
        message = f"{argument}: expected {expected}, got {reprlib.repr(got)}."
        super().__init__(f"{message} {remedy}".rstrip())

    def __reduce__(self) -> tuple[Callable[..., InvalidInput], tuple[object, ...]]:
        # keyword arguments do not survive the pickling of exceptions by themselves
        return _invalid_input, (self.argument, self.expected, self.got, self.remedy)


def _invalid_input(argument: str, expected: str, got: object, remedy: str) -> InvalidInput:
    return InvalidInput(argument, expected=expected, got=got, remedy=remedy)


@final
class MissingExtra(BrdpError, ImportError):
    """A part of brdp needs a package that is not installed."""


@final
class NotPossible(BrdpError):
    """The request is well formed, but no mechanism can meet it."""


@final
class BudgetExceeded(BrdpError):
    """The owner's budget does not allow this."""
