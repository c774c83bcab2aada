"""What the ledger's tests ask for."""

from __future__ import annotations

from fractions import Fraction

from brdp.ledger import Request
from brdp.privacy.filters import SumFilter
from brdp.privacy.filters.amount import rounded_up

TABLE = "people"
# what one charge costs: so little that a hundred thousand of them make a sensible epsilon
EACH = 2.0**-20


def filter_for(charges: int) -> SumFilter:
    """Room for so many charges of one unit each, and no more."""
    return SumFilter(epsilon=charges * EACH, delta=charges * 1e-7, delta_each=1e-12)


def request(
    name: str, *, epsilon: float = 1.0, analyst: str = "ann", bound: float = 1.0
) -> Request:
    return Request(
        table=TABLE,
        analyst=analyst,
        question=f"question {name}",
        digest=name,
        version="1",
        price=(rounded_up(epsilon * EACH), rounded_up(1e-12), rounded_up(Fraction(1, 1 << 100))),
        tau=Fraction(1, 1 << 100),
        releases=(
            {
                "noise": {"kernel": "discrete_laplace", "scale": 1.0},
                "sensitivity": 1,
                "count": 1,
            },
        ),
        promise={"bound": bound},
    )


def serves(bound: float):
    """Whether an earlier promise is at least as tight."""
    return lambda promise: promise["bound"] <= bound
