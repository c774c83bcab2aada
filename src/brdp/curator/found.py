"""Groups found in the data: which law names them for a question, and what that costs. Reads no data.

A question says how small a group it can afford to lose: `GROUPS_OF 50` asks that a group of 50 units or more is
named as often as its confidence says. The least epsilon that does so is part of its price, and so is a delta.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from brdp.catalog.table import Table
from brdp.catalog.unit import ColumnUnit
from brdp.curator.display import percent
from brdp.curator.release import up_to_float
from brdp.curator.results import Found
from brdp.data.private_groups import groups_changed
from brdp.errors import BrdpError, BudgetExceeded, NotPossible
from brdp.ledger import Ledger
from brdp.privacy.filters import Filter, RenyiFilter, SumFilter
from brdp.privacy.filters.renyi import ELSEWHERE
from brdp.privacy.partition import PartitionSelection
from brdp.query.model import DEFAULT_CONFIDENCE, Query

# A Renyi filter keeps a part of delta for what is known by an (epsilon, delta) alone: so many questions share it.
QUESTIONS = 100
LARGEST_EPSILON = 100.0
DIGITS = Context(prec=4, rounding=ROUND_CEILING)
HALVINGS = 60


def chance_of_naming(query: Query) -> float:
    """How often a group of `groups_of` units is to be named."""
    return float(query.confidence or DEFAULT_CONFIDENCE)


def selection_for(query: Query, table: Table, filter: Filter) -> PartitionSelection | None:
    """The law that names the groups of a resolved query; None where its keys are public."""
    if query.groups_of is None:
        return None
    delta = _delta_for(filter)
    return _least(query.groups_of, chance_of_naming(query), delta, groups_changed(table))


def _delta_for(filter: Filter) -> float:
    if isinstance(filter, SumFilter):
        return filter.delta_each
    if isinstance(filter, RenyiFilter):
        return filter.delta * float(ELSEWHERE) / QUESTIONS
    raise NotPossible(
        "expected a budget with a delta above 0, for groups found in the data: the first unit of a group is seen "
        "with probability delta; got delta 0. List the groups, or let the owner grant a delta."
    )


@functools.lru_cache(maxsize=64)
def _least(units: int, chance: float, delta: float, groups: int) -> PartitionSelection:
    """The law of the least epsilon that names a group of so many units this often."""
    low, high = 0.0, LARGEST_EPSILON
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _about(units, middle / groups, delta / groups) < chance:
            low = middle
        else:
            high = middle
    epsilon = Decimal(high)
    while epsilon < LARGEST_EPSILON:
        # a figure that people can read, and then the exact law has the last word
        epsilon = DIGITS.create_decimal(epsilon)
        law = PartitionSelection(epsilon=float(epsilon), delta=delta, groups=groups)
        if float(law.probability(units=units)) >= chance:
            return law
        epsilon *= Decimal("1.0005")
    raise NotPossible(
        f"expected groups large enough to be named with probability {chance:g}; got groups of {units}, of which "
        f"one unit may be seen with probability {delta:g} at most. Ask for GROUPS_OF a larger number of units."
    )


def _about(units: int, epsilon: float, delta: float) -> float:
    """The law of brdp.privacy.partition in closed form: it rises by e^epsilon, then its distance from 1 falls so."""
    growth = math.expm1(epsilon)
    if growth == 0:
        return units * delta
    # the last number of units at which the first of both conditions is the tighter one
    turn = 1 + math.floor(math.log1p((1 - delta) / (2 + growth) * growth / delta) / epsilon)
    risen = delta * math.expm1(min(units, turn) * epsilon) / growth
    left = delta / growth
    return 1 - max(0.0, (1 - risen + left) * math.exp(-max(0, units - turn) * epsilon) - left)


# ---- in words --------------------------------------------------------------------------------------------


def found_of(selection: PartitionSelection, query: Query) -> Found:
    """What a price and an answer say of the groups: all of it public."""
    units = query.groups_of or 0
    return Found(
        epsilon=selection.epsilon,
        delta=selection.delta,
        units=units,
        chance=float(selection.probability(units=units)),
        half=selection.units_for(probability=0.5),
        rarely=selection.units_for(probability=0.001),
        alone=up_to_float(selection.probability(units=1)),
    )


def notes_of(found: Found, column: str, table: Table) -> list[str]:
    """What is lost, in words and without a number from the data."""
    notes = [
        f"Groups of {column} were found in the data. One of {found.units:,} units or more is named in "
        f"{percent(found.chance)} of answers or more, one of {found.half:,} in half of them, one of "
        f"{found.rarely:,} hardly ever; one of a single unit with probability {found.alone:.2g}.",
        "Groups that are not named are left out, and what was in them is counted nowhere: how much that is, and "
        "how many they are, cannot be told.",
    ]
    if isinstance(table.unit, ColumnUnit):
        groups = "1 group" if table.group_limit == 1 else f"{table.group_limit:,} groups"
        notes.append(
            f"While groups were found, each {table.unit.column} counted in at most {groups}."
        )
    return notes


# ---- in the ledger ---------------------------------------------------------------------------------------


def describe_selection(selection: PartitionSelection | None) -> tuple[dict[str, Any], ...]:
    """What a charge says of the groups that it names: none, or a spend with the law's own numbers."""
    if selection is None:
        return ()
    spend = {"epsilon": selection.epsilon, "delta": selection.delta}
    return ({"spend": spend, "partition": {"groups": selection.groups}},)


def read_selection(
    entries: Iterable[Mapping[str, Any]], query: Query, table: Table
) -> PartitionSelection | None:
    """The law that was charged; refused where it is not by today's rules of how many groups may change."""
    found = [entry for entry in entries if "partition" in entry]
    if (len(found) == 1) != (query.groups_of is not None) or len(found) > 1:
        raise BrdpError(
            "expected a charge for groups found in the data; got one of another version of brdp. It released "
            "nothing: ask for GROUPS_OF another number of units."
        )
    if not found:
        return None
    spend, groups = found[0]["spend"], found[0]["partition"]["groups"]
    if groups < groups_changed(table):
        raise BrdpError(
            "expected a charge by today's rules for an interrupted question; got one of another version of brdp. "
            "It released nothing: ask for GROUPS_OF another number of units."
        )
    return PartitionSelection(epsilon=spend["epsilon"], delta=spend["delta"], groups=groups)


def pay_again(selection: PartitionSelection, *, ledger: Ledger, table: str, analyst: str) -> None:
    """Charge the naming of an interrupted question once more, durably, before groups are named anew.

    Totals are asked of the groups that were named, and of none where none was: that an attempt failed (by
    a limit on time or memory) may tell what it named. With attempts for nothing, someone could count failures
    until a group of one unit shows.
    """
    spent = {"epsilon": selection.epsilon, "delta": selection.delta}
    note = "groups named anew: the question was interrupted"
    try:
        ledger.spend(table, **spent, note=note, analyst=analyst)
    except BudgetExceeded:
        raise BudgetExceeded(
            f"expected a budget that pays for finding groups once more, epsilon {selection.epsilon:g} and delta "
            f"{selection.delta:g}; got less. This question was charged and then interrupted, and that alone may tell "
            "which groups were named. Nothing more was charged or named."
        ) from None
