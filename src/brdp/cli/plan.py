"""`brdp plan`: the best noise for a stated error bound."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brdp.planning import Alternative, Plan

# Digits beyond the usual that the table takes to tell the plan from what it was chosen over.
MOST_DIGITS_MORE = 3


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "plan",
        help="find the best noise for an error bound",
        description="Find the noise that is within a bound as often as a budget allows (--epsilon), or "
        "at least as often as you ask, as cheaply as it can be (--confidence). Reads no data.",
    )
    parser.add_argument(
        "--sensitivity", type=float, required=True, help="by how much one unit can move the answer"
    )
    parser.add_argument(
        "--within", type=float, required=True, help="the error bound you can accept, either way"
    )
    goal = parser.add_mutually_exclusive_group(required=True)
    goal.add_argument("--epsilon", type=float, help="the privacy budget")
    goal.add_argument("--confidence", type=float, help="how often to be within the bound: 0.95")
    parser.add_argument(
        "--delta", type=float, default=0.0, help="the budget's delta (default: 0, pure privacy)"
    )
    parser.add_argument(
        "--kernel",
        choices=("auto", "laplace", "gaussian", "staircase"),
        default="auto",
        help="which noise to recycle (default: the best)",
    )
    parser.add_argument("--integer", action="store_true", help="integer noise, as for counts")
    parser.add_argument("--count", type=int, default=1, help="releases that share the budget")
    parser.add_argument("--plot", metavar="FILE.png", help="draw the noise, plain beside recycled")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Plan, then print and draw."""
    from brdp.cli.files import require_picture
    from brdp.cli.output import print_json
    from brdp.cli.waiting import waiting
    from brdp.planning import plan

    require_picture("--plot", args.plot)
    with waiting(sys.stderr, "planning"):
        found = plan(
            sensitivity=args.sensitivity,
            within=args.within,
            epsilon=args.epsilon,
            confidence=args.confidence,
            delta=args.delta,
            kernel=args.kernel,
            integer=args.integer,
            count=args.count,
        )
    if args.plot:
        found.plot(args.plot)
        print(f"drawn in {args.plot}", file=sys.stderr)
    if args.json:
        print_json(found.to_dict())
    else:
        print(f"{found}\n\n{compared(found, by_epsilon=args.confidence is not None)}")
    return 0


def compared(found: Plan, *, by_epsilon: bool) -> str:
    """Lay out what every kernel would have given, plain and recycled; a star marks the plan."""
    from brdp.cli.output import columns

    chosen = next(a for a in found.alternatives if a.noise == found.noise)
    plain = [a for a in found.alternatives if not a.recycled] if chosen.recycled else []
    # as many digits as it takes to see what recycling gains
    telling = (
        more
        for more in range(MOST_DIGITS_MORE + 1)
        if _worth(chosen, by_epsilon, more) not in {_worth(a, by_epsilon, more) for a in plain}
    )
    more = next(telling, 0)
    cells = {
        (a.kernel, a.recycled): _worth(a, by_epsilon, more) + ("*" if a is chosen else " ")
        for a in found.alternatives
    }
    names = list(dict.fromkeys(a.kernel for a in found.alternatives))
    rows = [
        [name, *(cells.get((name, recycled), "- ") for recycled in (False, True))] for name in names
    ]
    what = "least epsilon by kernel" if by_epsilon else "within the bound, by kernel"
    return columns([what, "plain ", "recycled "], rows) + "\n* the plan"


def _worth(alternative: Alternative, by_epsilon: bool, more: int) -> str:
    from brdp.planning.result import percent

    if by_epsilon:
        return f"{alternative.epsilon:.{4 + more}g}"
    return percent(alternative.acceptance, more=more)
