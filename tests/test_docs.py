"""Every code block in README, CONTRIBUTING and docs/ is executed, or checked where executing would be absurd.

What a fence's label means:

- `python`: run in this process; the blocks of a page share one namespace, from top to bottom;
- `sh`: run by bash in an empty directory that the page's blocks share, with the `brdp` command on the PATH;
  a block that only sets up (make, git clone, cd, pip) is not run, but its make targets and extras must exist;
- `output`, directly after either: what the block above prints, compared line by line;
- text, json, toml, sql, csv: shown, not run. Any other label, or none, is a fault: nothing escapes by accident.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHOWN = {"text", "json", "toml", "sql", "csv"}
SHELL_SECONDS = 120


@dataclass(frozen=True)
class Block:
    """One fenced block: its label, text, and the line it starts on."""

    label: str
    text: str
    line: int


def blocks_of(page: str) -> Iterator[Block]:
    """The fenced blocks of a Markdown text, in order."""
    opened: tuple[str, int] | None = None
    inside: list[str] = []
    for number, line in enumerate(page.splitlines(), start=1):
        fence = re.match(r"\s*```+\s*(\S*)", line)
        if fence is None:
            inside.append(line)
        elif opened is None:
            opened, inside = (fence[1], number + 1), []
        else:
            yield Block(opened[0], "\n".join(inside), opened[1])
            opened = None
    assert opened is None, f"the fence before line {opened[1]} is never closed"


def run_page(page: str, name: str, directory: Path) -> None:
    """Execute a page's blocks in order; the first fault raises."""
    # a real module: dataclasses look theirs up by name
    module = sys.modules["__docs__"] = types.ModuleType("__docs__")
    namespace: dict[str, object] = module.__dict__
    printed: str | None = None
    for block in blocks_of(page):
        where = f"{name}:{block.line}"
        if block.label == "python":
            printed = _run_python(block, where, namespace)
        elif block.label == "sh":
            setup = setup_faults(block.text)
            assert not setup, f"{where}: {'; '.join(setup)}"
            printed = None if _is_setup(block.text) else _run_shell(block, where, directory)
        elif block.label == "output":
            assert printed is not None, f"{where}: there is nothing above to compare this with"
            assert _lines(printed) == _lines(block.text), f"{where}: the page shows other output"
            printed = None
        else:
            assert block.label in SHOWN, f"{where}: label {block.label!r} is not known"
            printed = None


def _run_python(block: Block, where: str, namespace: dict[str, object]) -> str:
    # blank lines in front make a traceback point at the page's own line
    code = compile("\n" * (block.line - 1) + block.text, where.partition(":")[0], "exec")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, namespace)
    return out.getvalue()


def _run_shell(block: Block, where: str, directory: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.text],
        cwd=directory,
        env={**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=SHELL_SECONDS,
    )
    assert done.returncode == 0, f"{where}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def _commands(text: str) -> list[list[str]]:
    words = (shlex.split(line, comments=True) for line in text.splitlines())
    return [command for command in words if command]


def _is_pip(command: list[str]) -> bool:
    return "pip" in command[:3] and "install" in command


def _is_setup(text: str) -> bool:
    commands = _commands(text)
    return any(command[0] == "make" or _is_pip(command) for command in commands) and all(
        command[0] in {"make", "git", "cd"} or _is_pip(command) for command in commands
    )


def setup_faults(text: str) -> list[str]:
    """Make targets and extras that a shell block names but that do not exist."""
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][a-zA-Z-]*):", makefile, flags=re.MULTILINE))
    benchmarks = {f"bench-{path.stem}" for path in (ROOT / "benchmarks").glob("*.py")}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    faults = []
    for command in _commands(text):
        if command[0] == "make":
            asked = {word for word in command[1:] if "=" not in word}
            faults += [f"no make target {word}" for word in asked - targets - benchmarks]
        elif _is_pip(command):
            asked = {extra for word in command for extra in _extras_in(word)}
            faults += [f"no extra {extra}" for extra in asked - set(extras)]
    return sorted(faults)


def _extras_in(word: str) -> list[str]:
    found = re.search(r"\[(.+)\]", word)
    return [extra.strip() for extra in found[1].split(",")] if found else []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_page_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    run_page(path.read_text(), path.relative_to(ROOT).as_posix(), tmp_path)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", path.read_text())
    missing = [link for link in links if "://" not in link and not (path.parent / link).exists()]
    assert not missing


def test_index_links_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in PAGES if "docs" in path.parts}
    missing = {page for page in pages - {"index.md"} if f"({page})" not in index}
    assert not missing, f"docs/index.md does not link {sorted(missing)}"


BAD_PAGES = {
    "python raises": "```python\n1 / 0\n```",
    "python does not parse": "```python\nx = = 1\n```",
    "shell fails": "```sh\nfalse | true\n```",
    "wrong output": "```python\nprint(2)\n```\n```output\n3\n```",
    "wrong shell output": "```sh\necho 2\n```\n```output\n3\n```",
    "output of nothing": "```output\n3\n```",
    "no label": "```\nx\n```",
    "never closed": "```python\nx = 1\n",
    "no such target": "```sh\nmake fly\n```",
    "no such extra": "```sh\npip install 'brdp[wings]'\n```",
    "setup mixed with a failing command": "```sh\nmake --version\nfalse\n```",
}


@pytest.mark.parametrize("name", BAD_PAGES)
def test_control_bad_pages_fail(name: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, ZeroDivisionError, SyntaxError)):
        run_page(BAD_PAGES[name], "bad.md", tmp_path)


def test_blocks_share_their_page(tmp_path: Path) -> None:
    page = """
```python
x = 1
```
```python
print(x)
```
```output
1
```
```sh
echo 2 > file
```
```sh
cat file
```
```output
2
```
"""
    run_page(page, "good.md", tmp_path)


def test_the_reference_names_all_that_is_public() -> None:
    """Every public name, kind of error and command; and nothing that does not exist."""
    import brdp
    from brdp import errors
    from brdp.cli import COMMANDS

    page = (ROOT / "docs" / "reference.md").read_text()
    kinds = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.BrdpError)
    }
    wanted = {f"brdp.{name}" for name in brdp.__all__} | kinds
    assert {name for name in wanted if not re.search(rf"{re.escape(name)}\b", page)} == set()
    named = set(re.findall(r"brdp\.(\w+)", page)) - {"toml", "errors", "privacy"}
    assert named <= set(brdp.__all__)
    assert set(re.findall(r"`brdp ([a-z]+)", page)) == set(COMMANDS)
