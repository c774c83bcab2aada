"""A first brdp.toml for a table, written from its schema alone: no value is looked at, so nothing
in it is private.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from brdp.catalog.load import CSV_ENDINGS, PARQUET_ENDINGS
from brdp.catalog.schema import Kind, Schema, read_schema
from brdp.catalog.source import CSVSource, ParquetSource, Source
from brdp.errors import InvalidInput

HINTS = {
    Kind.INTEGER: "clip = [0, 100]  # the range that values are held to\n# integer = true",
    Kind.REAL: "clip = [0.0, 1.0]  # the range that values are held to",
    Kind.TEXT: 'categories = ["...", "..."]  # every group, as a public list\n'
    "# clip = [0, 100]  # or, where the text is numbers, their range (add: integer = true)",
    Kind.BOOLEAN: "categories = [true, false]  # every group, as a public list",
}
PEOPLE = (
    "user",
    "person",
    "customer",
    "patient",
    "client",
    "member",
    "employee",
    "student",
    "household",
    "device",
)


def init_text(
    path: str | Path,
    *,
    name: str | None = None,
    queries: int = 100,
    moves: int = 1,
    folder: str | Path = ".",
) -> str:
    """The commented text of a first brdp.toml for a Parquet or CSV file (or glob), to be kept in `folder`. Reads
    names and types of columns only. The filter is the best for so many questions of which a unit moves so many
    numbers each.
    """
    text = str(path)
    lowered = text.lower()
    source: Source
    if lowered.endswith(PARQUET_ENDINGS):
        source = ParquetSource((text,))
    elif lowered.endswith(CSV_ENDINGS):
        source = CSVSource((text,), delimiter="\t" if ".tsv" in lowered else ",")
    else:
        raise InvalidInput(
            "path",
            expected="a path or glob that ends in .parquet or .csv",
            got=text,
            remedy="Give one file, or a glob such as 'data/*.parquet'.",
        )
    schema = read_schema(source)
    table = name or _table_name(text)
    if not Path(text).is_absolute():  # paths in a brdp.toml start from its own folder
        text = Path(os.path.relpath(text, folder)).as_posix()
    return "\n".join([*_head(table, text, schema, queries, moves), *_columns(table, schema)]) + "\n"


def _rule(queries: int, moves: int) -> str:
    from brdp.privacy.filters.recommend import recommended

    return str(
        recommended(epsilon=1.0, delta=1e-6, queries=queries, moves=moves).to_dict()["filter"]
    )


def _table_name(path: str) -> str:
    stem = Path(path).name.split(".")[0]
    cleaned = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter == "_") else "_"
        for letter in stem
    ).strip("_")
    return cleaned or "data"


def _quoted(text: str) -> str:
    # a JSON string is a TOML basic string, save for DEL
    return json.dumps(text, ensure_ascii=True).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _quoted(name)


def _head(table: str, path: str, schema: Schema, queries: int, moves: int) -> list[str]:
    people, others = _likely_units(schema)
    suggested = _quoted((*people, *others, "user_id")[0])
    key = _key(table)
    # where a column seems to name people, the safer of the two is the one to begin with
    column, row = f"unit = {{ column = {suggested} }}", 'unit = "row"'
    units = [
        f"{column if people else row}",
        f"# {row if people else column}",
        f"{'' if people else '# '}rows_per_unit = 5".ljust(25)
        + "# a query uses at most so many rows of a unit; fewer means less noise",
    ]
    return [
        "# What may be asked of this table, whom it protects and how much may ever be spent.",
        "# Everything in this file is public to analysts: write what you know, not what you find in the data.",
        "",
        f"[tables.{key}]",
        f"source = {_quoted(path)}",
        'version = "1"            # change it whenever the data change: stored answers belong to a version',
        "",
        "# Whom privacy protects: every row by itself, or all rows that share the value of a column.",
        *units,
        "# groups_per_unit = 3    # ... in at most so many groups",
        '# row_key = ["event_id"] # names a row within its unit, so that every engine keeps the same rows',
        "",
        '# relation = "replace"   # by default "add_remove": one unit more or less can hardly be told',
        "# rows_at_least = 1000   # a public lower bound on the rows of every group, for the bound of means",
        "",
        f"[tables.{key}.budget]",
        "epsilon = 1.0            # all queries ever asked share this; it cannot be earned back",
        "delta = 1e-6             # well below 1 / (number of units)",
        f'filter = "{_rule(queries, moves)}"'.ljust(25)
        + f"# how charges add up: best for about {queries} questions; sum suits few, renyi many",
        f"queries = {queries}".ljust(25) + "# about how many questions it is for",
    ]


def _likely_units(schema: Schema) -> tuple[list[str], list[str]]:
    """Columns whose names say that they name people, and others that name something."""
    naming = [
        column
        for column, kind in schema.items()
        if kind in (Kind.INTEGER, Kind.TEXT)
        and (column.lower() in {"id", "uid", *PEOPLE} or column.lower().endswith(("_id", "userid")))
    ]
    people = [column for column in naming if any(word in column.lower() for word in PEOPLE)]
    return people, [column for column in naming if column not in people]


def _columns(table: str, schema: Schema) -> list[str]:
    lines = [
        "",
        "# A sum or mean needs a clip range, a GROUP BY needs categories, a histogram needs bins (bins = [0, 10, 20]).",
        "# Uncomment what may be used.",
    ]
    for column, kind in schema.items():
        lines.append("")
        if kind not in HINTS:
            lines.append(
                f"# {_quoted(column)} holds {kind.value}: it can be used in WHERE and in COUNT."
            )
            continue
        lines.append(f"# [tables.{_key(table)}.columns.{_key(column)}]")
        lines.append(f"# {HINTS[kind]}")
    return lines
