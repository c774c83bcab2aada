"""Which filter lets the most be asked, for about so many questions of one size."""

from __future__ import annotations

from brdp import _validate
from brdp.privacy.filters.amount import to_float
from brdp.privacy.filters.base import Filter
from brdp.privacy.filters.pure import PureFilter
from brdp.privacy.filters.renyi import RenyiFilter
from brdp.privacy.filters.total import SumFilter


def recommended(*, epsilon: float, delta: float, queries: int, moves: int = 1) -> Filter:
    """The filter under which the noise of `queries` equal questions may each be the least.

    `moves` is the kind of question: how many numbers of an answer one unit can change, 1 for a count or sum, 2 for a
    mean (its sum and its count), and as many times more as there are groups that a unit can be in.

    Few releases add up best plainly; many small ones by their Renyi divergences. Judged by pure releases with the
    worst noise of their epsilon, a randomised response, so that other noise only does better.
    """
    epsilon = _validate.positive(epsilon=epsilon)
    queries = _validate.whole(queries=queries)
    releases = queries * _validate.whole(moves=moves)
    if delta == 0:
        return PureFilter(epsilon)
    renyi = RenyiFilter.for_budget(epsilon=epsilon, delta=delta)
    # larger than a plain sum would allow each of them
    each = epsilon / releases * 1.01
    price = renyi.price_of_spend(epsilon=each, delta=0.0)
    limits = renyi.alternatives[:-1]
    fits = any(
        to_float(amount) * releases <= to_float(limit)
        for amount, limit in zip(price, limits, strict=False)
        if limit > 0
    )
    if fits:
        return renyi
    return SumFilter.for_queries(epsilon=epsilon, delta=delta, queries=queries)
