"""`brdp budget`: what is left, and spends made by other tools."""

from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brdp.curator import Curator
    from brdp.ledger import BudgetStatus, Odometer

EXAMPLE_WITHIN = 20
FOR_PURE_BUDGETS = 1e-9


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "budget",
        help="show what is left of a budget, or record a spend made by another tool",
        usage="brdp budget [TABLE] [--odometer] [--json] [--config CONFIG]\n"
        "       brdp budget charge TABLE --epsilon E [--delta D] --note TEXT",
        description="Show what is left of a table's budget; with charge, record what another tool spent on the "
        "same data.",
    )
    parser.add_argument(
        "words", nargs="*", metavar="TABLE", help="the table (default: the only one of brdp.toml)"
    )
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
    with open_curator(args.config) as curator:
        table = args.words[-1] if args.words else only_table(curator)
        status = curator.budget(table)
        table = status.table  # as brdp.toml writes it
        if charging:
            if args.epsilon is None or not args.note:
                raise InvalidInput("charge", expected="--epsilon and --note", got="neither or one")
            status = curator.ledger.spend(
                table, epsilon=args.epsilon, delta=args.delta, note=args.note
            )
        words = in_words(curator, table)
        parts = curator.ledger.budgets(table)[1:]
        read = None
        if args.odometer:
            read = odometer(
                curator.ledger, table, delta=(status.filter.delta or FOR_PURE_BUDGETS) / 2
            )
        note = changed(curator, status)
    if args.json:
        shown = {} if read is None else {"odometer": asdict(read)}
        divided = {"parts": [part.to_dict() for part in parts]} if parts else {}
        print_json({**status.to_dict(), "left_in_words": words, **divided, **shown})
    else:
        print(text_of(status))
        if parts:
            print(parts_of(parts))
        print(words)
        if read is not None:
            print(text_of_odometer(read))
    if note:
        print(note, file=sys.stderr)
    return 0


def only_table(curator: Curator) -> str:
    """The table that is meant where none is named."""
    from brdp.errors import InvalidInput

    names = [table.name for table in curator.tables]
    if len(names) > 1:
        raise InvalidInput(
            "TABLE", expected=f"one of {', '.join(names)}", got="nothing", remedy="Name the table."
        )
    return names[0]


def text_of(status: BudgetStatus) -> str:
    """The budget as a few lines."""
    data = status.to_dict()
    lines = [f"{data['table']}: {data['filter']} filter"]
    lines += [
        f"  {name:8}{data[name]['left']:.6g} left of {data[name]['total']:g} "
        f"({data[name]['spent']:.3g} spent)"
        for name in ("epsilon", "delta")
    ]
    return "\n".join(lines)


def parts_of(parts: Sequence[BudgetStatus]) -> str:
    """What analysts and periods have of it, as a table."""
    from brdp.cli.output import columns

    rows = [
        [
            "  " + " ".join(part.name_parts).removeprefix("analyst "),
            *(
                f"{left['left']:.4g} of {left['total']:g}"
                for left in (part.to_dict()[name] for name in ("epsilon", "delta"))
            ),
        ]
        for part in parts
    ]
    return columns(["  of which", "epsilon left", "delta left"], rows)


def text_of_odometer(read: Odometer) -> str:
    """The odometer, and what it is not."""
    return (
        f"information, no guarantee: the {read.releases:,} noises charged compose to epsilon "
        f"{read.epsilon[1]:.6g}\nat delta {read.delta:.3g}, had all been fixed beforehand"
    )


def changed(curator: Curator, status: BudgetStatus) -> str:
    """A word to the owner whose brdp.toml says another budget than the one that binds; else nothing."""
    from brdp.curator.curator import filter_for

    (table,) = (table for table in curator.tables if table.name == status.table)
    if table.budget is None or filter_for(table) == status.filter:
        return ""
    said = filter_for(table)
    return (
        f"note: brdp.toml says epsilon {said.epsilon:g}, delta {said.delta:g} and a {said.to_dict()['filter']} "
        f"filter for {table.budget.queries:,} questions.\n"
        "A budget is fixed when it is created: the ledger's, shown here, is the one that binds."
    )


def in_words(curator: Curator, table: str) -> str:
    """What is left in questions that people ask."""
    from brdp.data import EngineFailed
    from brdp.query import table as about

    try:
        price = curator.price(about(table).count(within=EXAMPLE_WITHIN))
    except EngineFailed as failure:  # what is left is in the ledger, wherever the table is
        return f"in counts that is not known: {failure.engine} says {failure.kind}"
    many = f"about {price.remaining_queries:,}" if price.remaining_queries else "no"
    counts = "count" if price.remaining_queries == 1 else "counts"
    words = f"{many} more {counts} within ±{EXAMPLE_WITHIN} at 95 %"
    if price.remaining_queries or price.nearest is None:
        return words
    (bound,) = price.nearest.within.values()
    return f"{words}; the nearest that fits is one within ±{math.ceil(bound):,}"
