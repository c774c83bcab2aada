"""The conditions of WHERE: comparisons, IN, BETWEEN, IS NULL, AND, OR, NOT and brackets."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from brdp.catalog.nearest import did_you_mean
from brdp.errors import InvalidInput
from brdp.query.condition import (
    MIRRORED,
    And,
    Comparison,
    Condition,
    IsIn,
    IsNull,
    Not,
    Operator,
    Or,
    Value,
    between,
)
from brdp.query.cursor import Cursor
from brdp.query.refusals import ARITHMETIC, FUNCTIONS, hint
from brdp.query.tokens import Form

OPERATORS = {
    "=": Operator.EQUAL,
    "==": Operator.EQUAL,
    "<>": Operator.NOT_EQUAL,
    "!=": Operator.NOT_EQUAL,
    "<": Operator.LESS,
    "<=": Operator.AT_MOST,
    ">": Operator.GREATER,
    ">=": Operator.AT_LEAST,
}


def condition(cursor: Cursor) -> Condition:
    """A condition: parts joined by OR, of parts joined by AND."""
    return _joined(cursor, "OR", Or, lambda: _joined(cursor, "AND", And, lambda: _part(cursor)))


def _joined(
    cursor: Cursor,
    word: str,
    join: Callable[[tuple[Condition, ...]], Condition],
    part: Callable[[], Condition],
) -> Condition:
    parts = [part()]
    while cursor.take_word(word):
        parts.append(part())
    return parts[0] if len(parts) == 1 else join(tuple(parts))


def _part(cursor: Cursor) -> Condition:
    if cursor.take_word("NOT"):
        cursor.deeper()
        found: Condition = Not(_part(cursor))
        cursor.shallower()
        return found
    if cursor.open():
        found = condition(cursor)
        cursor.close()
        return found
    token = cursor.peek()
    if token.form in (Form.NUMBER, Form.STRING) or token.text in ("-", "+"):
        return _mirrored(cursor)
    if token.word in ("TRUE", "FALSE", "NULL"):
        cursor.fail("a column to compare", remedy="For example: education_num >= 13")
    if cursor.peek(1).form is Form.SIGN and cursor.peek(1).text == "(":
        remedy = FUNCTIONS.get(token.word, "Functions are not there: compare a column as it is.")
        cursor.fail("a column", remedy=remedy)
    return _about(cursor, cursor.name("a column to compare").text)


def _about(cursor: Cursor, column: str) -> Condition:
    """What follows a column."""
    negated = cursor.take_word("NOT")
    if cursor.take_word("IN"):
        return _opposite(_among(cursor, column), negated)
    if cursor.take_word("BETWEEN"):
        low = _literal(cursor)
        cursor.word("AND")
        return _opposite(between(column, low, _literal(cursor)), negated)
    if negated:
        cursor.fail("IN or BETWEEN after NOT")
    if cursor.take_word("IS"):
        absent = cursor.take_word("NOT")
        if not cursor.take_word("NULL"):
            cursor.fail("NULL after IS", remedy="Compare with true and false by =.")
        return _opposite(IsNull(column), absent)
    operator = _operator(cursor)
    return Comparison(column, operator, _literal(cursor))


def _mirrored(cursor: Cursor) -> Condition:
    value = _literal(cursor)
    operator = _operator(cursor)
    token = cursor.peek()
    if token.form not in (Form.WORD, Form.QUOTED):
        cursor.fail("a column to compare", remedy="One side of a comparison is a column.")
    return Comparison(cursor.name("a column to compare").text, MIRRORED[operator], value)


def _operator(cursor: Cursor) -> Operator:
    token = cursor.peek()
    if token.form is Form.SIGN and token.text in OPERATORS:
        return OPERATORS[cursor.take().text]
    remedy = ""
    if token.form in (Form.WORD, Form.END):
        remedy = did_you_mean(token.text, ("IN", "BETWEEN", "IS NULL"))
        if token.word in ("AND", "OR", "GROUP", "CONFIDENCE", "EPSILON", ""):
            remedy = "A column alone is no condition: write for example: active = true"
    cursor.fail("a comparison (=, <>, <, <=, >, >=, IN, BETWEEN, IS NULL)", remedy=remedy)


def _among(cursor: Cursor, column: str) -> Condition:
    place = cursor.peek().place
    if not cursor.open():
        cursor.fail("a list of values in brackets")
    values = [_literal(cursor)]
    while cursor.take_sign(","):
        values.append(_literal(cursor))
    cursor.close()
    if len({type(value) for value in values}) > 1:
        raise InvalidInput(
            place, expected="a list of values of one kind", got="several kinds in one list"
        )
    return IsIn(column, tuple(values))


def _literal(cursor: Cursor) -> Value:
    token = cursor.peek()
    value: Value
    if token.form is Form.STRING:
        value = cursor.take().text
    elif token.word in ("TRUE", "FALSE"):
        value = cursor.take().word == "TRUE"
    elif token.form is Form.NUMBER or token.text in ("-", "+"):
        value = _number(cursor)
    else:
        remedy = ""
        if token.word == "NULL":
            remedy = "Nothing equals NULL: write IS NULL or IS NOT NULL."
        elif token.form in (Form.WORD, Form.QUOTED) and not hint(token.word):
            remedy = "A column is compared with a value; text is written in single quotes."
        cursor.fail("a value: a number, text in single quotes, true or false", remedy=remedy)
    following = cursor.peek()
    if following.form is Form.SIGN and following.text in ("+", "-", "*", "/", "%", "||", "::"):
        cursor.fail("no arithmetic", remedy=ARITHMETIC)
    return value


def _number(cursor: Cursor) -> Fraction:
    return cursor.number("a number")


def _opposite(condition: Condition, negated: bool) -> Condition:
    return Not(condition) if negated else condition
