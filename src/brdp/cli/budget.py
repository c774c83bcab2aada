"""`brdp budget`: what is left, and spends made by other tools."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brdp.curator import Curator
    from brdp.ledger import BudgetStatus

EXAMPLE_WITHIN = 20
FOR_PURE_BUDGETS = 1e-9


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "budget",
        help="show what is left of a budget, or record a spend made by another tool",
        description="`brdp budget TABLE` shows what is left. `brdp budget charge TABLE --epsilon E --delta D "
        "--note TEXT` records what another tool spent on the same data.",
    )
    parser.add_argument("words", nargs="+", metavar="[charge] TABLE", help="the table")
    parser.add_argument(
        "--config", default="brdp.toml", help="the owner's file (default: brdp.toml)"
    )
    parser.add_argument("--epsilon", type=float, help="with charge: the epsilon that was spent")
    parser.add_argument(
        "--delta", type=float, default=0.0, help="with charge: the delta (default: 0)"
    )
    parser.add_argument("--note", help="with charge: what it was spent for")
    parser.add_argument(
        "--odometer",
        action="store_true",
        help="also show what was released, composed tightly: information, not a guarantee",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Show or charge."""
    from dataclasses import asdict

    from brdp.cli.output import print_json
    from brdp.curator import open_curator
    from brdp.errors import InvalidInput
    from brdp.ledger import odometer

    charging = len(args.words) == 2 and args.words[0] == "charge"
    if len(args.words) > 1 and not charging:
        raise InvalidInput("budget", expected="TABLE, or: charge TABLE", got=" ".join(args.words))
    table = args.words[-1]
    with open_curator(args.config) as curator:
        status = curator.budget(table)
        if charging:
            if args.epsilon is None or not args.note:
                raise InvalidInput("charge", expected="--epsilon and --note", got="neither or one")
            status = curator.ledger.spend(
                table, epsilon=args.epsilon, delta=args.delta, note=args.note
            )
        words = in_words(curator, table)
        read = None
        if args.odometer:
            read = odometer(
                curator.ledger, table, delta=(status.filter.delta or FOR_PURE_BUDGETS) / 2
            )
    if args.json:
        shown = {} if read is None else {"odometer": asdict(read)}
        print_json({**status.to_dict(), "left_in_words": words, **shown})
    else:
        print(text_of(status))
        print(words)
        if read is not None:
            print(
                f"information only: {read.releases:,} releases compose to epsilon "
                f"{read.epsilon[1]:.6g} at delta {read.delta:.3g}, had they been fixed beforehand"
            )
    return 0


def text_of(status: BudgetStatus) -> str:
    """The budget as a few lines."""
    data = status.to_dict()
    lines = [f"{data['table']}: {data['filter']} filter"]
    lines += [
        f"  {name:8}{data[name]['left']:.6g} left of {data[name]['total']:g} "
        f"({data[name]['spent']:.6g} spent)"
        for name in ("epsilon", "delta")
    ]
    return "\n".join(lines)


def in_words(curator: Curator, table: str) -> str:
    """What is left in questions that people ask."""
    from brdp.query import table as about

    price = curator.price(about(table).count(within=EXAMPLE_WITHIN))
    many = f"about {price.remaining_queries:,}" if price.remaining_queries else "no"
    return f"{many} more counts within ±{EXAMPLE_WITHIN} at 95 %"
