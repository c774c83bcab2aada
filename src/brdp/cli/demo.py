"""`brdp demo`: three questions to the bundled Adult table, with their prices, answers and what is left."""

from __future__ import annotations

import argparse
from typing import Any

QUESTIONS = (
    "SELECT sex, COUNT(*) AS people WITHIN 20 FROM adult WHERE education_num >= 13 GROUP BY sex CONFIDENCE 0.95",
    "SELECT SUM(hours_per_week) AS hours WITHIN 2000 FROM adult WHERE age >= 60 CONFIDENCE 0.95",
    "SELECT sex, AVG(age) AS mean_age WITHIN 0.5 FROM adult GROUP BY sex CONFIDENCE 0.95",
)
NEXT = "SELECT COUNT(*) WITHIN 30 FROM adult WHERE age < 25"
CONFIG = """\
# Written by `brdp demo`: the UCI Adult census table, every row a person of their own.
[tables.adult]
source = {source}
version = "1"
unit = "row"
rows_at_least = 10000    # known from the table's description, not from its rows

[tables.adult.budget]
epsilon = 3.0            # all questions ever asked share this
delta = 1e-6

[tables.adult.columns.sex]
categories = ["Female", "Male"]

[tables.adult.columns.age]
clip = [17, 90]
integer = true
bins = [17, 25, 35, 45, 55, 65, 90]

[tables.adult.columns.hours_per_week]
clip = [1, 99]
integer = true

[tables.adult.columns.education_num]
clip = [1, 16]
integer = true
"""


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "demo",
        help="ask three questions of the bundled Adult table",
        description="Ask three questions of the bundled Adult census table, with prices and answers. Leaves "
        "a brdp.toml and a ledger in this folder, which `brdp query` and `brdp budget` go on with.",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write brdp.toml where there is none, ask, and show."""
    import json
    import sys
    from pathlib import Path

    from brdp import datasets
    from brdp.catalog import load_catalog
    from brdp.cli.budget import in_words, text_of
    from brdp.cli.show import show
    from brdp.curator import open_curator
    from brdp.errors import InvalidInput

    config = Path("brdp.toml")
    if not config.exists():
        source = json.dumps(str(datasets.adult_path()))
        config.write_text(CONFIG.format(source=source), encoding="utf-8")
        print(f"wrote {config}\n")
    elif all(table.name != "adult" for table in load_catalog(config).tables):
        raise InvalidInput(
            "brdp.toml",
            expected="no brdp.toml in this folder, or one with the adult table",
            got="another one",
            remedy="Run the demo in an empty folder.",
        )
    with open_curator(config) as curator:
        for text in QUESTIONS:
            print(f"> {text}")
            price = curator.price(text)
            print(f"price: {price}\n", flush=True)
            show(curator.ask(text), sys.stdout)
            print()
        print(text_of(curator.budget("adult")))
        print(in_words(curator, "adult"))
    name = command_name()
    print(f'\nGo on with: {name} query "{NEXT}"')
    print(f"       and: {name} budget adult")
    return 0


def command_name() -> str:
    """What to type for this program: its path, where a shell would not find it by its name."""
    import shutil
    import sys

    return "brdp" if shutil.which("brdp") or "brdp" not in sys.argv[0] else sys.argv[0]
