"""`brdp register`: the owner's check of tables against their declarations, before anybody asks."""

from __future__ import annotations

import argparse
import sys
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "register",
        help="check tables against brdp.toml and create their budgets",
        description="For the owner: check that tables have the columns that brdp.toml declares and that every row "
        "names its unit, and create their budgets, which are fixed from then on. Reads the unit's column.",
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="which (default: all)")
    parser.add_argument(
        "--config", default="brdp.toml", help="the owner's file (default: brdp.toml)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check, create, and show the budgets."""
    from brdp.cli.budget import text_of
    from brdp.cli.output import print_json
    from brdp.cli.waiting import waiting
    from brdp.curator import open_curator

    with open_curator(args.config) as curator:
        names = args.tables or [table.name for table in curator.tables]
        with waiting(sys.stderr, "reading"):
            budgets = [curator.register(name) for name in names]
    if args.json:
        print_json({"tables": [budget.to_dict() for budget in budgets]})
    else:
        print("\n".join(map(text_of, budgets)))
    return 0
