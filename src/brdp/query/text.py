"""A query written out as the SQL that asks it: for records, for people, and to test the parser
against.
"""

from __future__ import annotations

from fractions import Fraction

from brdp.catalog.exact import text_of
from brdp.query.aggregate import (
    Aggregate,
    Count,
    CountDistinctUnits,
    Histogram,
    Mean,
    Sum,
)
from brdp.query.condition import (
    And,
    Comparison,
    Condition,
    IsIn,
    IsNull,
    Not,
    Or,
    Value,
)
from brdp.query.model import Item, Query


def to_text(query: Query) -> str:
    """SQL that parses to an equal query; keys given to group_by by call stand in the catalog's
    place and are left out.
    """
    columns = [_name(group.column) for group in query.group_by]
    parts = [
        "SELECT " + ", ".join([*columns, *(_item(item) for item in query.items)]),
        "FROM " + _name(query.table),
    ]
    if query.where is not None:
        parts.append("WHERE " + _condition(query.where))
    if columns:
        parts.append("GROUP BY " + ", ".join(columns))
    if query.rows_at_least is not None:
        parts.append(f"ROWS_AT_LEAST {query.rows_at_least}")
    if query.rows_at_most is not None:
        parts.append(f"ROWS_AT_MOST {query.rows_at_most}")
    if query.sample is not None:
        parts.append("SAMPLE " + _number(query.sample))
    if query.groups_of is not None:
        parts.append(f"GROUPS_OF {query.groups_of}")
    if query.epsilon is not None:
        parts.append("EPSILON " + _number(query.epsilon))
    if query.confidence is not None:
        parts.append("CONFIDENCE " + _number(query.confidence))
    if query.simultaneous:
        parts.append("SIMULTANEOUS")
    return " ".join(parts)


def _item(item: Item) -> str:
    within = "" if item.within is None else " WITHIN " + _number(item.within)
    return f"{_aggregate(item.aggregate)} AS {_name(item.name)}{within}"


def _aggregate(aggregate: Aggregate) -> str:
    if isinstance(aggregate, Count):
        return "COUNT(*)" if aggregate.column is None else f"COUNT({_name(aggregate.column)})"
    if isinstance(aggregate, CountDistinctUnits):
        # a resolved query has forgotten the unit's column, which the catalog knows
        return f"COUNT(DISTINCT {_name(aggregate.column or 'unit')})"
    if isinstance(aggregate, Sum):
        return f"SUM({_name(aggregate.column)})"
    if isinstance(aggregate, Mean):
        size = "" if aggregate.size is None else f" SIZE {aggregate.size}"
        return f"AVG({_name(aggregate.column)}){size}"
    if isinstance(aggregate, Histogram):
        return f"HISTOGRAM({', '.join([_name(aggregate.column), *map(_number, aggregate.edges)])})"
    raise TypeError(f"not an aggregate of this package: {type(aggregate).__name__}")


def _condition(condition: Condition) -> str:
    if isinstance(condition, Comparison):
        return f"{_name(condition.column)} {condition.operator.value} {_value(condition.value)}"
    if isinstance(condition, IsIn):
        return f"{_name(condition.column)} IN ({', '.join(map(_value, condition.values))})"
    if isinstance(condition, IsNull):
        return f"{_name(condition.column)} IS NULL"
    if isinstance(condition, Not):
        return f"NOT ({_condition(condition.part)})"
    if isinstance(condition, And | Or):
        word = " AND " if isinstance(condition, And) else " OR "
        return word.join(f"({_condition(part)})" for part in condition.parts)
    raise TypeError(f"not a condition of this package: {type(condition).__name__}")


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return _number(value)


def _number(number: Fraction) -> str:
    return text_of(number)
