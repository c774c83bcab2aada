"""10,000 malformed or hostile texts: one clear refusal each, none slow."""

from __future__ import annotations

import random
import time

import pytest

pytest.importorskip("sqlglot")

from brdp.errors import InvalidInput
from brdp.query import Query, parse, to_text
from brdp.query.tokens import tokenize

TEXTS = 10_000
SLOWEST = 2.0
SEEDS = [
    "SELECT sex, COUNT(*) AS n WITHIN 20, AVG(age) WITHIN 0.5 FROM adult WHERE education_num >= 13 "
    "GROUP BY sex CONFIDENCE 0.95",
    "SELECT COUNT(DISTINCT user) WITHIN 3 FROM visits WHERE day BETWEEN '2020-01-01' AND '2020-02-01' "
    "AND (place IN ('a', 'b') OR NOT kind IS NULL) EPSILON 0.5 SIMULTANEOUS",
    'SELECT HISTOGRAM(age, 0, 10, 20.5, 1e2) WITHIN 2, SUM("odd name") WITHIN 1e3 FROM t ROWS_AT_LEAST 100;',
]
FRAGMENTS = [
    "'; DROP TABLE adult; --",
    "UNION SELECT * FROM secrets",
    "OR 1=1",
    "/*",
    "*/",
    "--",
    "'",
    '"',
    "`",
    "\\",
    "$$",
    "(SELECT 1)",
    "((((((((",
    "))))",
    "CASE WHEN",
    "JOIN b ON",
    "LIMIT 1",
    "ORDER BY",
    "OVER (",
    "::int",
    "CAST(a AS INT)",
    "read_csv('/etc/passwd')",
    "COPY t TO 'x'",
    "ATTACH 'x'",
    "PRAGMA x",
    "INSTALL httpfs",
    "{{ x }}",
    "{% x %}",
    "\x00",
    "\ud800",
    "\u202e",
    "\U0001f600",
    "1e999999999",
    "0x41",
    "1_000",
    "-" * 50,
    "," * 50,
    "NOT " * 50,
    "a.b.c",
    "?",
    ":x",
    "@x",
    "%s",
    "#",
    "[1]",
    "E'\\n'",
    "N'x'",
    "x'00'",
    "WITHIN",
    "CONFIDENCE 2",
    "EPSILON -1",
    "SAMPLE 1 %",
    "NULL",
    "MEDIAN(age)",
    "COUNT(*) FILTER (WHERE a)",
    "GROUPING SETS",
    "LATERAL",
    "WITH RECURSIVE",
    "!",
    "~",
    "||",
    "<=>",
    "\n\n",
    "9" * 500,
    "x" * 300,
    "EXPLAIN",
    "VALUES (1)",
    "1.2.3",
    "..",
    "SHOW TABLES",
    "BEGIN",
    "COMMENT ON",
]


def mutated(rng: random.Random) -> str:
    """A valid query with a few of its tokens deleted, doubled, exchanged or hostile ones put in."""
    words = rng.choice(SEEDS).split(" ")
    for _ in range(rng.choice([1, 1, 2, 3, 8])):
        at = rng.randrange(len(words))
        kind = rng.randrange(6)
        if kind == 0 and len(words) > 1:
            del words[at]
        elif kind == 1:
            words.insert(at, words[at])
        elif kind == 2:
            other = rng.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        elif kind == 3:
            words.insert(at, rng.choice(FRAGMENTS))
        elif kind == 4:
            words[at] = rng.choice(FRAGMENTS)
        else:
            word = words[at]
            cut = rng.randrange(len(word) + 1)
            words[at] = (
                word[:cut]
                + chr(rng.choice([rng.randrange(1, 128), rng.randrange(1, 0x3000)]))
                + word[cut:]
            )
    return " ".join(words)


def noise(rng: random.Random) -> str:
    """Characters or fragments at random."""
    if rng.random() < 0.5:
        return "".join(chr(rng.randrange(1, 128)) for _ in range(rng.randrange(200)))
    pieces = [
        *FRAGMENTS,
        "SELECT",
        "FROM",
        "t",
        "COUNT(*)",
        "WHERE",
        "a",
        "=",
        "1",
        "GROUP BY",
        ",",
    ]
    return " ".join(rng.choice(pieces) for _ in range(rng.randrange(1, 40)))


def monsters() -> list[str]:
    """Texts at the limits, made to keep a parser busy."""
    head = "SELECT COUNT(*) WITHIN 1 FROM t WHERE "
    return [
        "(" * 99_999,
        head + "(" * 90_000 + "a = 1",
        head + "NOT " * 24_000 + "a",
        head + "a = 1 AND " * 8_000,
        head + "a = 1 OR (" * 9_000,
        head + "a IN (" + "1, " * 12_000,
        head + "a BETWEEN " * 5_000,
        "SELECT " + "COUNT(*), " * 4_000,
        "SELECT " + "a" * 90_000,
        "SELECT " + "1" * 90_000,
        "SELECT " + "'" * 90_001,
        "SELECT " + '"' * 90_001,
        "/*" * 49_999,
        "--" * 49_999,
        "\n" * 99_999,
        "SELECT " + "CASE WHEN f((" * 5_000,
        "SELECT f(" + "x -> " * 10_000,
        "$" * 99_999,
        "{{" * 49_999,
        "SELECT " + "\U0001f600 " * 20_000,
        head + "a = " + "-" * 90_000 + "1",
        "SELECT HISTOGRAM(a" + ", 1" * 20_000 + ") FROM t",
        ("SELECT COUNT(*) WITHIN 1 FROM t; " * 3_000),
    ]


def outcome(text: str) -> Query | InvalidInput:
    """What a text comes to; anything but a query or a refusal fails."""
    started = time.process_time()
    try:
        return parse(text)
    except InvalidInput as refusal:
        return refusal
    finally:
        assert time.process_time() - started < SLOWEST


def refused(text: str) -> bool:
    """True for one clear refusal, False for a query after all."""
    found = outcome(text)
    if isinstance(found, Query):
        # a mutation may be harmless; then what was read must be what would be written
        assert parse(to_text(found)) == found
        return False
    message = str(found)
    assert found.expected
    assert found.argument
    assert "\n" not in message
    assert len(message) < 800
    return True


def test_ten_thousand_texts():
    rng = random.Random(20261118)
    found = tried = 0
    while found < TEXTS:
        tried += 1
        assert tried < 2 * TEXTS
        found += refused(mutated(rng) if rng.random() < 0.7 else noise(rng))
    assert tried > TEXTS  # some mutations are still queries: the test can tell


def test_monsters():
    for text in monsters():
        assert refused(text)


def test_places_are_right():
    text = "SELECT  sex,\n\tCOUNT(*)\r\nFROM \"a b\"  WHERE x = 'it''s'"
    lines = text.replace("\r\n", "\n").split("\n")
    for token in tokenize(text)[:-1]:
        rest = lines[token.line - 1][token.column - 1 :]
        assert rest.startswith((token.text, '"' + token.text, "'it"))
