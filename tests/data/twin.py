"""The data layer once more, naive and in plain Python: one row at a time, no engine, no windows."""

from __future__ import annotations

import hashlib
import math
import struct
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

from brdp.catalog import ColumnUnit, Table
from brdp.query import Query, Total, totals_of_query
from brdp.query.condition import And, Comparison, IsIn, IsNull, Not, Operator, Or
from brdp.query.totals import BinCount, CentredSum, RowCount, UnitCount, ValueCount, ValueSum


def missing(value):
    return value is None or (isinstance(value, float) and math.isnan(value))


def number(value):
    """A number or None."""
    if isinstance(value, str):
        try:
            # Python knows the digits of many alphabets, the engines those of one
            value = float(value) if value.isascii() else None
        except ValueError:
            return None
    if isinstance(value, Decimal):
        value = float(value)
    return None if missing(value) else value


def steps(value, clip):
    value = number(value)
    if value is None:
        return None
    low, high = clip.low_steps, clip.high_steps
    if value <= low * clip.resolution:
        return low
    if value >= high * clip.resolution:
        return high
    if clip.integer and isinstance(value, int):
        return int(value)
    return min(max(math.floor(float(value) * float(1 / clip.resolution) + 0.5), low), high)


def holds(condition, row):
    """True, False or None: SQL's three values."""
    if isinstance(condition, And):
        found = [holds(part, row) for part in condition.parts]
        return False if False in found else None if None in found else True
    if isinstance(condition, Or):
        found = [holds(part, row) for part in condition.parts]
        return True if True in found else None if None in found else False
    if isinstance(condition, Not):
        found = holds(condition.part, row)
        return None if found is None else not found
    value = row[condition.column]
    if isinstance(condition, IsNull):
        return missing(value)
    literals = condition.values if isinstance(condition, IsIn) else (condition.value,)
    if isinstance(literals[0], Fraction):
        value = number(value)
        literals = [float(literal) for literal in literals]
    elif isinstance(value, date):  # and datetime, which is one
        literals = [type(value).fromisoformat(literal) for literal in literals]
    if missing(value):
        return None
    if isinstance(condition, IsIn):
        return value in literals
    assert isinstance(condition, Comparison)
    literal = literals[0]
    return {
        Operator.EQUAL: value == literal,
        Operator.NOT_EQUAL: value != literal,
        Operator.LESS: value < literal,
        Operator.AT_MOST: value <= literal,
        Operator.GREATER: value > literal,
        Operator.AT_LEAST: value >= literal,
    }[condition.operator]


def bin_of(value, edges):
    value = number(value)
    if value is None or value < edges[0] or value > edges[-1]:
        return None
    return next((index for index, edge in enumerate(edges[1:-1]) if value < edge), len(edges) - 2)


def as_text(value):
    if value is None:
        return ""
    if isinstance(value, float | Decimal):
        # numbers by their bits; NaN is missing, and 0 has one sign
        return "" if missing(float(value)) else struct.pack(">d", float(value) or 0.0).hex()
    if isinstance(value, datetime):
        return str(value).rstrip("0") if value.microsecond else str(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def digest(secret, purpose, *values):
    text = "/".join([f"{secret.hex()}/{purpose}", *map(as_text, values)])
    return hashlib.md5(text.encode()).hexdigest()


def missing_last(value):
    return (value is None, 0 if value is None else value)


def added(totals):
    """The integers an engine adds up, in the order in which the totals ask for them."""
    found = []
    for total in totals:
        if isinstance(total, BinCount):
            found.append(RowCount())
        elif isinstance(total, CentredSum):
            found += [ValueSum(total.column, total.clip), ValueCount(total.column, number=True)]
        else:
            found.append(total)
    return list(dict.fromkeys(found))


def bounded(rows, query: Query, table: Table, secret: bytes):
    """(row, kept) of every row that may count: `kept` where it is among the k rows of its unit."""
    totals = totals_of_query(query, table)
    rows = [row for row in rows if query.where is None or holds(query.where, row) is True]
    groups = [(group.column, {as_text(key) if isinstance(key, int) else key: key for key in group.keys})
              for group in query.group_by]  # fmt: skip
    rows = [
        row
        for row in rows
        if all(
            row[name] is not None and as_text(row[name]) in {as_text(key) for key in keys}
            for name, keys in groups
        )
    ]
    if not isinstance(table.unit, ColumnUnit):
        return [(row, True) for row in rows]
    unit = table.unit.column
    names = [name for name, _ in groups]
    of_unit: dict = {}
    for row in rows:
        if row[unit] is not None:
            of_unit.setdefault(row[unit], []).append(row)
    counts_units = any(isinstance(total, UnitCount) for total in totals)
    found = []
    for person, own in of_unit.items():
        reached = {tuple(row[name] for name in names) for row in own}
        ranked = sorted(reached, key=lambda group: (digest(secret, "group", person, *group), group))
        if counts_units or table.group_limit < table.rows_per_unit:
            reached = set(ranked[: table.group_limit])
        own = [row for row in own if tuple(row[name] for name in names) in reached]

        def order(row, person=person):
            seen = [row[name] for name in names]
            for part in added(totals):
                if isinstance(part, ValueSum):
                    seen.append(steps(row[part.column], part.clip))
                elif isinstance(part, ValueCount):
                    seen.append(usable(row, part))
            seen += [
                bin_of(row[total.column], total.edges)
                for total in totals
                if isinstance(total, BinCount)
            ]
            if table.row_key:
                key = digest(secret, "row", person, *(row[name] for name in table.row_key))
            else:
                key = digest(secret, "row", person, *seen)
            return key, *map(missing_last, seen)

        own.sort(key=order)
        found += [(row, index < table.rows_per_unit) for index, row in enumerate(own)]
    return found


def usable(row, total):
    value = row[total.column]
    return number(value) is not None if total.number else not missing(value)


def twin(
    rows, query: Query, table: Table, secret: bytes
) -> dict[Total, dict[tuple, tuple[int, ...]]]:
    """The totals of a resolved query: total -> texts of the group's key -> integers."""
    totals = totals_of_query(query, table)
    names = [group.column for group in query.group_by]
    marked = bounded(rows, query, table, secret)
    result: dict = {total: {} for total in totals}
    units: dict = {}
    for row, kept in marked:
        group = tuple(as_text(row[name]) for name in names)
        for total in totals:
            width = total.bins if isinstance(total, BinCount) else 1
            cell = result[total].setdefault(group, [0] * width)
            if isinstance(total, UnitCount):
                units.setdefault(group, set()).add(row[table.unit.column])
                cell[0] = len(units[group])
            elif not kept:
                continue
            elif isinstance(total, RowCount):
                cell[0] += 1
            elif isinstance(total, ValueCount):
                cell[0] += usable(row, total)
            elif isinstance(total, BinCount):
                index = bin_of(row[total.column], total.edges)
                if index is not None:
                    cell[index] += 1
            elif (value := steps(row[total.column], total.clip)) is not None:
                middle = total.clip.low_steps + total.clip.high_steps
                cell[0] += 2 * value - middle if isinstance(total, CentredSum) else value
    return {
        total: {group: tuple(cell) for group, cell in cells.items()}
        for total, cells in result.items()
    }
