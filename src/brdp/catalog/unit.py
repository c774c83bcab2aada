"""Whom privacy protects, and which two tables count as neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import final


class Unit:
    """Whom privacy protects. Abstract: a row, or everything that shares one value of a column."""


@final
@dataclass(frozen=True)
class RowUnit(Unit):
    """Every row is a unit of its own."""


@final
@dataclass(frozen=True)
class ColumnUnit(Unit):
    """All rows with the same value in one column (a user id) are one unit; rows where it is NULL
    count nowhere.
    """

    column: str


@final
class Relation(Enum):
    """Which tables are neighbours, and so may hardly be told apart by any answer."""

    ADD_REMOVE = "add_remove"  # one unit more or less
    REPLACE = "replace"  # one unit exchanged for another
