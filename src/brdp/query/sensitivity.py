"""How far one unit can move the integers of a query: exact, from declarations and the query alone.

A unit has at most k rows in a query, in at most g groups (the data layer leaves out the others),
and every row adds a step value between two known integers, or nothing. Everything below follows
from these three facts and no float takes part (theory.md, section 8).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from brdp.catalog.table import Table
from brdp.catalog.unit import Relation
from brdp.errors import InvalidInput
from brdp.query.model import Query
from brdp.query.totals import (
    BinCount,
    CentredSum,
    Total,
    UnitCount,
    ValueSum,
    resolution_of,
)

# Of groups that are found in the data there may be any number.
ANY_NUMBER = 1 << 62


@final
@dataclass(frozen=True)
class Sensitivity:
    """How far the cells of one total move between neighbouring tables, in steps of `resolution`.

    *Guarantee:* for every pair of neighbours under the table's relation, whatever rows they hold
    and whatever the key of the bounding: no cell moves by more than `steps`, no more than `cells`
    cells move at all, and all moves together (in absolute value) are at most `total_steps`. With
    `cells == 1` the groups compose in parallel; else a release of all cells is a composition at
    the sensitivities of `moves`. tests/data/test_neighbours.py tries to break this.
    """

    steps: int
    cells: int
    total_steps: int
    resolution: Fraction

    @property
    def largest_move(self) -> Fraction:
        """The most that one cell moves, in the units of the column."""
        return self.steps * self.resolution

    @property
    def moves(self) -> tuple[int, ...]:
        """The most that the cells move, the one that moves most first.

        *Guarantee:* of numbers that add up to at most `total_steps`, the i-th largest is at most
        total_steps / i. So a release of all cells costs at most what one release at each of these
        sensitivities costs together; five rows in five groups move 5, 2, 1, 1, 1 and not five times 5.
        """
        return tuple(min(self.steps, self.total_steps // rank) for rank in range(1, self.cells + 1))


def sensitivity(total: Total, *, query: Query, table: Table) -> Sensitivity:
    """The sensitivity of one total of a resolved query; of groups to be found, whichever are named."""
    groups = _number_of_groups(query)
    rows = table.rows_per_unit
    # a unit reaches a group only with a row, so k rows reach at most k groups
    reach = min(table.group_limit, groups)
    low, high = _row_range(total)
    most = max(-low, high)
    replaced = table.relation is Relation.REPLACE
    if isinstance(total, UnitCount):
        cells = min(2 * reach, groups) if replaced else reach
        return Sensitivity(steps=1, cells=cells, total_steps=cells, resolution=Fraction(1))
    if isinstance(total, BinCount):
        every_cell = groups * total.bins
        reached = min(rows, reach * total.bins)
    else:
        every_cell = groups
        reached = min(rows, reach)
    if replaced:
        # the unit that leaves and the one that comes may move a cell in opposite directions
        steps = rows * (high - low)
        cells = min(2 * reached, every_cell)
        total_steps = min(2 * rows * most, cells * steps)
    else:
        steps = rows * most
        cells = reached
        total_steps = rows * most
    return Sensitivity(
        steps=steps, cells=cells, total_steps=total_steps, resolution=resolution_of(total)
    )


def _row_range(total: Total) -> tuple[int, int]:
    """The least and the most that a row may add to a cell; it may always add nothing."""
    if isinstance(total, ValueSum):
        return min(total.clip.low_steps, 0), max(total.clip.high_steps, 0)
    if isinstance(total, CentredSum):
        width = total.clip.high_steps - total.clip.low_steps
        return -width, width
    return 0, 1


def _number_of_groups(query: Query) -> int:
    for group in query.group_by:
        if group.keys is None and query.groups_of is not None:
            return ANY_NUMBER
        if group.keys is None:
            raise InvalidInput(
                f"GROUP BY {group.column}",
                expected="a resolved query, whose group columns have keys",
                got="none",
                remedy="Call resolve(query, table) first.",
            )
    return math.prod(len(group.keys or ()) for group in query.group_by)
