"""The command line: thin. Each command is a module with `add_parser(subparsers)`.

Command modules import only the standard library at their top; what they need of brdp is imported when they
run, so that `brdp --help` is quick.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

COMMANDS = (
    "plan",
    "account",
    "audit",
    "demo",
    "init",
    "register",
    "query",
    "budget",
    "ledger",
    "reproduce",
)
BAD_INPUT, REFUSED_BY_BUDGET = 2, 3
NEGATIVE_NUMBER = re.compile(r"^-(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^-inf$")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Exit status: 0; 2 for bad input; 3 where the budget refuses."""
    args = _parser().parse_args(arguments)
    from brdp.errors import BrdpError, BudgetExceeded

    try:
        status: int = args.run(args)
    except BrdpError as error:
        message = " ".join(str(error).split())
        print(f"brdp {args.command}: {message}", file=sys.stderr)
        return REFUSED_BY_BUDGET if isinstance(error, BudgetExceeded) else BAD_INPUT
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stderr.close()
        return 0
    return status


class OneLineParser(argparse.ArgumentParser):
    """Says what is wrong in one line, and reads -1e-5 as a number, so that the command can say what it expects."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._negative_number_matcher = NEGATIVE_NUMBER

    def error(self, message: str) -> NoReturn:
        said = " ".join(message.split())
        self.exit(BAD_INPUT, f"{self.prog}: {said} (`{self.prog} --help` explains)\n")


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="brdp",
        description="Differential privacy that starts from the error you can accept.",
        epilog="`brdp COMMAND --help` explains a command.",
    )
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        importlib.import_module(f"brdp.cli.{command}").add_parser(subparsers)
    return parser
