"""Stopping rules that hold when an analyst chooses each next query after seeing the last answers."""

from brdp.privacy.filters.base import Amounts, Filter, FilterCost, FilterState
from brdp.privacy.filters.pure import PureFilter
from brdp.privacy.filters.read import read_filter
from brdp.privacy.filters.recommend import recommended
from brdp.privacy.filters.renyi import RenyiFilter
from brdp.privacy.filters.total import SumFilter

__all__ = [
    "Amounts",
    "Filter",
    "FilterCost",
    "FilterState",
    "PureFilter",
    "RenyiFilter",
    "SumFilter",
    "read_filter",
    "recommended",
]
