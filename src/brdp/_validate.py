"""Checks of arguments, each named after what it lets through.

Every function takes one keyword, the argument under its own name, and returns it as a float or int.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray

from brdp.errors import InvalidInput

SHORTEST, LONGEST = 1e-75, 1e75


def _only(named: dict[str, object]) -> tuple[str, object]:
    ((name, value),) = named.items()
    return name, value


def _number(
    named: dict[str, object], expected: str, accepts: Callable[[float], bool], remedy: str
) -> float:
    name, value = _only(named)
    # bool is an int to Python, but True as a scale is a slip, not a number
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidInput(name, expected=expected, got=value, remedy=remedy)
    try:
        number = float(value)
    except OverflowError:  # an int beyond every float
        number = math.inf  # and refused, whichever sign it has
    if not accepts(number):
        raise InvalidInput(name, expected=expected, got=value, remedy=remedy)
    return number


def positive(*, remedy: str = "", **named: object) -> float:
    """Let through a finite number above 0."""
    return _number(named, "a finite number above 0", lambda x: 0 < x < math.inf, remedy)


def length(*, remedy: str = "", **named: object) -> float:
    """Let through a scale or a sensitivity: such that squares of the ratio of two of them are floats."""
    expected = f"a number from {SHORTEST:g} to {LONGEST:g}"
    return _number(named, expected, lambda x: SHORTEST <= x <= LONGEST, remedy)


def non_negative(*, remedy: str = "", **named: object) -> float:
    """Let through a finite number, 0 or above."""
    return _number(named, "a finite number, 0 or above", lambda x: 0 <= x < math.inf, remedy)


def finite(*, remedy: str = "", **named: object) -> float:
    """Let through any finite number."""
    return _number(named, "a finite number", math.isfinite, remedy)


def probability(*, remedy: str = "", **named: object) -> float:
    """Let through a number in [0, 1]."""
    return _number(named, "a number in [0, 1]", lambda x: 0 <= x <= 1, remedy)


def below_one(*, remedy: str = "", **named: object) -> float:
    """Let through a number in [0, 1)."""
    return _number(named, "a number in [0, 1)", lambda x: 0 <= x < 1, remedy)


def between_zero_and_one(*, remedy: str = "", **named: object) -> float:
    """Let through a number in (0, 1), both ends left out."""
    return _number(named, "a number in (0, 1)", lambda x: 0 < x < 1, remedy)


def numbers(*, remedy: str = "", **named: object) -> NDArray[np.float64]:
    """Let through a number or an array of numbers, infinities and NaN among them."""
    name, value = _only(named)
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(
            name, expected="a number or an array of them", got=value, remedy=remedy
        ) from error


def shares(*, remedy: str = "", **named: object) -> NDArray[np.float64]:
    """Let through a number in [0, 1] or an array of them."""
    name, value = _only(named)
    array = numbers(remedy=remedy, **named)
    if not np.all((array >= 0) & (array <= 1)):
        raise InvalidInput(name, expected="numbers in [0, 1]", got=value, remedy=remedy)
    return array


def whole(*, least: int = 1, remedy: str = "", **named: object) -> int:
    """Let through a whole number (3 and 3.0 alike) that is at least `least`."""
    name, value = _only(named)
    number: int | None = None
    if isinstance(value, bool):
        pass  # an int to Python, a slip to people
    elif isinstance(value, Integral):
        number = int(value)
    elif isinstance(value, Real) and math.isfinite(value) and float(value).is_integer():
        number = int(float(value))
    if number is None or number < least:
        expected = f"a whole number, {least} or above"
        raise InvalidInput(name, expected=expected, got=value, remedy=remedy)
    return number
