"""The one way from data to answers: plan, charge, read, add noise, store, answer."""

from brdp.curator.curator import Curator, filter_for, open_curator
from brdp.curator.results import Answer, Cell, Nearest, Price, Row
from brdp.curator.session import Session

__all__ = [
    "Answer",
    "Cell",
    "Curator",
    "Nearest",
    "Price",
    "Row",
    "Session",
    "filter_for",
    "open_curator",
]
