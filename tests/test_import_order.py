"""The order of packages in docs/architecture.md, held to by reading every import in src/brdp.

Nothing is imported here: the sources are parsed, so an import inside a function counts like one at
the top. Five rules, each with a synthetic bad source that must be caught:

1. a package imports only packages that stand before it, itself, and the private root modules;
2. third-party imports at module level are numpy and scipy; others belong inside functions;
3. nothing but the command line imports `paper`;
4. nothing but the curator imports both the release sampler and `data`, and of its files `draw.py` alone, where
   the two meet, imports the exact totals;
5. only the command line imports the public names of `brdp` itself.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "brdp"

# A package may import what stands to its left. `errors` and the private root modules stand before all.
ORDER = (
    "noise",
    "privacy",
    "planning",
    "datasets",
    "paper",
    "catalog",
    "query",
    "data",
    "ledger",
    "curator",
    "audit",
    "service",
    "cli",
)
CORE = {"numpy", "scipy"}
# the release sampler, by whatever name it is to be had; exact totals, in the same way
SAMPLER = ("brdp.noise.sampler", "brdp.noise.release", "brdp.curator.prepare.sampler_of")
TOTALS = ("brdp.data.totals", "brdp.data.exact_totals")
MEETING = "curator/draw.py"

# (file, imported package): allowed against the order, but only lazily, that is inside a function or
# under TYPE_CHECKING. Add one only with its reason.
LAZY_EXCEPTIONS = {
    # The contract has noise.privacy(sensitivity=...): the method reaches up to the package above.
    ("noise/base.py", "privacy"),
}


@dataclass(frozen=True)
class Import:
    """One imported name, absolute, with where it stands."""

    target: str
    line: int
    lazy: bool


def imports_of(source: str, package: tuple[str, ...]) -> Iterator[Import]:
    """Every import in a source text; `package` is what relative imports start from."""
    yield from _walk(ast.parse(source), package, lazy=False)


def _walk(node: ast.AST, package: tuple[str, ...], *, lazy: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, child.lineno, lazy)
        elif isinstance(child, ast.ImportFrom):
            base = package[: len(package) - child.level + 1] if child.level else ()
            prefix = ".".join((*base, *([child.module] if child.module else [])))
            # `from brdp import noise` names a module, `from brdp.noise import Laplace` does not; the
            # longer name answers both, for only its first parts matter.
            for alias in child.names:
                yield Import(f"{prefix}.{alias.name}", child.lineno, lazy)
        elif isinstance(child, ast.Call) and _is_dynamic_import(child):
            first = child.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield Import(first.value, child.lineno, lazy)
            yield from _walk(child, package, lazy=lazy)
        else:
            deferred = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or (
                isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
            )
            yield from _walk(child, package, lazy=lazy or deferred)


def _is_dynamic_import(call: ast.Call) -> bool:
    called = ast.unparse(call.func).rpartition(".")[2]
    return called in {"import_module", "__import__"} and bool(call.args)


def _parts(target: str) -> tuple[str, str]:
    """The top package, and the part of brdp below it ('' for a name of brdp itself)."""
    top, _, rest = target.partition(".")
    inner = rest.partition(".")[0]
    known = inner in ORDER or inner == "errors" or inner.startswith("_")
    return top, inner if known else ""


def faults_of(source: str, path: str) -> list[str]:
    """Every breach of the five rules in one source text; `path` is relative to src/brdp."""
    parts = Path(path).with_suffix("").parts
    package = ("brdp", *parts[:-1])
    own = parts[0]
    faults: list[str] = []
    inner_targets: set[str] = set()
    exact = False
    for item in imports_of(source, package):
        top, inner = _parts(item.target)
        where = f"{path}:{item.line}"
        if top != "brdp":
            if not item.lazy and top not in CORE and top not in sys.stdlib_module_names:
                faults.append(
                    f"{where}: {top} is not part of the core: import it inside a function"
                )
            continue
        inner_targets.add("sampler" if item.target.startswith(SAMPLER) else inner)
        exact = exact or item.target.startswith(TOTALS)
        if not inner:
            if own != "cli":
                faults.append(
                    f"{where}: {item.target} is a public name; import the module it lives in"
                )
            continue
        if inner == "errors" or inner.startswith("_") or inner == own:
            continue
        if inner == "paper" and own != "cli":
            faults.append(f"{where}: nothing but the command line imports paper")
        elif own == "__init__":
            continue
        elif own == "__main__":
            if inner != "cli":
                faults.append(f"{where}: __main__ imports only cli")
        elif own not in ORDER:
            faults.append(f"{where}: {own} stands before every package and may not import {inner}")
        elif ORDER.index(inner) > ORDER.index(own) and not (
            item.lazy and (path, inner) in LAZY_EXCEPTIONS
        ):
            faults.append(f"{where}: {own} stands before {inner} and may not import it")
    if {"sampler", "data"} <= inner_targets and own != "curator":
        faults.append(f"{path}: only the curator joins the release sampler and data")
    elif exact and own != "data" and path != MEETING:
        faults.append(f"{path}: only {MEETING} asks for exact totals")
    return faults


def test_sources_keep_the_order() -> None:
    paths = sorted(SOURCE.rglob("*.py"))
    assert SOURCE / "errors.py" in paths
    assert SOURCE / "noise" / "base.py" in paths
    faults = [
        fault
        for path in paths
        for fault in faults_of(path.read_text(), path.relative_to(SOURCE).as_posix())
    ]
    assert not faults, "\n".join(faults)


def test_every_package_has_its_place() -> None:
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    modules = {path.stem for path in SOURCE.glob("*.py")}
    public = {name for name in modules if not name.startswith("_")} - {"errors"}
    assert packages | public <= set(ORDER)


@pytest.mark.parametrize("path, target", sorted(LAZY_EXCEPTIONS))
def test_exceptions_are_still_needed(path: str, target: str) -> None:
    source = (SOURCE / path).read_text()
    package = ("brdp", *Path(path).parts[:-1])
    assert any(_parts(item.target) == ("brdp", target) for item in imports_of(source, package))


BAD_SOURCES = [
    ("noise/laplace.py", "from brdp.privacy.curve import Curve"),
    ("noise/laplace.py", "from ..privacy import curve"),
    ("noise/laplace.py", "from .. import privacy"),
    ("noise/laplace.py", "def f():\n    import brdp.planning.single"),
    ("noise/laplace.py", "def f():\n    importlib.import_module('brdp.ledger')"),
    ("noise/base.py", "from brdp.privacy import curve"),  # excepted only when lazy
    ("noise/base.py", "def f():\n    from brdp.planning import plan"),
    ("noise/laplace.py", "if TYPE_CHECKING:\n    from brdp.data import table"),
    ("errors.py", "from brdp.noise import Laplace"),
    ("_validate.py", "from brdp.noise import Laplace"),
    ("noise/laplace.py", "import pandas"),
    ("noise/laplace.py", "class A:\n    from rich import table"),
    ("noise/laplace.py", "try:\n    import numba\nexcept ImportError:\n    numba = None"),
    ("planning/single.py", "def f():\n    from brdp.paper import formulas"),
    ("curator.py", "from brdp.paper import formulas"),
    ("__init__.py", "from brdp.paper import formulas"),
    ("audit/run.py", "from brdp.noise.sampler import draw\nfrom brdp.data import totals"),
    ("cli/query.py", "from brdp.noise import sampler\ndef f():\n    import brdp.data.totals"),
    (
        "cli/query.py",
        "from brdp.curator.prepare import sampler_of\nfrom brdp.data import exact_totals",
    ),
    ("service/app.py", "from brdp.noise.release import bits\nfrom brdp.data import open_source"),
    ("cli/query.py", "from brdp.data import exact_totals"),
    ("curator/session.py", "from brdp.data.totals import exact_totals"),
    ("planning/single.py", "from brdp import Laplace"),
    ("planning/single.py", "import brdp"),
    ("__main__.py", "from brdp.noise import Laplace"),
]


@pytest.mark.parametrize("path, source", BAD_SOURCES)
def test_control_bad_sources_are_caught(path: str, source: str) -> None:
    assert len(faults_of(source, path)) == 1


GOOD_SOURCES = [
    ("noise/laplace.py", "import math\nimport numpy as np\nfrom scipy import special"),
    ("noise/laplace.py", "from brdp._validate import positive\nfrom brdp.errors import BrdpError"),
    (
        "noise/laplace.py",
        "from .base import Noise\nfrom . import base\nfrom .._extras import require",
    ),
    ("noise/base.py", "def privacy(self):\n    from brdp.privacy import curve"),
    ("noise/base.py", "if typing.TYPE_CHECKING:\n    from brdp.privacy import Curve"),
    ("planning/plot.py", "def plot():\n    import matplotlib.figure"),
    ("planning/single.py", "from brdp.noise import Laplace\nfrom brdp import privacy"),
    ("curator/draw.py", "from brdp.noise.sampler import draw\nfrom brdp.data import totals"),
    ("curator/prepare.py", "from brdp.noise.sampler import draw\nfrom brdp.data import Engine"),
    ("audit/run.py", "from brdp.noise.sampler import draw"),
    (
        "cli/reproduce.py",
        "import brdp\nfrom brdp.paper import formulas\nfrom brdp.cli import table",
    ),
    ("__init__.py", "from brdp.noise import Laplace\nfrom brdp.planning import plan"),
    ("__main__.py", "from brdp.cli import main"),
]


@pytest.mark.parametrize("path, source", GOOD_SOURCES)
def test_good_sources_pass(path: str, source: str) -> None:
    assert faults_of(source, path) == []
