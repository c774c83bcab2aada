"""`brdp account`: what releases cost together, from both sides."""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
import warnings
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brdp.privacy import ComposedCurve
    from brdp.privacy.spec import ReleaseSpec

# Drawn at this many numbers of releases, from one to all.
POINTS = 25


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "account",
        help="what releases cost together",
        description="State what the releases of a SPEC cost together: lower and upper bounds of epsilon at "
        "--delta, or of delta at --epsilon. Reads no data.",
    )
    parser.add_argument(
        "spec",
        metavar="SPEC.json",
        help='a list such as [{"kernel": "gaussian", "scale": 30.7, "within": 1, "rate": 0.2, '
        '"sensitivity": 1, "count": 1000, "sampling_rate": 1}]; - reads standard input',
    )
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--delta", type=float, help="state epsilon at this delta")
    given.add_argument("--epsilon", type=float, help="state delta at this epsilon")
    parser.add_argument(
        "--plot", metavar="FILE.png", help="draw epsilon against the number of releases"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Account, then print and draw."""
    from brdp.cli.files import read_json, require_picture
    from brdp.cli.output import print_json
    from brdp.errors import InvalidInput
    from brdp.privacy.spec import composed, read_spec

    if args.plot and args.delta is None:
        raise InvalidInput("--plot", expected="--delta beside it", got=args.epsilon)
    require_picture("--plot", args.plot)
    releases = read_spec(read_json(args.spec))
    total = composed(releases)
    if args.delta is not None:
        if args.delta == 0 and math.isinf(total.largest_loss):
            raise InvalidInput(
                "--delta",
                expected="a number above 0 for releases whose loss has no bound",
                got=args.delta,
                remedy="Give a delta such as 1e-6.",
            )
        with working("accounting"):
            lower, upper = total.epsilon_bounds(delta=args.delta)
        answer: dict[str, Any] = {"epsilon": _pair(lower, upper), "delta": args.delta}
        said = f"epsilon {_between(lower, upper)} at delta {args.delta:g}"
    else:
        with working("accounting"):
            bounds = total.delta_bounds(epsilon=args.epsilon)
        low, high = float(bounds[0]), float(bounds[1])
        answer = {"delta": _pair(low, high), "epsilon": args.epsilon}
        said = f"delta {_between(low, high)} at epsilon {args.epsilon:g}"
    if args.plot:
        draw(releases, delta=args.delta, path=args.plot)
        print(f"drawn in {args.plot}", file=sys.stderr)
    if args.json:
        print_json(answer)
    else:
        count = sum(release.count for release in releases)
        print(f"{count} release{'s' if count > 1 else ''}: {said}")
    return 0


def draw(releases: tuple[ReleaseSpec, ...], *, delta: float, path: str) -> None:
    """Epsilon against the number of releases, taken in the order and the shares of the SPEC."""
    from brdp._extras import require

    figure_module = require("matplotlib.figure", extra="plot")
    total = sum(release.count for release in releases)
    counts = sorted({max(1, round(total ** (i / (POINTS - 1)))) for i in range(POINTS)})
    epsilons = [
        first(releases, count).epsilon(delta=delta) for count in progress(counts, "accounting")
    ]
    figure = figure_module.Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(counts, epsilons, marker="o", markersize=3)
    axes.set(xscale="log", xlabel="releases", ylabel=f"epsilon at delta {delta:g}", ylim=(0, None))
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)


def first(releases: tuple[ReleaseSpec, ...], count: int) -> ComposedCurve:
    """The cost of the first `count` releases."""
    from brdp.privacy import compose

    parts: dict[Any, int] = {}
    left = count
    for release in releases:
        taken = min(left, release.count)
        if taken:
            parts[release.curve] = parts.get(release.curve, 0) + taken
        left -= taken
    return compose(parts)


def progress(items: list[int], what: str) -> Any:
    """The same items, with a bar on a terminal where rich is installed."""
    try:
        from rich.progress import track
    except ImportError:
        return items
    from rich.console import Console

    console = Console(stderr=True)
    return track(items, description=what, console=console) if console.is_terminal else items


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """Show that something goes on, on a terminal where rich is installed; warnings become plain lines."""
    with contextlib.ExitStack() as stack:
        seen = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        with contextlib.suppress(ImportError):
            from rich.console import Console

            console = Console(stderr=True)
            if console.is_terminal:
                stack.enter_context(console.status(what))
        yield
    for warning in seen:
        print(f"brdp account: warning: {warning.message}", file=sys.stderr)


def _between(lower: float, upper: float) -> str:
    """Both ends in ten digits, rounded outwards."""
    if math.isinf(lower):
        return "is infinite"
    down, up = (Context(prec=10, rounding=way) for way in (ROUND_FLOOR, ROUND_CEILING))
    low, high = down.create_decimal_from_float(lower), up.create_decimal_from_float(upper)
    return f"between {float(low):.10g} and {float(high):.10g}"


def _pair(lower: float, upper: float) -> dict[str, float]:
    return {"lower": lower, "upper": upper if math.isfinite(upper) else math.inf}
