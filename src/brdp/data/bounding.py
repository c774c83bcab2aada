"""Holding every unit to its groups and rows, before anything is added up.

Which rows stay is decided by a keyed md5 over the unit and the row, and by nothing else: not by the
order of the file, the engine, or any other unit. Rows that the hash cannot tell apart are ordered
by everything the query sees of them, so that it does not matter which of them stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
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
ORDER = "row_order"


def hold_to_groups(rows: Any, *, groups: Sequence[str], limit: int, key: BoundingKey) -> Any:
    """Keep the rows of at most `limit` groups of each unit."""
    ibis = _extras.require("ibis", extra="query")
    rows = rows.mutate(group_order=_secret_order(rows, key, "group", [UNIT, *groups]))
    order = [rows[name] for name in ("group_order", *groups)]
    rank = ibis.dense_rank().over(group_by=rows[UNIT], order_by=order)
    ranked = rows.mutate(group_rank=rank)
    return ranked.filter(ranked.group_rank < limit).drop("group_order", "group_rank")


def in_secret_order(
    rows: Any, *, row_key: Sequence[str], seen: Sequence[str], key: BoundingKey
) -> Any:
    """The rows with a column ORDER for row_rank, in place of their key; `seen` are the columns that the query
    looks at.
    """
    # a column of its own: DuckDB computes what stands in a window's ORDER BY once for every use of it
    named = [*row_key] or [*seen]
    order = _secret_order(rows, key, "row", [UNIT, *named])
    return rows.select(*(name for name in rows.columns if name not in row_key), **{ORDER: order})


def row_rank(rows: Any, *, seen: Sequence[str]) -> Any:
    """The place of each row among its unit's, from 0."""
    ibis = _extras.require("ibis", extra="query")
    # a row key that is not unique after all, or two rows of one text, must not let the engine choose: its
    # choice could depend on other units
    order = [rows[name] for name in (ORDER, *seen)]
    return ibis.row_number().over(group_by=rows[UNIT], order_by=order)


def first_in_group(rows: Any, *, groups: Sequence[str]) -> Any:
    """True for one row of each unit in each group, whichever: only how many there are is used."""
    ibis = _extras.require("ibis", extra="query")
    within = [rows[UNIT], *(rows[name] for name in groups)]
    return ibis.row_number().over(group_by=within, order_by=rows[UNIT]) == 0


def _secret_order(rows: Any, key: BoundingKey, purpose: str, columns: Sequence[str]) -> Any:
    ibis = _extras.require("ibis", extra="query")
    text = ibis.literal(f"{key.secret.hex()}/{purpose}")
    for name in columns:
        # a NULL would make the whole text NULL
        text = text + ibis.literal("/") + rows[name].cast("string").fill_null("")
    return md5_order()(text)


@cache
def md5_order() -> Any:
    """A text's md5, to sort by. Elsewhere its 32 hexadecimal digits; in DuckDB the first 16 as a number, by a macro of
    ours: it sorts several times as fast, and in the same order, save for two digests of one unit that begin alike
    (one pair in 2^64), which what the query sees puts in order.
    """
    ibis = _extras.require("ibis", extra="query")

    @ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
    def brdp_md5_order(text: str) -> int:
        raise NotImplementedError  # the engine's

    return brdp_md5_order
