"""Filters from the plain data that a ledger keeps."""

from __future__ import annotations

from typing import Any

from brdp.errors import InvalidInput
from brdp.privacy.filters.base import Filter
from brdp.privacy.filters.pure import PureFilter
from brdp.privacy.filters.renyi import RenyiFilter
from brdp.privacy.filters.total import SumFilter


def read_filter(data: Any) -> Filter:
    """The filter whose `to_dict` gave this."""
    try:
        kind = data["filter"]
        if kind == "pure":
            return PureFilter(data["epsilon"])
        if kind == "sum":
            return SumFilter(data["epsilon"], data["delta"], data["delta_each"])
        if kind == "renyi":
            return RenyiFilter(data["epsilon"], data["delta"], tuple(data["orders"]))
    except (KeyError, TypeError):
        kind = data
    raise InvalidInput(
        "filter",
        expected="a description of a pure, sum or renyi filter",
        got=kind,
        remedy="A newer version of brdp may have written it: use that version.",
    )
