"""Runs panels into a folder, one after another, and never does a finished one again.

A panel is finished when its record `done.json`, written last and in one step, holds the hash of
the panel's settings and of the program (its sources, and the versions of the libraries it computes and
draws with), and the hash of every file it made.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import final

from brdp.paper.figures import style
from brdp.paper.figures.panel import Panel, Report, Rows, as_csv, as_json, digest, rows_of

_PACKAGE = Path(__file__).parents[2]
_SOURCES = ("noise", "privacy", "planning", "paper")
_LIBRARIES = ("numpy", "scipy", "matplotlib")


@final
@dataclass(frozen=True)
class Finished:
    """A panel with its numbers and where its files lie."""

    panel: Panel
    rows: Rows
    folder: Path
    seconds: float
    resumed: bool


def program_digest() -> str:
    """A hash of the sources that numbers and drawings come from: a changed program does its panels again."""
    paths = sorted(path for part in _SOURCES for path in (_PACKAGE / part).rglob("*.py"))
    sources = [part for path in paths for part in (path.name, path.read_bytes())]
    return digest([*sources, *(f"{name} {version(name)}" for name in _LIBRARIES)])


def run_panels(panels: Iterable[Panel], *, out: Path, report: Report) -> Iterator[Finished]:
    """Compute, draw and record each panel; yield it as soon as it stands."""
    program = program_digest()
    for panel in panels:
        done = _finished(panel, out, program)
        if done is None:
            report(f"{panel.name}: computing")
            done = _make(panel, out, program, report)
        else:
            report(f"{panel.name}: already there")
        yield done


def already_there(panels: Iterable[Panel], *, out: Path) -> list[Finished]:
    """Those of the panels that an earlier run has finished."""
    program = program_digest()
    return [done for panel in panels if (done := _finished(panel, out, program)) is not None]


def _folder(panel: Panel, out: Path) -> Path:
    return out / "panels" / panel.name


def _key(panel: Panel, program: str) -> str:
    return digest([panel.name, json.dumps(panel.settings, sort_keys=True), program])


def _finished(panel: Panel, out: Path, program: str) -> Finished | None:
    folder, key = _folder(panel, out), _key(panel, program)
    with suppress(OSError, ValueError, KeyError, TypeError):
        record = json.loads((folder / "done.json").read_text())
        files: dict[str, str] = record["files"]
        whole = all(digest([(folder / name).read_bytes()]) == mark for name, mark in files.items())
        if record["key"] == key and whole and files:
            rows = rows_of((folder / f"{panel.name}.json").read_text())
            return Finished(panel, rows, folder, float(record["seconds"]), resumed=True)
    return None


def _make(panel: Panel, out: Path, program: str, report: Report) -> Finished:
    folder, key = _folder(panel, out), _key(panel, program)
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        (folder / "done.json").unlink()
    start = time.perf_counter()
    rows = panel.compute(lambda words: report(f"{panel.name}: {words}"))
    if not rows:
        raise AssertionError(f"the panel {panel.name} computed nothing")
    texts = {f"{panel.name}.csv": as_csv(rows), f"{panel.name}.json": as_json(panel, rows)}
    page = panel.page(rows)
    if page is not None:
        texts[f"{panel.name}.md"] = page
    for name, text in texts.items():
        write_atomically(folder / name, text)
    with style.drawing():
        images = style.save(panel.draw(rows), folder, panel.name)
    seconds = time.perf_counter() - start
    names = [*texts, *(path.name for path in images)]
    record = {
        "key": key,
        "settings": panel.settings,
        "seconds": seconds,
        "files": {name: digest([(folder / name).read_bytes()]) for name in names},
    }
    write_atomically(folder / "done.json", json.dumps(record, indent=1))
    # what was written is what a resumed run reads: the report must not depend on which it was
    rows = rows_of((folder / f"{panel.name}.json").read_text())
    return Finished(panel, rows, folder, seconds, resumed=False)


def write_atomically(path: Path, text: str) -> None:
    """Write to a neighbour, flush, and rename: readers see the old file or the whole new one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    with beside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
