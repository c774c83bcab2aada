"""`brdp init`: a first brdp.toml for a table, from its schema alone."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "init",
        help="write a commented first brdp.toml for a table",
        description="Write a commented brdp.toml for a Parquet or CSV file (or glob). Reads names and types of "
        "columns, never a value.",
    )
    parser.add_argument("path", help="the file, or a glob in quotes")
    parser.add_argument("--name", help="what the table is called (default: from the file's name)")
    parser.add_argument(
        "--queries", type=int, default=100, help="about how many questions it is for (default: 100)"
    )
    parser.add_argument(
        "--moves",
        type=int,
        default=1,
        help="of what kind: how many numbers of an answer one person can change, 1 for counts and sums "
        "(default), 2 for means, times the groups that a person can be in",
    )
    parser.add_argument("--output", default="brdp.toml", help="where to write (default: brdp.toml)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the file; never over another."""
    from pathlib import Path

    from brdp.catalog import init_text
    from brdp.errors import InvalidInput

    output = Path(args.output)
    text = init_text(
        args.path, name=args.name, queries=args.queries, moves=args.moves, folder=output.parent
    )
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InvalidInput(
            "output",
            expected="a file that is not there yet",
            got=str(output),
            remedy="Move it away, or write elsewhere with --output.",
        ) from None
    except OSError as error:
        raise InvalidInput(
            "output", expected="a place to write to", got=f"{output}: {error.strerror}"
        ) from None
    print(
        f"wrote {output}: now say in it whom to protect, how much to spend and what may be asked\n"
        "then check it: brdp register"
    )
    return 0
