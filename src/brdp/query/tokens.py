"""The words of a query text, with their places. sqlglot's tokenizer finds them; nothing of it
leaves this file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import final

from brdp import _extras
from brdp.errors import InvalidInput
from brdp.query.limits import LONGEST_NAME, LONGEST_TEXT, MOST_TOKENS

WORD = re.compile(r"[^\W\d]\w*\Z")
LINE_END = re.compile(r"\r\n?|\n")
NUMBER = re.compile(r"(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)


@final
class Form(Enum):
    """What a token is."""

    WORD = "a word"
    QUOTED = "a name in double quotes"
    STRING = "text in quotes"
    NUMBER = "a number"
    SIGN = "a sign"
    END = "the end of the query"


@final
@dataclass(frozen=True)
class Token:
    """One word, number, text or sign, and where it stands."""

    form: Form
    text: str
    line: int
    column: int

    @property
    def word(self) -> str:
        """A word in capitals, for comparison with the words of the language; empty for other
        tokens.
        """
        return self.text.upper() if self.form is Form.WORD else ""

    @property
    def shown(self) -> str:
        """How errors quote it."""
        if self.form is Form.END:
            return "the end"
        return self.text if len(self.text) <= 40 else self.text[:37] + "..."

    @property
    def place(self) -> str:
        """Where it stands, as errors say it."""
        return f"query, line {self.line}, column {self.column}"


def tokenize(text: object) -> tuple[Token, ...]:
    """The tokens of a query text, ended by one of form END.

    Comments are skipped. The work is linear in the length of the text, which is limited.
    """
    if not isinstance(text, str):
        raise InvalidInput("query", expected="a text", got=type(text).__name__)
    if len(text) > LONGEST_TEXT:
        raise InvalidInput(
            "query", expected=f"at most {LONGEST_TEXT:,} characters", got=f"{len(text):,}"
        )
    if not text.strip():
        raise InvalidInput(
            "query",
            expected="a query",
            got="an empty text",
            remedy="For example: SELECT COUNT(*) WITHIN 20 FROM adult CONFIDENCE 0.95",
        )
    for index, letter in enumerate(text):
        if (ord(letter) < 32 and letter not in "\t\r\n") or 0xD800 <= ord(letter) < 0xE000:
            raise InvalidInput(
                _place(text, index), expected="printable text", got=f"character {ord(letter)}"
            )
    sqlglot = _extras.require("sqlglot", extra="query")
    try:
        raw = sqlglot.tokenize(text)
    except sqlglot.errors.TokenError:
        raise InvalidInput(
            "query",
            expected="text, names and comments that end",
            got="one that does not",
            remedy="Look for a quote or comment that is opened and never closed.",
        ) from None
    except RecursionError:
        raise InvalidInput("query", expected="a shorter query", got="too deep a text") from None
    if len(raw) > MOST_TOKENS:
        raise InvalidInput(
            "query", expected=f"at most {MOST_TOKENS:,} words and signs", got=f"{len(raw):,}"
        )
    starts = [0, *(found.end() for found in LINE_END.finditer(text))]
    pieces = _with_leading_dots(
        [piece for token in raw for piece in _pieces(text, token.text, token.start, token.end)]
    )
    found: list[Token] = []
    end_of_number = -1
    for form, part, start in pieces:
        line, column = _line_and_column(starts, start)
        if start == end_of_number and form in (Form.WORD, Form.NUMBER):
            # 1_000, 0x1F and 1.5.2 are several tokens to sqlglot
            raise InvalidInput(
                found[-1].place,
                expected="a number such as 20, 0.5 or 1e3",
                got=(found[-1].text + part)[:40],
            )
        found.append(_checked(Token(form, part, line, column)))
        end_of_number = start + len(part) if form is Form.NUMBER else -1
    line, column = _line_and_column(starts, len(text.rstrip()))
    found.append(Token(Form.END, "", line, column))
    return tuple(found)


def _pieces(text: str, value: str, start: int, end: int) -> Iterator[tuple[Form, str, int]]:
    """What one of sqlglot's tokens is to us, judged by the text itself and not by sqlglot's
    keywords.
    """
    written = text[start : end + 1]
    if written.startswith("'"):
        yield Form.STRING, value, start
    elif written.startswith('"'):
        yield Form.QUOTED, value, start
    elif NUMBER.match(written):
        yield Form.NUMBER, written, start
    elif all(WORD.match(part) for part in written.split()):
        # GROUP BY is one token to sqlglot and two words to us
        for match in re.finditer(r"\S+", written):
            yield Form.WORD, match.group(), start + match.start()
    else:
        yield Form.SIGN, written, start


def _with_leading_dots(pieces: list[tuple[Form, str, int]]) -> list[tuple[Form, str, int]]:
    """Join the dot and the digits of .5, which sqlglot keeps apart."""
    joined: list[tuple[Form, str, int]] = []
    for form, part, start in pieces:
        if joined and form is Form.NUMBER and "." not in part:
            before, dot, at = joined[-1]
            alone = len(joined) < 2 or joined[-2][2] + len(joined[-2][1]) != at
            if before is Form.SIGN and dot == "." and at + 1 == start and alone:
                joined[-1] = (Form.NUMBER, "." + part, at)
                continue
        joined.append((form, part, start))
    return joined


def _checked(token: Token) -> Token:
    if token.form in (Form.WORD, Form.QUOTED) and not 1 <= len(token.text) <= LONGEST_NAME:
        raise InvalidInput(
            token.place,
            expected=f"a name of 1 to {LONGEST_NAME} characters",
            got=f"{len(token.text)} characters",
        )
    return token


def _line_and_column(starts: list[int], index: int) -> tuple[int, int]:
    line = bisect_right(starts, index)
    return line, index - starts[line - 1] + 1


def _place(text: str, index: int) -> str:
    line = text.count("\n", 0, index) + 1
    return f"query, line {line}, column {index - text.rfind(chr(10), 0, index)}"
