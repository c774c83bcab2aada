"""`brdp query`: ask a question with an error bound, or only its price."""

from __future__ import annotations

import argparse
import sys
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "query",
        help="ask a question with an error bound",
        description="Ask in SQL: SELECT sex, COUNT(*) AS n WITHIN 20 FROM adult GROUP BY sex CONFIDENCE 0.95. "
        "The charge is recorded before data are read; the same question again is free.",
    )
    parser.add_argument("sql", help="the question")
    parser.add_argument(
        "--config", default="brdp.toml", help="the owner's file (default: brdp.toml)"
    )
    parser.add_argument("--analyst", default="analyst", help="who asks")
    parser.add_argument(
        "--price", action="store_true", help="say what it would cost; reads no data, spends nothing"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask, and print the answer or the price."""
    from brdp.cli.output import print_json
    from brdp.cli.show import show
    from brdp.cli.waiting import waiting
    from brdp.curator import open_curator

    with open_curator(args.config) as curator:
        if args.price:
            with waiting(sys.stderr, "planning"):
                price = curator.price(args.sql, analyst=args.analyst)
            if args.json:
                print_json(price.to_dict())
            else:
                print(price)
            return 0
        with waiting(sys.stderr, "planning and reading"):
            answer = curator.ask(args.sql, analyst=args.analyst)
    if args.json:
        print_json(answer.to_dict())
    else:
        show(answer, sys.stdout)
    return 0
