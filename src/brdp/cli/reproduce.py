"""`brdp reproduce`: every figure and table of the paper, as printed and as it truly is."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brdp.paper.figures.panel import Panel

INTERRUPTED = 130
"""What a shell expects of a command that was stopped from the keyboard."""


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "reproduce",
        help="redo the paper's figures and tables, with what they truly cost",
        description="Compute and draw every figure and table of the paper three ways: as printed, with its "
        "true cost, and with this project's exact plan; and the errata. A finished panel is not done again. "
        "Needs matplotlib (pip install 'brdp[plot]').",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where to write")
    parser.add_argument(
        "--only",
        action="extend",
        nargs="+",
        metavar="NAME",
        help="only these panels: noise, rate, acceptance, composition, sampling, adult (or adult-sum, "
        "adult-average, adult-count), gowalla (likewise), table1, errata",
    )
    parser.add_argument(
        "--gowalla",
        type=Path,
        metavar="PATH",
        help="Gowalla check-ins: loc-gowalla_totalCheckins.txt(.gz) of the SNAP collection, or a table with "
        "the columns user and time; without it those panels are left out",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the panels, write the report, say where it is."""
    from brdp._extras import require
    from brdp.cli.output import print_json
    from brdp.datasets import adult_path
    from brdp.paper.figures.catalogue import all_panels
    from brdp.paper.figures.people import check_gowalla
    from brdp.paper.figures.report import GOWALLA_MISSING, write_report
    from brdp.paper.figures.runner import already_there, run_panels

    require("matplotlib", extra="plot")
    panels = all_panels(adult=adult_path(), gowalla=args.gowalla)
    chosen = chosen_panels(panels, args.only)
    if args.gowalla is not None:
        check_gowalla(args.gowalla)
    _check_out(args.out)
    done = {}
    try:
        with _progress(len(chosen)) as progress:
            for one in run_panels(chosen, out=args.out, report=progress):
                done[one.panel.name] = one
                progress("")
    except KeyboardInterrupt:
        print(
            f"stopped with {len(done)} of {len(chosen)} panels finished; the same command goes on",
            file=sys.stderr,
        )
        return INTERRUPTED
    for one in already_there([p for p in panels if p.name not in done], out=args.out):
        done[one.panel.name] = one
    finished = [done[panel.name] for panel in panels if panel.name in done]
    notes = [] if args.gowalla is not None else [GOWALLA_MISSING]
    page = write_report(finished, out=args.out, notes=notes)
    made = [one for one in finished if one.panel in chosen]
    if args.json:
        print_json(
            {
                "report": str(page),
                "panels": [
                    {"name": one.panel.name, "seconds": one.seconds, "resumed": one.resumed}
                    for one in made
                ],
                "notes": notes,
            }
        )
        return 0
    for one in made:
        state = "already there" if one.resumed else f"{one.seconds:.1f} s"
        print(f"{one.panel.name} ({state})")
        for line in one.panel.sentences(one.rows):
            print(f"  {line}")
    for note in notes:
        print(note, file=sys.stderr)
    print(f"report: {page}")
    return 0


def chosen_panels(panels: Sequence[Panel], only: Sequence[str] | None) -> list[Panel]:
    """The panels whose names, or first words, are asked for; all without --only."""
    from brdp.errors import InvalidInput

    if only is None:
        return list(panels)
    names = [panel.name for panel in panels]
    groups = {name.partition("-")[0] for name in names}
    for word in only:
        if word not in names and word not in groups:
            known = sorted({*names, *groups})
            remedy = (
                "The Gowalla panels need --gowalla PATH."
                if word.startswith("gowalla")
                else f"Known: {', '.join(known)}."
            )
            raise InvalidInput("--only", expected="the name of a panel", got=word, remedy=remedy)
    return [p for p in panels if p.name in only or p.name.partition("-")[0] in only]


def _check_out(out: Path) -> None:
    """Make the folder, and refuse one that cannot be written before the first panel is computed."""
    from tempfile import TemporaryFile

    from brdp.errors import InvalidInput

    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise InvalidInput(
            "--out",
            expected="a folder that can be made and written",
            got=str(out),
            remedy=f"{error.strerror}.",
        ) from error


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    """Progress on stderr: a bar on a terminal with rich, else plain lines. An empty word ends a panel."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        plain = not sys.stderr.isatty()
    except ImportError:
        plain = True
    if plain:
        yield lambda words: print(words, file=sys.stderr, flush=True) if words else None
        return
    columns = (BarColumn(bar_width=20), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=total)

        def tell(words: str) -> None:
            if words:
                bars.update(task, description=words)
            else:
                bars.advance(task)

        yield tell
