"""One normal form for all ways of asking the same question, and its digest, by which stored answers
are found.

Two queries with one normal form select the same rows and compute the same totals. What the normal
form leaves out is how exactly they are to be answered (bounds, confidence, epsilon) and how the
answers are called: the ledger compares the first and the curator puts back the second.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from brdp.catalog.exact import text_of
from brdp.catalog.table import Table
from brdp.catalog.unit import ColumnUnit
from brdp.query.aggregate import (
    Aggregate,
    Count,
    CountDistinctUnits,
    Histogram,
    Mean,
    Sum,
)
from brdp.query.condition import (
    OPPOSITE,
    And,
    Comparison,
    Condition,
    IsIn,
    IsNull,
    Not,
    Operator,
    Or,
    Value,
)
from brdp.query.model import Query


@final
@dataclass(frozen=True)
class Question:
    """What is asked of which version of a table, in its normal form; `digest` names it in the
    ledger.
    """

    text: str
    digest: str


def question(query: Query, table: Table) -> Question:
    """The normal form of a resolved query (see resolve.py) on a table as declared.

    *Guarantee:* depends on the public query and the owner's declarations alone, never on data. It
    holds everything declared that decides an answer, so a changed limit or version asks anew.
    """
    form = {
        "table": table.name,
        "version": table.version,
        "unit": table.unit.column if isinstance(table.unit, ColumnUnit) else None,
        "relation": table.relation.value,
        "rows_per_unit": table.rows_per_unit,
        "groups_per_unit": table.group_limit,
        "row_key": list(table.row_key),
        "clips": {
            name: _clip(table, name)
            for name in sorted(_clipped(item.aggregate) for item in query.items)
            if name
        },
        "where": None if query.where is None else _tree(normalise(query.where)),
        "group_by": [
            [group.column, sorted(map(_value, group.keys or ()))]
            for group in sorted(query.group_by, key=lambda group: group.column)
        ],
        "aggregates": sorted({aggregate_text(item.aggregate) for item in query.items}),
    }
    if query.sample is not None:
        # an answer from all rows is another question's: it has another price
        form["sample"] = text_of(query.sample)
    if query.groups_of is not None:
        # which groups were named was paid for, and so was how small they may be
        form["groups_of"] = query.groups_of
    text = json.dumps(form, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return Question(text, hashlib.sha256(text.encode()).hexdigest())


def aggregate_text(aggregate: Aggregate) -> str:
    """The name of an aggregate that does not depend on how anybody calls its answer."""
    if isinstance(aggregate, Count):
        parts = ["count", aggregate.column]
    elif isinstance(aggregate, CountDistinctUnits):
        parts = ["units"]
    elif isinstance(aggregate, Sum):
        parts = ["sum", aggregate.column]
    elif isinstance(aggregate, Mean):
        parts = ["mean", aggregate.column, None if aggregate.size is None else str(aggregate.size)]
    elif isinstance(aggregate, Histogram):
        parts = ["histogram", aggregate.column, *map(text_of, aggregate.edges)]
    else:
        raise TypeError(f"not an aggregate of this package: {type(aggregate).__name__}")
    return json.dumps(parts, ensure_ascii=True)


def normalise(condition: Condition) -> Condition:
    """The same condition without NOT, BETWEEN or one-value IN, flattened, sorted, each part once."""
    return _normal(condition, negated=False)


def _normal(condition: Condition, *, negated: bool) -> Condition:
    # De Morgan's laws and the opposites hold in three-valued logic too: unknown stays unknown
    if isinstance(condition, Not):
        return _normal(condition.part, negated=not negated)
    if isinstance(condition, Comparison):
        operator = OPPOSITE[condition.operator] if negated else condition.operator
        return Comparison(condition.column, operator, condition.value)
    if isinstance(condition, IsIn):
        values = tuple(sorted(set(condition.values), key=_value))
        if len(values) == 1:
            operator = Operator.NOT_EQUAL if negated else Operator.EQUAL
            return Comparison(condition.column, operator, values[0])
        inside = IsIn(condition.column, values)
        return Not(inside) if negated else inside
    if isinstance(condition, IsNull):
        return Not(condition) if negated else condition
    if not isinstance(condition, And | Or):
        raise TypeError(f"not a condition of this package: {type(condition).__name__}")
    joined = And if isinstance(condition, And) != negated else Or
    flat: dict[str, Condition] = {}
    for part in condition.parts:
        normal = _normal(part, negated=negated)
        for piece in normal.parts if isinstance(normal, joined) else (normal,):
            flat[json.dumps(_tree(piece))] = piece
    parts = tuple(flat[text] for text in sorted(flat))
    return parts[0] if len(parts) == 1 else joined(parts)


def _tree(condition: Condition) -> list[object]:
    if isinstance(condition, Comparison):
        return [condition.operator.value, condition.column, _value(condition.value)]
    if isinstance(condition, IsIn):
        return ["in", condition.column, [_value(value) for value in condition.values]]
    if isinstance(condition, IsNull):
        return ["null", condition.column]
    if isinstance(condition, Not):
        return ["not", _tree(condition.part)]
    if isinstance(condition, And | Or):
        word = "and" if isinstance(condition, And) else "or"
        return [word, *(_tree(part) for part in condition.parts)]
    raise TypeError(f"not a condition of this package: {type(condition).__name__}")


def _value(value: Value | int) -> list[str]:
    # the kind comes first: the text '1', the number 1 and true are three things
    if isinstance(value, bool):
        return ["boolean", str(value).lower()]
    if isinstance(value, str):
        return ["text", value]
    return ["number", text_of(Fraction(value))]


def _clipped(aggregate: Aggregate) -> str:
    # COUNT(column) too: a clip range declares the column to hold numbers, so text in it is missing
    return (aggregate.column or "") if isinstance(aggregate, Count | Sum | Mean) else ""


def _clip(table: Table, name: str) -> list[object]:
    clip = table.column(name).clip
    return [] if clip is None else [text_of(clip.low), text_of(clip.high), clip.integer]
