"""A place in a list of tokens, and the refusals that name it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import NoReturn, final

from brdp.catalog.exact import exact
from brdp.catalog.nearest import did_you_mean
from brdp.errors import InvalidInput
from brdp.query.limits import DEEPEST_BRACKETS, LONGEST_NUMBER
from brdp.query.refusals import hint
from brdp.query.tokens import Form, Token

# words that end a name where SQL would; a column called so is written in double quotes
RESERVED = frozenset(
    [
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP",
        "BY",
        "AND",
        "OR",
        "NOT",
        "IN",
        "IS",
        "NULL",
        "BETWEEN",
        "AS",
        "DISTINCT",
        "TRUE",
        "FALSE",
        "HAVING",
        "ORDER",
        "LIMIT",
        "UNION",
        "JOIN",
        "ON",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "LIKE",
        "OVER",
        "WITHIN",
        "CONFIDENCE",
        "EPSILON",
        "SIMULTANEOUS",
        "SAMPLE",
        "ROWS_AT_LEAST",
        "ROWS_AT_MOST",
        "GROUPS_OF",
    ]
)


@final
class Cursor:
    """Tokens taken one by one."""

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def peek(self, ahead: int = 0) -> Token:
        """The next token, or one further on."""
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def take(self) -> Token:
        """The next token, gone past."""
        token = self.peek()
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def take_word(self, word: str) -> bool:
        """Go past a word if it is the next."""
        if self.peek().word != word:
            return False
        self.take()
        return True

    def take_sign(self, *signs: str) -> str | None:
        """Go past one of some signs if it is the next."""
        token = self.peek()
        if token.form is not Form.SIGN or token.text not in signs:
            return None
        return self.take().text

    def word(self, word: str, *, example: str = "", also: tuple[str, ...] = ()) -> None:
        """Go past a word that must be the next."""
        if not self.take_word(word):
            known = hint(self.peek().word, self._sign())
            alike = did_you_mean(self.peek().text, [word, *also]) if self.peek().word else ""
            self.fail(word, remedy=known or alike or (f"For example: {example}" if example else ""))

    def sign(self, sign: str) -> None:
        """Go past a sign that must be the next."""
        if not self.take_sign(sign):
            self.fail(repr(sign))

    def name(self, what: str) -> Token:
        """A name that must be the next."""
        token = self.peek()
        if token.form is Form.QUOTED or (token.form is Form.WORD and token.word not in RESERVED):
            return self.take()
        remedy = ""
        if token.form is Form.STRING:
            remedy = "Single quotes are for text; a name stands bare or in double quotes."
        self.fail(what, remedy=remedy)

    def number(self, what: str) -> Fraction:
        """A number with an optional sign that must be the next."""
        negative = self.take_sign("-", "+") == "-"
        token = self.peek()
        if token.form is not Form.NUMBER:
            self.fail(what)
        if len(token.text) > LONGEST_NUMBER:
            self.fail(f"a number of at most {LONGEST_NUMBER} digits")
        mantissa, _, exponent = token.text.lower().partition("e")
        if len(exponent) > 5:
            self.fail("a number of a usual size")
        value = exact(
            Decimal(f"{mantissa}e{exponent or 0}"),
            argument=token.place,
            expected="a number of a usual size",
        )
        self.take()
        return -value if negative else value

    def open(self) -> bool:
        """Go past an opening bracket if it is the next; brackets may only be so deep."""
        if not self.take_sign("("):
            return False
        self._depth += 1
        if self._depth > DEEPEST_BRACKETS:
            self.fail(f"brackets at most {DEEPEST_BRACKETS} deep")
        return True

    def close(self) -> None:
        """Go past the closing bracket that must be the next."""
        self.sign(")")
        self._depth -= 1

    def deeper(self) -> None:
        """Count one more level of nesting that has no brackets."""
        self._depth += 1
        if self._depth > DEEPEST_BRACKETS:
            self.fail(f"conditions nested at most {DEEPEST_BRACKETS} deep")

    def shallower(self) -> None:
        """One level less."""
        self._depth -= 1

    def end(self, what: str = "the end") -> None:
        """Refuse anything that is left."""
        if self.peek().form is not Form.END:
            remedy = hint(self.peek().word, self._sign())
            if not remedy and len(self.peek().word) > 2:  # to a letter or two everything is near
                remedy = did_you_mean(
                    self.peek().text,
                    ["WHERE", "GROUP BY", "CONFIDENCE", "EPSILON", "SIMULTANEOUS",
                     "ROWS_AT_LEAST", "ROWS_AT_MOST", "SAMPLE", "GROUPS_OF", "AND", "OR"],
                )  # fmt: skip
            self.fail(what, remedy=remedy)

    def fail(self, expected: str, *, remedy: str = "") -> NoReturn:
        """Refuse the next token."""
        token = self.peek()
        raise InvalidInput(
            token.place,
            expected=expected,
            got=token.shown,
            remedy=remedy or hint(token.word, self._sign()),
        )

    def _sign(self) -> str:
        return self.peek().text if self.peek().form is Form.SIGN else ""
