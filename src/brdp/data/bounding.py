"""Holding every unit to its groups and rows, before anything is added up.

Which rows stay is decided by a keyed md5 over the unit and the row, and by nothing else: not by the
order of the file, the engine, or any other unit. Rows that the hash cannot tell apart are ordered
by everything the query sees of them, so that it does not matter which of them stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from brdp import _extras
from brdp.errors import InvalidInput

SHORTEST_KEY = 16


@final
@dataclass(frozen=True, repr=False)
class BoundingKey:
    """The owner's secret that decides which rows of a unit stay. Never shown, never released."""

    secret: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.secret, bytes) or len(self.secret) < SHORTEST_KEY:
            raise InvalidInput(
                "bounding key",
                expected=f"at least {SHORTEST_KEY} secret bytes",
                got="something else",
                remedy="For example: BoundingKey(secrets.token_bytes(32))",
            )

    def __repr__(self) -> str:
        return "BoundingKey(...)"


UNIT = "unit"


def hold_to_groups(rows: Any, *, groups: Sequence[str], limit: int, key: BoundingKey) -> Any:
    """Keep the rows of at most `limit` groups of each unit."""
    ibis = _extras.require("ibis", extra="query")
    order = [_digest(rows, key, "group", [UNIT, *groups]), *(rows[name] for name in groups)]
    rank = ibis.dense_rank().over(group_by=rows[UNIT], order_by=order)
    return rows.mutate(group_rank=rank).filter(lambda ranked: ranked.group_rank < limit)


def row_rank(rows: Any, *, row_key: Sequence[str], seen: Sequence[str], key: BoundingKey) -> Any:
    """The place of each row among its unit's, from 0; `seen` are the columns that the query looks
    at.
    """
    ibis = _extras.require("ibis", extra="query")
    named = [*row_key] or [*seen]
    # a row key that is not unique after all, or two rows of one text, must not let the engine choose: its
    # choice could depend on other units
    order = [_digest(rows, key, "row", [UNIT, *named]), *(rows[name] for name in seen)]
    return ibis.row_number().over(group_by=rows[UNIT], order_by=order)


def first_in_group(rows: Any, *, groups: Sequence[str]) -> Any:
    """True for one row of each unit in each group, whichever: only how many there are is used."""
    ibis = _extras.require("ibis", extra="query")
    within = [rows[UNIT], *(rows[name] for name in groups)]
    return ibis.row_number().over(group_by=within, order_by=rows[UNIT]) == 0


def _digest(rows: Any, key: BoundingKey, purpose: str, columns: Sequence[str]) -> Any:
    ibis = _extras.require("ibis", extra="query")
    text = ibis.literal(f"{key.secret.hex()}/{purpose}")
    for name in columns:
        # a NULL would make the whole text NULL
        text = text + ibis.literal("/") + rows[name].cast("string").fill_null("")
    return text.hexdigest("md5")
