"""What is asked: the query model, SQL and fluent calls that build it, and what it costs in
sensitivity.
"""

from brdp.query.aggregate import (
    Aggregate,
    Count,
    CountDistinctUnits,
    Histogram,
    Mean,
    Sum,
)
from brdp.query.canonical import Question, aggregate_text, normalise, question
from brdp.query.condition import Condition
from brdp.query.fluent import Builder, as_query, column, table
from brdp.query.grammar import parse, parse_condition
from brdp.query.model import Group, Item, Query
from brdp.query.resolve import resolve
from brdp.query.sensitivity import Sensitivity, sensitivity
from brdp.query.text import to_text
from brdp.query.totals import Total, resolution_of, totals_of, totals_of_query

__all__ = [
    "Aggregate",
    "Builder",
    "Condition",
    "Count",
    "CountDistinctUnits",
    "Group",
    "Histogram",
    "Item",
    "Mean",
    "Query",
    "Question",
    "Sensitivity",
    "Sum",
    "Total",
    "aggregate_text",
    "as_query",
    "column",
    "normalise",
    "parse",
    "parse_condition",
    "question",
    "resolution_of",
    "resolve",
    "sensitivity",
    "table",
    "to_text",
    "totals_of",
    "totals_of_query",
]
