"""Answers and prices as text for people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from brdp.catalog.table import Key
    from brdp.curator.results import Answer, Cell, Found, OfAllRows, Price, Value

ASKED_DIGITS = (
    8  # people ask for bounds of few digits; those that follow from noise have all of a float's
)
LONGEST_PLAIN, MOST_DECIMALS = 15, 12
LONGEST_KEY = 80  # an answer as data has all of it


@final
@dataclass(frozen=True, slots=True)
class Sheet:
    """One table to show; its first `keys` columns are names, the others numbers."""

    keys: int
    lines: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.lines, strict=True)]
        return "\n".join(
            "  ".join(
                text.ljust(width) if index < self.keys else text.rjust(width)
                for index, (text, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in self.lines
        )


def sheets(answer: Answer) -> list[Sheet]:
    """The answer as tables: one of all single numbers, then one for each histogram, a line for each bin."""
    if not answer.rows:
        return []
    first = answer.rows[0]
    keys = tuple(first.key)
    single = [name for name, cell in first.cells.items() if not cell.edges]
    found = []
    if single:
        lines = [(*keys, *single)]
        lines += [
            (*map(key_text, row.key.values()), *(cell_text(row.cells[name]) for name in single))
            for row in answer.rows
        ]
        found.append(Sheet(len(keys), tuple(lines)))
    for name in (name for name in first.cells if name not in single):
        lines = [(*keys, name, "count")]
        for row in answer.rows:
            cell = row.cells[name]
            values = cell.value if isinstance(cell.value, tuple) else (cell.value,)
            lines += [
                (
                    *map(key_text, row.key.values()),
                    bin_,
                    number(value, cell.within) + within_text(cell),
                )
                for bin_, value in zip(_bins(cell.edges), values, strict=True)
            ]
        found.append(Sheet(len(keys) + 1, tuple(lines)))
    return found


def key_text(key: Key) -> str:
    """A key on one line: one that was found in the data may hold line ends, or orders to a terminal."""
    text = str(key)
    if len(text) > LONGEST_KEY:
        text = f"{text[: LONGEST_KEY - 1]}…"
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


def answer_text(answer: Answer) -> str:
    """Aligned tables, what it cost, and the notes."""
    if not answer.rows:
        return "no group was named\n\n" + remarks(answer)
    return "\n\n".join([*map(str, sheets(answer)), remarks(answer)])


def answer_html(answer: Answer) -> str:
    """The same for a notebook."""
    parts = []
    for sheet in sheets(answer):
        head, *lines = (
            "".join(
                f'<{tag} style="text-align:{"left" if index < sheet.keys else "right"}">{escape(text)}</{tag}>'
                for index, text in enumerate(line)
            )
            for tag, line in zip(("th", *["td"] * len(sheet.lines)), sheet.lines, strict=False)
        )
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    return "".join(parts) + f"<small>{escape(remarks(answer)).replace(chr(10), '<br>')}</small>"


def remarks(answer: Answer) -> str:
    """What it cost, and the notes."""
    if answer.replayed:
        cost = "answered before: free"
    elif answer.epsilon == 0:
        cost = "charged before, when it was interrupted: free"
    else:
        cost = f"cost epsilon {answer.epsilon:.4g} at delta {answer.delta:.3g}"
    return "\n".join([cost, *answer.notes])


def cell_text(cell: Cell) -> str:
    """A number with its bound."""
    return number(cell.value, cell.within) + within_text(cell)


def within_text(cell: Cell) -> str:
    """The bound behind a number."""
    return "" if cell.within is None else f" ±{bound(cell.within)}"


def bound(within: float) -> str:
    """A bound: as it was asked, or four digits, rounded up."""
    exact = Decimal(repr(float(within)))
    if not exact.is_finite() or exact == 0:
        return f"{within:g}"
    if len(exact.normalize().as_tuple().digits) > ASKED_DIGITS:
        exact = Context(prec=4, rounding=ROUND_CEILING).create_decimal(exact)
    if not -5 < exact.adjusted() < LONGEST_PLAIN:
        return f"{exact.normalize():e}"
    return _plain(exact)


def percent(chance: float) -> str:
    """A probability, rounded down: 95 %, 98.73 %, 99.99999 %."""
    exact = 100 * Decimal(repr(float(chance)))
    digits = 2 if chance < 0.9999 or chance >= 1 else 1 - (100 - exact).adjusted()
    rounded = exact.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_FLOOR)
    return f"{_plain(rounded)} %"


def _plain(number: Decimal) -> str:
    text = f"{number:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _bins(edges: tuple[float, ...]) -> list[str]:
    closing = [")"] * (len(edges) - 2) + ["]"]
    return [
        f"[{low:,.6g}, {high:,.6g}{end}"
        for (low, high), end in zip(pairwise(edges), closing, strict=True)
    ]


def price_text(price: Price) -> str:
    """What it costs, in a few lines."""
    if price.free:
        return "free: it has been answered before, at least as exactly"
    if price.epsilon_by_rows:
        most = "ROWS_AT_MOST" in price.clauses
        limit = "" if len(price.clauses) > 1 else " or fewer" if most else " or more"
        known = [
            f"  {rows:>7,} rows{limit}: epsilon {epsilon:.4g}"
            for rows, epsilon in price.epsilon_by_rows.items()
        ]
        what = "an answer from a sample" if most else "a mean"
        head = f"the price of {what} depends on how many rows every group is known to have:"
        tail = f"say so with {' and '.join(price.clauses)}, if that is known without looking at the data"
        return "\n".join([head, *known, tail])
    lines = []
    if math.isfinite(price.epsilon):
        lines.append(f"costs epsilon {price.epsilon:.4g} at delta {price.delta:.3g}")
    lines += [
        f"{name}: within ±{bound(within)} in {percent(price.kept[name])} of answers"
        for name, within in price.bounds.items()
    ]
    if price.sample is not None:
        lines += _sample_lines(price.sample)
    if price.found is not None:
        lines += _found_lines(price.found)
    if price.reachable:
        fit = "question fits" if price.remaining_queries == 1 else "questions fit"
        lines.append(f"about {price.remaining_queries:,} such {fit} what is left")
    else:
        lines.append("more than is left of the budget" if lines else "no noise keeps such a bound")
        if price.found is not None and price.nearest is None:
            lines.append(
                "groups so small take too much by themselves: ask for GROUPS_OF more units"
            )
        if price.nearest is not None:
            bounds = ", ".join(f"{name} ±{bound(b)}" for name, b in price.nearest.within.items())
            lines.append(
                f"the nearest bound that fits: {bounds}, for epsilon {price.nearest.epsilon:.4g}"
            )
    return "\n".join(lines)


def _found_lines(found: Found) -> list[str]:
    """What finding the groups costs and may lose."""
    return [
        f"of that, epsilon {found.epsilon:.4g} and delta {found.delta:.3g} are for finding the groups:",
        f"  one of {found.units:,} units is named in {percent(found.chance)} of answers, one of "
        f"{found.half:,} in half of",
        f"  them, one of {found.rarely:,} in a thousandth, a single unit's with probability {found.alone:.2g}",
    ]


def _sample_lines(sample: OfAllRows) -> list[str]:
    """What a sample saves in time and what it costs in error."""
    share = f"{100 * sample.rate:.6g} %"
    lines = [
        f"of a sample of {share}: every row is read and its unit hashed once, but only {share} of the units are "
        "held to their limits and added up"
    ]
    alike = ", ".join(f"{name} ±{bound(within)}" for name, within in sample.within.items())
    if sample.epsilon is not None:
        lines.append(f"all rows would cost epsilon {sample.epsilon:.4g} for the same bounds")
    if alike:
        lines.append(f"all rows would keep {alike} for the same epsilon")
    return lines


def number(value: Value, within: float | None = None) -> str:
    """A number, or a histogram's numbers, for a table: to a hundredth of its bound, or six digits."""
    if isinstance(value, tuple):
        return " ".join(number(one, within) for one in value)
    if not math.isfinite(value) or abs(value) >= 10.0**LONGEST_PLAIN:
        return f"{value:g}"
    if value == int(value):
        return f"{int(value):,}"
    digits = 5 - math.floor(math.log10(abs(value)))
    if within is not None and 0 < within < math.inf:
        digits = 2 - math.floor(math.log10(within))
    return f"{value:,.{min(max(digits, 0), MOST_DECIMALS)}f}"
