"""A question, as a frozen value: the one thing that SQL text and the fluent calls both become."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from brdp._validate import whole
from brdp.catalog.table import Key, check_keys, check_rows
from brdp.errors import InvalidInput
from brdp.query.aggregate import Aggregate
from brdp.query.condition import Condition, check_depth

MOST_AGGREGATES = 100
MOST_GROUP_COLUMNS = 8
DEFAULT_CONFIDENCE = Fraction(95, 100)
# A unit is in a sample if so many bits of its keyed hash, read as a number, are below a threshold: so the
# rate is a float, without rounding.
SAMPLE_BITS = 52
LEAST_SAMPLE = Fraction(1, 1_000_000)
MOST_UNITS_OF_GROUPS = 100_000


@final
@dataclass(frozen=True)
class Item:
    """One aggregate, the name of its answer and the error bound asked for."""

    aggregate: Aggregate
    name: str
    within: Fraction | None = None

    def __post_init__(self) -> None:
        if not self.name or "\x00" in self.name:
            raise InvalidInput("name", expected="a name for the answer", got=self.name)
        if self.within is not None and not self.within > 0:
            raise InvalidInput(
                f"within of {self.name}",
                expected="an error bound above 0",
                got=float(self.within),
                remedy="No noise stays within 0: ask for the error that you can accept.",
            )


@final
@dataclass(frozen=True)
class Group:
    """A column to group by; `keys` are its public values, or None for those that WHERE or the
    catalog list.
    """

    column: str
    keys: tuple[Key, ...] | None = None

    def __post_init__(self) -> None:
        if self.keys is not None:
            check_keys(self.keys, argument=f"keys of {self.column}")


@final
@dataclass(frozen=True)
class Query:
    """A question: what, of which rows, for which groups, and how exact or how dear it may be.

    Of error bounds, confidence and epsilon, two decide the third. Bounds without epsilon take the
    confidence, 95 % by default, and cost what that needs. With epsilon, bounds are met as often as
    epsilon allows, or (given a confidence, or nothing more) as tight as it allows. `simultaneous`
    makes the confidence hold for all cells of the answer together. `sample` answers from a secret sample
    of units at that rate; bounds of sums and counts are then promised for `rows_at_most` rows of a group.
    `groups_of` finds the keys of one column in the data: a group of so many units or more is named as often as
    the confidence says (95 % where none is given).
    """

    table: str
    items: tuple[Item, ...]
    where: Condition | None = None
    group_by: tuple[Group, ...] = ()
    confidence: Fraction | None = None
    epsilon: Fraction | None = None
    simultaneous: bool = False
    rows_at_least: int | None = None
    rows_at_most: int | None = None
    sample: Fraction | None = None
    groups_of: int | None = None

    def __post_init__(self) -> None:
        if not self.table:
            raise InvalidInput("table", expected="a table's name", got=self.table)
        if not 1 <= len(self.items) <= MOST_AGGREGATES:
            raise InvalidInput(
                "query", expected=f"1 to {MOST_AGGREGATES} aggregates", got=len(self.items)
            )
        if len(self.group_by) > MOST_GROUP_COLUMNS:
            raise InvalidInput(
                "GROUP BY", expected=f"at most {MOST_GROUP_COLUMNS} columns", got=len(self.group_by)
            )
        _once("name of an answer", [item.name for item in self.items])
        _once("column of GROUP BY", [group.column for group in self.group_by])
        if self.where is not None:
            check_depth(self.where)
        if self.rows_at_least is not None:
            object.__setattr__(self, "rows_at_least", whole(rows_at_least=self.rows_at_least))
        if self.rows_at_most is not None:
            object.__setattr__(self, "rows_at_most", whole(rows_at_most=self.rows_at_most))
        check_rows(self.rows_at_least, self.rows_at_most)
        if self.sample is not None:
            check_sample(self.sample)
        if self.groups_of is not None:
            self._check_groups_of()
        if self.confidence is not None and not 0 < self.confidence < 1:
            raise InvalidInput(
                "confidence",
                expected="a number in (0, 1), both ends left out",
                got=float(self.confidence),
                remedy="No finite noise is certain to stay within a bound: ask for 0.95 or 0.99.",
            )
        if self.epsilon is not None and not self.epsilon > 0:
            raise InvalidInput(
                "epsilon", expected="a finite number above 0", got=float(self.epsilon)
            )
        self._check_bounds()

    def _check_groups_of(self) -> None:
        units = whole(groups_of=self.groups_of)
        object.__setattr__(self, "groups_of", units)
        if units > MOST_UNITS_OF_GROUPS:
            raise InvalidInput("groups_of", expected=f"at most {MOST_UNITS_OF_GROUPS:,}", got=units)
        if not self.group_by:
            raise InvalidInput(
                "groups_of",
                expected="a GROUP BY whose keys are to be found",
                got="none",
                remedy="Add GROUP BY, or leave GROUPS_OF out.",
            )
        for clause, given in (("SAMPLE", self.sample), ("SIMULTANEOUS", self.simultaneous)):
            if given:
                raise InvalidInput(
                    "groups_of",
                    expected=f"a query without {clause}",
                    got=clause,
                    remedy="How many groups will be found is not known beforehand."
                    if self.simultaneous
                    else "Groups found in a sample are not there yet.",
                )

    def _check_bounds(self) -> None:
        unbounded = [item.name for item in self.items if item.within is None]
        if self.epsilon is None and unbounded:
            raise InvalidInput(
                f"within of {unbounded[0]}",
                expected="an error bound for every aggregate, or an epsilon for the query",
                got="neither",
                remedy="Add WITHIN 20 after the aggregate, or EPSILON 0.5 at the end.",
            )
        if (
            self.epsilon is not None
            and self.confidence is not None
            and len(unbounded) < len(self.items)
        ):
            raise InvalidInput(
                "query",
                expected="two of error bounds, confidence and epsilon",
                got="all three",
                remedy="Two of them decide the third: leave one out.",
            )

    @property
    def sampling_rate(self) -> Fraction | None:
        """The probability with which a unit is in the sample: the rate asked for, rounded down to a
        multiple of 2^-52. This, and not what was asked for, is accounted and rescaled by.
        """
        if self.sample is None:
            return None
        return Fraction(int(self.sample * (1 << SAMPLE_BITS)), 1 << SAMPLE_BITS)

    @property
    def promised_confidence(self) -> Fraction | None:
        """The confidence to plan for; None where epsilon and bounds decide it."""
        if self.confidence is not None:
            return self.confidence
        bounded = any(item.within is not None for item in self.items)
        return None if self.epsilon is not None and bounded else DEFAULT_CONFIDENCE


def check_sample(rate: Fraction) -> None:
    """Refuse the rates that are no sample."""
    if not LEAST_SAMPLE <= rate < 1:
        raise InvalidInput(
            "sample",
            expected="a rate from 0.0001 % to below 100 %",
            got=float(rate),
            remedy="Write SAMPLE 1 % or SAMPLE 0.01; leave SAMPLE out to ask all rows.",
        )


def _once(what: str, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InvalidInput(what, expected="each one once", got=name)
        seen.add(name)
