"""Operations that an engine lacks, or gives another meaning, put in terms that it has.

Queries are compiled once, in the same way for all engines (compile.py); what differs is replaced here
just before an expression becomes SQL. So no rule can be forgotten in one engine and kept in another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from brdp import _extras

Rule = Callable[[Any], Any]  # from an Ibis operation to an Ibis expression of the same type


def rewritten(expression: Any, rules: Mapping[type, Rule]) -> Any:
    """The expression with every operation that has a rule replaced."""

    def replace(node: Any, changed: Mapping[str, Any] | None) -> Any:
        current = node.__recreate__(changed) if changed else node
        rule = rules.get(type(current))
        return current if rule is None else rule(current).op()

    return expression.op().replace(replace).to_expr()


# What DuckDB reads as a double, in the regular expressions of PostgreSQL and of Java alike: white space
# around it, digits with single underscores between them. Nothing but single characters is repeated: Java
# matches a repeated group by recursion, and a text of some thousand digits ends the whole Java process.
_SPACE = r"[ \t\n\f\r\x0B]*"
_DIGITS = "[0-9][0-9_]*"
_NUMBER = rf"^{_SPACE}[+-]?({_DIGITS}(\.({_DIGITS})?)?|\.{_DIGITS})([eE][+-]?{_DIGITS})?{_SPACE}$"
_LOOSE_UNDERSCORE = "_([^0-9]|$)"
INFINITE = rf"^{_SPACE}[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?{_SPACE}$"
NEGATIVE = rf"^{_SPACE}-"


def reads_as_number(text: Any) -> Any:
    """Whether a text is a number, NaN and infinities apart. Never fails, however long the text is."""
    return text.re_search(_NUMBER) & ~text.re_search(_LOOSE_UNDERSCORE)


def infinite_by_sign(text: Any) -> Any:
    """Plus or minus infinity, by the sign in front."""
    ibis = _extras.require("ibis", extra="query")
    return text.re_search(NEGATIVE).ifelse(
        ibis.literal(float("-inf"), "float64"), ibis.literal(float("inf"), "float64")
    )
