"""`brdp audit`: test a mechanism's promise from outside, by samples."""

from __future__ import annotations

import argparse
import math
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brdp.audit import Coverage, Mechanism, Promise, Report

BROKEN = 1


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "audit",
        help="test a privacy promise by samples",
        description="Draw answers on two neighbouring inputs and prove a lower bound on epsilon. Exit status "
        "1 means that the promise is broken; 0 that nothing was found against it.",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("spec", nargs="?", metavar="SPEC.json", help="as for `brdp account`")
    what.add_argument(
        "--mechanism",
        metavar="MODULE:FUNCTION",
        help="a Python function (input, size) -> that many answers, run as it is",
    )
    parser.add_argument(
        "--inputs",
        nargs=2,
        type=float,
        metavar="X",
        help="the two neighbouring inputs of the function (default: 0 1)",
    )
    parser.add_argument(
        "--epsilon", type=float, help="the promise (default for a SPEC: what its account states)"
    )
    parser.add_argument("--delta", type=float, default=0.0, help="the promise's delta (default: 0)")
    parser.add_argument("--draws", type=int, default=1_000_000, help="answers in each world")
    parser.add_argument("--confidence", type=float, default=0.999, help="default: 0.999")
    parser.add_argument(
        "--within",
        type=float,
        nargs="+",
        help="also test coverage: how often the first number of an answer is within T, or LOW HIGH",
    )
    parser.add_argument(
        "--acceptance",
        type=float,
        help="the claim about coverage (default for a SPEC: what its first noise states)",
    )
    parser.add_argument("--report", metavar="FILE", help="write a page (.html) or the plots (.png)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Audit, then print and write."""
    from brdp.audit import audit
    from brdp.cli.files import require_picture
    from brdp.cli.output import Percent, print_json

    require_picture("--report", args.report, endings=(".html", ".png"))
    mechanism, promise, coverage = _asked(args)
    shown = Percent("audit", "draws") if sys.stderr.isatty() else None
    report = audit(
        mechanism,
        promise,
        draws=args.draws,
        confidence=args.confidence,
        coverage=coverage,
        progress=shown,
    )
    if args.report:
        _write(report, args.report)
    if args.json:
        print_json(report.to_dict())
    else:
        print(report)
    return BROKEN if report.accused else 0


def _asked(args: argparse.Namespace) -> tuple[Mechanism, Promise, Coverage | None]:
    from brdp.audit import Additive, Black, Coverage, Promise, promise_of
    from brdp.audit.spec import coverage_of, read_spec
    from brdp.cli.files import read_json
    from brdp.errors import InvalidInput

    within = args.within
    if within is not None:
        if len(within) > 2:
            raise InvalidInput("within", expected="one number or two", got=within)
        within = within[0] if len(within) == 1 else tuple(within)
    elif args.acceptance is not None:
        raise InvalidInput(
            "within",
            expected="the bound that the acceptance is about",
            got=None,
            remedy="State it with --within.",
        )
    coverage: Coverage | None = None
    if args.mechanism:
        inputs = (0.0, 1.0) if args.inputs is None else tuple(args.inputs)
        if not all(map(math.isfinite, inputs)):
            raise InvalidInput("inputs", expected="two finite numbers", got=inputs)
        if args.epsilon is None:
            raise InvalidInput(
                "epsilon",
                expected="the promise of the function",
                got=None,
                remedy="State it with --epsilon and --delta.",
            )
        if within is not None:
            if args.acceptance is None:
                raise InvalidInput(
                    "acceptance",
                    expected="the claim about coverage",
                    got=None,
                    remedy="State it with --acceptance.",
                )
            coverage = Coverage(within=within, acceptance=args.acceptance, truth=inputs[0])
        promise = Promise(epsilon=args.epsilon, delta=args.delta)
        return Black(_function(args.mechanism), inputs=inputs), promise, coverage
    if args.inputs is not None:
        raise InvalidInput(
            "inputs",
            expected="inputs only with --mechanism",
            got=tuple(args.inputs),
            remedy="For a SPEC the inputs are as far apart as its sensitivity.",
        )
    releases = read_spec(read_json(args.spec))
    if within is not None:
        coverage = coverage_of(releases[0], within=within, acceptance=args.acceptance)
    if args.epsilon is None:
        promise = promise_of(releases, delta=args.delta)
    else:
        promise = Promise(epsilon=args.epsilon, delta=args.delta)
    return Additive(releases), promise, coverage


def _function(name: str) -> Callable[[Any, int], Any]:
    import importlib

    from brdp.errors import InvalidInput

    module, _, attribute = name.partition(":")
    sys.path.insert(0, "")  # the caller's own directory, as `python -m` has it
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # whatever the module does when it is imported
        raise InvalidInput(
            "mechanism",
            expected="MODULE:FUNCTION that can be imported",
            got=name,
            remedy=_told(error),
        ) from error
    finally:
        sys.path.remove("")
    if not callable(found):
        raise InvalidInput("mechanism", expected="a function", got=name)

    def answers(x: Any, size: int) -> Any:
        # an error of the function is no verdict: it must not end with the status of a broken promise
        try:
            return found(x, size)
        except Exception as error:
            raise InvalidInput(
                "mechanism",
                expected="a function (input, size) that returns so many answers",
                got=name,
                remedy=_told(error),
            ) from error

    return answers


def _told(error: Exception) -> str:
    """An error of foreign code in one line: what, and the place that raised it if it is not here."""
    *_, last = traceback.extract_tb(error.__traceback__)
    inner = last.filename == __file__ or last.filename.startswith("<")
    place = "" if inner else f" ({Path(last.filename).name}, line {last.lineno})"
    return f"{type(error).__name__}: {error}{place}"


def _write(report: Report, name: str) -> None:
    if name.endswith(".html"):
        Path(name).write_text(report.to_html(), encoding="utf-8")
    else:
        report.figure().savefig(name, dpi=120)
    print(f"written to {name}", file=sys.stderr)
