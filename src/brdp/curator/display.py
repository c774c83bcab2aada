"""Answers and prices as text for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brdp.curator.results import Answer, Price, Value


def answer_text(answer: Answer) -> str:
    """An aligned table, what it cost, and the notes."""
    names = list(answer.rows[0].cells) if answer.rows else []
    keys = list(answer.rows[0].key) if answer.rows else []
    lines = [[*keys, *names]]
    for row in answer.rows:
        cells = [
            number(cell.value) + ("" if cell.within is None else f" ±{cell.within:,.4g}")
            for cell in row.cells.values()
        ]
        lines.append([*map(str, row.key.values()), *cells])
    widths = [max(len(line[index]) for line in lines) for index in range(len(lines[0]))]
    table = [
        "  ".join(
            text.ljust(width) if index < len(keys) else text.rjust(width)
            for index, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    cost = (
        "answered before: free"
        if answer.replayed
        else f"cost epsilon {answer.epsilon:.4g} at delta {answer.delta:.3g}"
    )
    return "\n".join([*table, "", cost, *answer.notes])


def price_text(price: Price) -> str:
    """What it costs, in a few lines."""
    if price.free:
        return "free: it has been answered before, at least as exactly"
    if price.epsilon_by_rows:
        known = [
            f"  {rows:>7,} rows or more: epsilon {epsilon:.4g}"
            for rows, epsilon in price.epsilon_by_rows.items()
        ]
        head = "the price of a mean depends on how many rows every group is known to have:"
        tail = "say so with ROWS_AT_LEAST, if that is known without looking at the data"
        return "\n".join([head, *known, tail])
    lines = [f"costs epsilon {price.epsilon:.4g} at delta {price.delta:.3g}"]
    lines += [
        f"{name}: within ±{bound:,.4g} in {100 * price.acceptance:.4g} % of answers"
        for name, bound in price.bounds.items()
    ]
    if price.reachable:
        lines.append(f"about {price.remaining_queries:,} such questions fit what is left")
    else:
        lines.append("more than is left of the budget")
        if price.nearest is not None:
            bounds = ", ".join(f"{n} ±{b:,.4g}" for n, b in price.nearest.within.items())
            lines.append(
                f"the nearest bound that fits: {bounds}, for epsilon {price.nearest.epsilon:.4g}"
            )
    return "\n".join(lines)


def number(value: Value) -> str:
    """A number, or a histogram's numbers, for a table."""
    if isinstance(value, tuple):
        return " ".join(number(one) for one in value)
    if math.isfinite(value) and value == int(value):
        return f"{int(value):,}"
    return f"{value:,.6g}"
