"""`brdp ledger`: export what was charged, or check every line of it."""

from __future__ import annotations

import argparse
import sys
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "ledger",
        help="export or verify the ledger",
        description="`brdp ledger verify` goes through every line, hash and sum. `brdp ledger export` prints "
        "every entry as JSON lines, or with --events the charges as events of dp-accounting.",
    )
    parser.add_argument("action", choices=("export", "verify"))
    parser.add_argument(
        "--config", default="brdp.toml", help="the owner's file (default: brdp.toml)"
    )
    parser.add_argument("--events", action="store_true", help="with export: dp-accounting events")
    parser.add_argument(
        "--holds",
        metavar="HASH",
        help="with verify: a last hash that was noted earlier, which some line must still have",
    )
    parser.add_argument("--json", action="store_true", help="with verify: print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Export or verify."""
    import json

    from brdp.catalog import load_catalog
    from brdp.cli.output import Percent, print_json
    from brdp.ledger import dp_events, json_lines, open_ledger, verify

    with open_ledger(load_catalog(args.config).ledger, create=False) as ledger:
        if args.action == "export":
            lines = map(json.dumps, dp_events(ledger)) if args.events else json_lines(ledger)
            for line in lines:
                print(line)
            return 0
        shown = Percent("verify", "lines") if sys.stderr.isatty() else None
        found = verify(ledger, holds=args.holds, progress=shown)
    facts = {
        "entries": found.entries,
        "charges": found.charges,
        "answers": found.answers,
        "hash": found.hash,
    }
    if args.json:
        print_json({"whole": True, **facts})
    else:
        print(
            f"the ledger is whole (entries: {found.entries:,}, charges: {found.charges:,}, answers: "
            f"{found.answers:,})\nlast hash {found.hash}\n"
            "Keep the hash elsewhere: verify --holds HASH shows later what was cut off."
        )
    return 0
