"""The SQL of brdp: SELECT ... WITHIN ... FROM ... WHERE ... GROUP BY ... CONFIDENCE ..., and
nothing else.

A grammar of its own over sqlglot's tokens, rather than sqlglot's parser with a whitelist: every
refusal knows its place, the work is linear in the text, and what the grammar does not name cannot
get through. The whole of it is in docs/query-language.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import NoReturn, TypeVar, final

from brdp.catalog.nearest import did_you_mean
from brdp.errors import InvalidInput
from brdp.query.aggregate import (
    Aggregate,
    Count,
    CountDistinctUnits,
    Histogram,
    Mean,
    Sum,
    default_name,
)
from brdp.query.condition import Condition
from brdp.query.cursor import Cursor
from brdp.query.model import Group, Item, Query, check_sample
from brdp.query.refusals import BOUNDS, FUNCTIONS
from brdp.query.tokens import Form, Token, tokenize
from brdp.query.where import condition

AGGREGATES = ("COUNT", "SUM", "AVG", "MEAN", "HISTOGRAM")
TAILS = (
    "CONFIDENCE",
    "EPSILON",
    "SIMULTANEOUS",
    "ROWS_AT_LEAST",
    "ROWS_AT_MOST",
    "SAMPLE",
    "GROUPS_OF",
)
Result = TypeVar("Result")


def parse(text: str) -> Query:
    """The query that a text asks.

    Raises InvalidInput with line, column and the nearest thing that is possible. No piece of the
    text goes further than into the names and literals of the returned value.
    """
    cursor = Cursor(tokenize(text))
    return _guarded(lambda: _Parser(cursor).query())


def parse_condition(text: str) -> Condition:
    """The condition that a text such as "education_num >= 13" states."""
    cursor = Cursor(tokenize(text))

    def whole() -> Condition:
        found = condition(cursor)
        cursor.end()
        return found

    return _guarded(whole)


def _guarded(work: Callable[[], Result]) -> Result:
    try:
        return work()
    except RecursionError:
        raise InvalidInput("query", expected="a simpler query", got="one nested too deep") from None


@final
class _Parser:
    """One pass over the tokens of a query."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor

    def query(self) -> Query:
        cursor = self.cursor
        cursor.word("SELECT", example="SELECT COUNT(*) WITHIN 20 FROM adult CONFIDENCE 0.95")
        bare: list[Token] = []
        items: list[tuple[Item, bool]] = []
        while True:
            self._item(bare, items)
            if not cursor.take_sign(","):
                break
        cursor.word("FROM", also=("WITHIN", "SIZE", "AS"))
        table = cursor.name("the name of a table")
        self._no_second_table()
        where = condition(cursor) if cursor.take_word("WHERE") else None
        groups = self._groups()
        tail = self._tail()
        cursor.take_sign(";")
        cursor.end(f"one of {', '.join(TAILS)}, or the end")
        self._grouped(bare, groups)
        if not items:
            place = bare[0].place if bare else "query"
            raise InvalidInput(
                place,
                expected="at least one aggregate",
                got="only columns",
                remedy="Rows themselves are private. Ask for COUNT(*), SUM, AVG or HISTOGRAM.",
            )
        query = Query(
            table=table.text,
            items=_named(items),
            where=where,
            group_by=tuple(Group(token.text) for token in groups),
            epsilon=tail.get("EPSILON"),
            confidence=tail.get("CONFIDENCE"),
            simultaneous="SIMULTANEOUS" in tail,
            rows_at_least=int(tail["ROWS_AT_LEAST"]) if "ROWS_AT_LEAST" in tail else None,
            rows_at_most=int(tail["ROWS_AT_MOST"]) if "ROWS_AT_MOST" in tail else None,
            sample=tail.get("SAMPLE"),
            groups_of=int(tail["GROUPS_OF"]) if "GROUPS_OF" in tail else None,
        )
        return query

    def _item(self, bare: list[Token], items: list[tuple[Item, bool]]) -> None:
        cursor = self.cursor
        token = cursor.peek()
        called = cursor.peek(1).text == "(" and cursor.peek(1).form is Form.SIGN
        if token.word == "DISTINCT" or (called and token.form is Form.WORD):
            items.append(self._aggregate_item())
            return
        if token.form is Form.SIGN and token.text == "*":
            raise InvalidInput(
                token.place,
                expected="an aggregate",
                got="*",
                remedy="Rows themselves are private. Ask for COUNT(*), SUM, AVG or HISTOGRAM.",
            )
        if token.word in FUNCTIONS and token.word not in ("FIRST", "LAST", "MODE", "RANK"):
            cursor.fail("an aggregate", remedy=FUNCTIONS[token.word])
        bare.append(cursor.name("an aggregate or a column of GROUP BY"))
        following = cursor.peek()
        if following.word in ("WITHIN", "SIZE"):
            cursor.fail("WITHIN after an aggregate", remedy="A public key has no error.")
        if following.word == "AS":
            cursor.fail("a column of GROUP BY under its own name", remedy="Only answers have AS.")

    def _aggregate_item(self) -> tuple[Item, bool]:
        cursor = self.cursor
        aggregate = self._aggregate()
        within: Fraction | None = None
        name: str | None = None
        while True:
            token = cursor.peek()
            if within is None and cursor.take_word("WITHIN"):
                within = self._positive("an error bound above 0")
            elif name is None and cursor.take_word("AS"):
                name = cursor.name("a name for the answer").text
            elif (
                isinstance(aggregate, Mean) and aggregate.size is None and cursor.take_word("SIZE")
            ):
                aggregate = replace(aggregate, size=self._whole("a public number of rows"))
            elif token.word == "SIZE":
                cursor.fail("SIZE after AVG", remedy="Only a mean is divided by a public size.")
            elif token.word in ("WITHIN", "AS"):
                cursor.fail(f"{token.word} once for each aggregate")
            else:
                break
        item = Item(aggregate, name or default_name(aggregate), within)
        return item, name is not None

    def _aggregate(self) -> Aggregate:
        cursor = self.cursor
        function = cursor.peek()
        if function.word not in AGGREGATES:
            remedy = FUNCTIONS.get(function.word) or did_you_mean(function.text, AGGREGATES)
            cursor.fail(f"an aggregate ({', '.join(AGGREGATES)})", remedy=remedy)
        cursor.take()
        cursor.sign("(")
        if function.word == "COUNT":
            return self._count()
        if cursor.peek().word == "DISTINCT":
            cursor.fail("a column", remedy="Only COUNT may have DISTINCT, of the unit's column.")
        column = cursor.name("a column").text
        found: Aggregate
        if function.word == "SUM":
            found = Sum(column)
        elif function.word == "HISTOGRAM":
            found = self._histogram(function, column)
        else:
            found = Mean(column)
        self._close()
        return found

    def _count(self) -> Aggregate:
        cursor = self.cursor
        found: Aggregate
        if cursor.take_sign("*"):
            found = Count()
        elif cursor.peek().word == "DISTINCT":
            cursor.take()
            found = CountDistinctUnits(cursor.name("the column that names the unit").text)
        else:
            found = Count(cursor.name("* or a column").text)
        self._close()
        return found

    def _histogram(self, function: Token, column: str) -> Aggregate:
        edges = []
        while self.cursor.take_sign(","):
            edges.append(self.cursor.number("an edge of a bin"))
        return _placed(function, lambda: Histogram(column, tuple(edges)))

    def _close(self) -> None:
        token = self.cursor.peek()
        if token.form is Form.SIGN and token.text == ",":
            # SUM(age, 0, 100): bounds are the owner's to declare
            self.cursor.fail(")", remedy=BOUNDS)
        self.cursor.sign(")")

    def _no_second_table(self) -> None:
        cursor = self.cursor
        token = cursor.peek()
        if token.form is Form.SIGN and token.text == ",":
            cursor.fail("one table", remedy="Joins are not there yet.")
        if token.form is Form.SIGN and token.text in (".", "("):
            cursor.fail("the name of a table alone")
        if token.word == "AS" or token.form is Form.QUOTED:
            cursor.fail("no second name for the table", remedy="Columns need no table before them.")

    def _groups(self) -> list[Token]:
        cursor = self.cursor
        groups: list[Token] = []
        if not cursor.take_word("GROUP"):
            return groups
        cursor.word("BY")
        while True:
            groups.append(cursor.name("a column to group by"))
            if not cursor.take_sign(","):
                return groups

    def _tail(self) -> dict[str, Fraction]:
        cursor = self.cursor
        found: dict[str, Fraction] = {}
        while cursor.peek().word in TAILS:
            token = cursor.take()
            if token.word in found:
                raise InvalidInput(token.place, expected=f"{token.word} once", got="another one")
            if token.word == "SIMULTANEOUS":
                found[token.word] = Fraction(1)
            elif token.word == "CONFIDENCE":
                found[token.word] = self._confidence()
            elif token.word == "EPSILON":
                found[token.word] = self._positive("an epsilon above 0")
            elif token.word == "SAMPLE":
                found[token.word] = self._sample()
            elif token.word == "GROUPS_OF":
                found[token.word] = Fraction(self._whole("a number of units, 1 or above"))
            else:
                found[token.word] = Fraction(self._whole("a number of rows, 1 or above"))
        return found

    def _confidence(self) -> Fraction:
        token = self.cursor.peek()
        number = self.cursor.number("a confidence such as 0.95")
        if self.cursor.take_sign("%"):
            number /= 100
        if not 0 < number < 1:
            remedy = "No finite noise is certain to stay within a bound: ask for 0.95 or 99 %."
            if 1 < number <= 100:
                remedy = f"Write {token.text} % or {float(number / 100)}."
            raise InvalidInput(
                token.place,
                expected="a confidence between 0 and 1, both left out",
                got=float(number),
                remedy=remedy,
            )
        return number

    def _sample(self) -> Fraction:
        token = self.cursor.peek()
        rate = self.cursor.number("a rate such as 1 %")
        if self.cursor.take_sign("%"):
            rate /= 100
        _placed(token, lambda: check_sample(rate))
        return rate

    def _positive(self, what: str) -> Fraction:
        token = self.cursor.peek()
        number = self.cursor.number(what)
        if not number > 0:
            raise InvalidInput(token.place, expected=what, got=float(number))
        return number

    def _whole(self, what: str) -> int:
        token = self.cursor.peek()
        number = self.cursor.number(what)
        if number.denominator != 1 or number < 1 or number >= 2**53:
            raise InvalidInput(token.place, expected=what, got=float(number))
        return int(number)

    def _grouped(self, bare: list[Token], groups: list[Token]) -> None:
        names = {token.text.casefold() for token in groups}
        for token in bare:
            if token.text.casefold() not in names:
                raise InvalidInput(
                    token.place,
                    expected="an aggregate or a column of GROUP BY",
                    got=token.shown,
                    remedy=did_you_mean(token.text, sorted(names))
                    or f"Add GROUP BY {token.shown}, or ask for COUNT({token.shown}).",
                )


def _named(items: list[tuple[Item, bool]]) -> tuple[Item, ...]:
    """Give default names that occur twice a number; names that were asked for stay as they are."""
    taken = {item.name for item, asked in items if asked}
    found = []
    for item, asked in items:
        name, count = item.name, 1
        while not asked and name in taken:
            count += 1
            name = f"{item.name}_{count}"
        taken.add(name)
        found.append(replace(item, name=name))
    return tuple(found)


def _placed(token: Token, build: Callable[[], Result]) -> Result:
    try:
        return build()
    except InvalidInput as error:
        _raise_at(token, error)


def _raise_at(token: Token, error: InvalidInput) -> NoReturn:
    raise InvalidInput(
        f"{token.place}, {error.argument}",
        expected=error.expected,
        got=error.got,
        remedy=error.remedy,
    ) from None
