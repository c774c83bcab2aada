"""Learning where two worlds differ: a histogram of each column, and the log-ratios of its cells.

Nothing here is trusted: an event chosen badly proves less, never something false.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from brdp.noise.base import Floats

# A column with at most this many values is a category: a flag, a count of rounds.
FEW_VALUES = 8
MOST_CATEGORIES = 64
MOST_CELLS = 2048
# Cells hold about this many draws, so that their ratios are more than noise.
DRAWS_A_CELL = 150
DRAWS_A_CELL_AT_ENDS = 20
GROWTH_AT_ENDS = 1.2


@final
@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """The estimated log-likelihood ratio of an answer, world 0 over world 1, summed over columns."""

    categories: tuple[tuple[int, Floats], ...]
    cells: tuple[tuple[int, Floats], ...]
    ratios: tuple[Floats, ...]

    def of(self, rows: Floats) -> Floats:
        """Return the score of each answer."""
        codes = codes_of(rows, self.categories)
        if not self.cells:
            return np.asarray(self.ratios[0][codes], dtype=np.float64)
        total = np.zeros(len(rows))
        for (column, edges), ratios in zip(self.cells, self.ratios, strict=True):
            cell = np.searchsorted(edges, rows[:, column], side="left")
            total += ratios[codes * (len(edges) + 1) + cell]
        return total


def learn(zero: Floats, one: Floats) -> Score:
    """Learn the score from answers in world 0 and in world 1."""
    both = np.concatenate([zero, one])
    categories: list[tuple[int, Floats]] = []
    numeric: list[int] = []
    combinations = 1
    for column in range(both.shape[1]):
        values = np.unique(both[:, column])
        # one more for a value not seen while learning
        if len(values) <= FEW_VALUES and combinations * (len(values) + 1) <= MOST_CATEGORIES:
            categories.append((column, values))
            combinations *= len(values) + 1
        else:
            numeric.append(column)
    codes = [codes_of(rows, tuple(categories)) for rows in (zero, one)]
    if not numeric:
        ratios = log_ratio(*(np.bincount(code, minlength=combinations) for code in codes))
        return Score(tuple(categories), (), (ratios,))
    cells, all_ratios = [], []
    for column in numeric:
        edges = edges_of(both[:, column])
        counts = [
            np.bincount(
                code * (len(edges) + 1) + np.searchsorted(edges, rows[:, column], side="left"),
                minlength=combinations * (len(edges) + 1),
            )
            for code, rows in zip(codes, (zero, one), strict=True)
        ]
        cells.append((column, edges))
        all_ratios.append(log_ratio(*counts))
    return Score(tuple(categories), tuple(cells), tuple(all_ratios))


def codes_of(rows: Floats, categories: tuple[tuple[int, Floats], ...]) -> NDArray[np.int64]:
    """Number the combinations of the categories' values; a value not seen has a number of its own."""
    codes = np.zeros(len(rows), dtype=np.int64)
    for column, values in categories:
        at = np.minimum(np.searchsorted(values, rows[:, column]), len(values) - 1)
        seen = values[at] == rows[:, column]
        codes = codes * (len(values) + 1) + np.where(seen, at, len(values))
    return codes


def edges_of(values: Floats) -> Floats:
    """Cut a column into cells: each value its own where there are few, else by quantiles, finer at the ends."""
    distinct, counts = np.unique(values, return_counts=True)
    middle = max(2, min(MOST_CELLS, len(values) // DRAWS_A_CELL))
    if len(distinct) <= middle:
        return distinct[:-1]
    below = np.cumsum(counts)
    targets = np.linspace(0, len(values), middle + 1)[1:-1]
    # towards the ends cells shrink geometrically: that is where promises break
    ends = DRAWS_A_CELL_AT_ENDS * GROWTH_AT_ENDS ** np.arange(0, 80)
    ends = ends[ends < len(values) / middle]
    targets = np.concatenate([targets, ends, len(values) - ends])
    at = np.searchsorted(below, targets)
    return np.unique(distinct[np.minimum(at, len(distinct) - 2)])


def log_ratio(zero: NDArray[np.int64], one: NDArray[np.int64]) -> Floats:
    """Return the log-ratio of two histograms, drawn a little towards 0 where counts are small."""
    ratios: Floats = np.log((zero + 0.5) / (one + 0.5) * (one.sum() + 1) / (zero.sum() + 1))
    return ratios
