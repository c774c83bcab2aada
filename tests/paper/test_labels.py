"""Every algorithm, theorem, remark, proposition and numbered equation of the paper has its function."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

FORMULAS = Path(__file__).parents[2] / "src" / "brdp" / "paper" / "formulas"

LABELS = (
    *(f"Algorithm {i}" for i in range(1, 5)),
    *(f"Theorem {i}" for i in range(1, 5)),
    *(f"Remark {i}" for i in range(1, 6)),
    *(f"Proposition {i}" for i in range(1, 8)),
    "DP:def", "eq:utility", "noise_dist", "eq:pytheta", "eq:barpytheta", "PLD_BR-DP", "eq:l", "eq:W",
    "eq:deltaGamma", "eq:delta'", "eq:post", "eq:budget", "eq:budget2", "Definition 2",
    "Appendix A", "Appendix C", "Appendix G",
)  # fmt: skip


def documented() -> list[str]:
    return [
        ast.get_docstring(node) or ""
        for path in FORMULAS.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]


@pytest.mark.parametrize("label", LABELS)
def test_a_function_bears_the_label(label: str) -> None:
    pattern = re.compile(rf"(?<!\w){re.escape(label)}(?!\w)")
    assert any(pattern.search(text) for text in documented())


NAMED = re.compile(
    r"(?:Algorithm|Theorem|Remark|Proposition|Definition|Appendix) [0-9A-Z]+\b|eq:[A-Za-z0-9]+'?"
)
"""How a text points into the paper."""
ALSO_IN_THE_PAPER = {"Appendix D", "Appendix E"}  # proofs, with no formula that stands elsewhere


def labels_in(text: str) -> set[str]:
    return set(NAMED.findall(text))


def test_no_source_points_to_a_label_that_the_paper_does_not_have() -> None:
    pointed = {
        label
        for path in FORMULAS.parent.rglob("*.py")
        for label in labels_in(path.read_text(encoding="utf-8"))
    }
    assert pointed <= {*LABELS, *ALSO_IN_THE_PAPER}
    assert set(filter(NAMED.fullmatch, LABELS)) <= pointed


def test_control_labels_that_the_paper_does_not_have() -> None:
    assert not any("Theorem 5" in text for text in documented())
    found = labels_in("Theorem 5, Proposition 12 and (eq:nothing'), as in Algorithm 4")
    assert found == {"Theorem 5", "Proposition 12", "eq:nothing'", "Algorithm 4"}
    assert len(found - set(LABELS)) == 3
