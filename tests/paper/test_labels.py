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


def test_control_a_label_that_the_paper_does_not_have() -> None:
    assert not any("Theorem 5" in text for text in documented())
