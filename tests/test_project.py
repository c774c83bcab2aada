"""What the project promises about itself: its pinned files, its extras, and what `import brdp` loads."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)==(\S+)(?: ; (.+?))? \\$", re.MULTILINE)

# What must not stand in a file that everybody downloads: a host, a path, or an option that names one.
FOREIGN = re.compile(r"://|@ |--(?:extra-)?index|--find-links|--trusted|(?<![\w.])/|\bfile:")


def pins_of(path: Path) -> set[tuple[str, str, str]]:
    """(name, version, condition) of every requirement in a pinned file."""
    return {(m[1], m[2], m[3] or "") for m in PIN.finditer(path.read_text())}


def normal(name: str) -> str:
    """A requirement's bare name, as pinned files spell it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", name)[0]).lower()


def test_every_lock_is_there() -> None:
    assert [path.stem for path in LOCKS] == ["bench", "check", "run", "spark", "test"]


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_lock_names_no_host_and_no_path(path: Path) -> None:
    requirements = re.sub(r"^\s*#.*$", "", path.read_text(), flags=re.MULTILINE)
    assert FOREIGN.search(requirements) is None
    # comments name who asked, which may be another file of this repository, relative to its root
    comments = re.findall(r"^\s*#(.*)$", path.read_text(), flags=re.MULTILINE)
    assert not [text for text in comments if "://" in text or " /" in text]


@pytest.mark.parametrize(
    "line",
    [
        "--index-url x",
        "a @ b",
        "--find-links wheels",
        "a==1 --hash=b file:c",
        "/opt/a.whl",
        "git+ssh://a/b",
    ],
)
def test_control_hosts_and_paths_are_noticed(line: str) -> None:
    assert FOREIGN.search(line)


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_every_pin_has_a_hash(path: Path) -> None:
    text = path.read_text()
    entries = [entry for entry in re.split(r"^(?=[a-zA-Z-])", text, flags=re.MULTILINE) if entry]
    assert len(entries) == len(PIN.findall(text)) > 10
    assert not [entry for entry in entries if "--hash=sha256:" not in entry]


def test_locks_agree() -> None:
    """One environment serves all: what the small lock pins, the larger ones pin alike."""
    pins = {path.stem: pins_of(path) for path in LOCKS}
    assert pins["run"] <= pins["test"]
    for larger in ("check", "bench", "spark"):
        assert pins["test"] <= pins[larger], larger


def test_core_is_numpy_and_scipy() -> None:
    assert {normal(name) for name in PROJECT["project"]["dependencies"]} == {"numpy", "scipy"}


def test_extras_are_pinned_and_all_holds_them() -> None:
    pinned = {name for name, *_ in pins_of(ROOT / "requirements" / "spark.lock")}
    everything = set(re.split(r"[\[\],]", EXTRAS["all"][0])[1:-1])
    assert everything == set(EXTRAS) - {"all"}
    asked = {normal(name) for extra in everything for name in EXTRAS[extra]}
    assert asked <= pinned


def wrong_extras_in(source: str) -> list[str]:
    """The extras that a source text requires and pyproject.toml does not have, by line."""
    named = {"_extras.require", "brdp._extras.require"}
    if "_extras import require" in source:  # others may have a `require` of their own
        named.add("require")
    wrong = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in named:
            given = {word.arg: word.value for word in node.keywords}.get("extra")
            if not (isinstance(given, ast.Constant) and given.value in EXTRAS):
                wrong.append(f"line {node.lineno}: {ast.unparse(node)}")
    return wrong


def test_required_extras_exist() -> None:
    """Each `require(..., extra=...)` in the sources names an extra of pyproject.toml."""
    sources = sorted((ROOT / "src" / "brdp").rglob("*.py"))
    wrong = {path.as_posix(): wrong_extras_in(path.read_text()) for path in sources}
    assert not {path: lines for path, lines in wrong.items() if lines}


@pytest.mark.parametrize(
    "source",
    [
        "from brdp._extras import require\nrequire('rich', extra='wings')",
        "from brdp import _extras\n_extras.require('rich', extra='wings')",
        "from brdp._extras import require\nrequire('rich', extra=name)",
    ],
)
def test_control_unknown_extras_are_noticed(source: str) -> None:
    assert wrong_extras_in(source)


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter loads for one statement."""
    program = (
        "import json, sys; before = set(sys.modules); "
        f"{statement}; print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


def foreign_to_core(modules: set[str]) -> set[str]:
    """Installed distributions among the modules, other than brdp and its core."""
    tops = {name.partition(".")[0] for name in modules}
    owners = packages_distributions()
    return {owner for top in tops for owner in owners.get(top, ())} - {"brdp", "numpy", "scipy"}


def heavy_in(modules: set[str]) -> set[str]:
    """The parts of scipy that cost more to import than everything else together."""
    return modules & {"scipy.stats", "scipy.optimize", "scipy.special", "scipy.fft"}


def test_import_loads_the_core_alone() -> None:
    modules = loaded_by("import brdp")
    assert "brdp.noise" in modules
    assert foreign_to_core(modules) == set()
    assert heavy_in(modules) == set()


def test_control_other_packages_would_be_noticed() -> None:
    assert foreign_to_core(loaded_by("import brdp, pytest")) >= {"pytest"}
    assert heavy_in(loaded_by("import brdp, scipy.stats")) >= {"scipy.stats", "scipy.optimize"}
    assert heavy_in(loaded_by("import brdp; brdp.Gaussian(1).privacy().delta(epsilon=1)"))


def test_makefile_documents_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = set(re.findall(r"^\.PHONY: ([a-z-]+)$", makefile, flags=re.MULTILINE))
    documented = set(re.findall(r"^([a-z-]+):.*## .+", makefile, flags=re.MULTILINE))
    expected = {"run", "test", "check", "slow", "engines", "bench", "bench-full", "docs", "help"}
    assert expected <= phony == documented
