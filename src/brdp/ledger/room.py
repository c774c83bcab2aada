"""Room for budgets: which is a table's own, what may be divided further, and what fits."""

from __future__ import annotations

from fractions import Fraction

from brdp.errors import BudgetExceeded, InvalidInput
from brdp.ledger.records import BudgetStatus, Period
from brdp.privacy.filters import Amounts, Filter, FilterState


def own(budgets: tuple[BudgetStatus, ...], table: str) -> BudgetStatus:
    """The table's own budget; refused where there is none."""
    for budget in budgets:
        if budget.analyst is None and budget.period is None:
            return budget
    raise BudgetExceeded(
        f"table {table}: expected a budget; got none. Let the owner create one: [tables.{table}.budget] "
        "in brdp.toml."
    )


def paid(budget: BudgetStatus, state: FilterState, price: Amounts) -> FilterState:
    """What a budget in this state is after a charge; a refusal names the budget."""
    try:
        return state.pay(price)
    except BudgetExceeded as error:
        raise BudgetExceeded(f"{budget.name}: {error}") from None


def check_room(
    existing: tuple[BudgetStatus, ...],
    table: str,
    filter: Filter,
    analyst: str | None,
    period: Period | None,
) -> None:
    """Refuse a budget that would be a second one, or more than its table has left to divide.

    Guarantee: sub-budgets of one sort (for analysts, for periods, for both) never add up to more than the table's.
    """
    if analyst is None and period is None:
        if existing:
            raise InvalidInput(
                "budget",
                expected=f"one budget for table {table}",
                got="a second one",
                remedy="A budget is fixed when it is created: what was promised cannot be changed later.",
            )
        return
    whole = own(existing, table)
    if whole.filter.narrowed(epsilon=filter.epsilon, delta=filter.delta) != filter:
        raise InvalidInput(
            "filter",
            expected="the kind of filter that the table's budget has",
            got=filter.to_dict(),
        )
    sort = [
        b
        for b in existing
        if b is not whole
        and (b.analyst is None, b.period is None) == (analyst is None, period is None)
    ]
    for b in sort:
        overlap = (
            b.period is None
            or period is None
            or (b.period.start < period.end and period.start < b.period.end)
        )
        if b.analyst == analyst and overlap:
            raise InvalidInput(
                "budget", expected="one budget for an analyst and period", got="a second one"
            )
    for name, total, parts in (
        ("epsilon", whole.filter.epsilon, [b.filter.epsilon for b in sort] + [filter.epsilon]),
        ("delta", whole.filter.delta, [b.filter.delta for b in sort] + [filter.delta]),
    ):
        # as they are written, so that 0.1 and 0.2 are 0.3; a charge counts against the table's all the same
        together = sum(Fraction(str(part)) for part in parts)
        if together > Fraction(str(total)):
            raise InvalidInput(
                name,
                expected=f"sub-budgets that add up to at most the table's {total:g}",
                got=float(together),
                remedy="Give the parts less.",
            )
