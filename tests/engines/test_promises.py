"""What was promised against what is drawn, in every engine: counts, sums and means with a public size, the
paper's kinds of queries, asked through the curator.

Each answer has a cell for each of 100 groups, with noise of its own. Tests are two-sided binomial at a
false-alarm rate of 1e-6 each, and a promise that is off by ten standard deviations (of a fair coin) must be
rejected: it is missed less often than once in 10^6.
"""

from __future__ import annotations

import pyarrow
import pytest
import scipy

from brdp.data import open_source
from tests.engines.asking import GROUPS, curator_of

FALSE_ALARM = 1e-6
SIZE = 12
NUMBERS = [(7 * index) % 50 for index in range(GROUPS * SIZE)]
KINDS = {
    "count": "COUNT(*) AS a WITHIN 3",
    "sum": "SUM(v) AS a WITHIN 60",
    "mean": f"AVG(v) SIZE {SIZE} AS a WITHIN 5",
}


def truth(kind: str, part: int) -> float:
    own = NUMBERS[part::GROUPS]
    return {"count": len(own), "sum": sum(own), "mean": sum(own) / SIZE}[kind]


def plausible(kept: int, cells: int, probability: float) -> bool:
    return scipy.stats.binomtest(kept, cells, probability).pvalue > FALSE_ALARM


def check(place, kind: str, answers: int) -> None:
    rows = {"part": [index % GROUPS for index in range(len(NUMBERS))], "v": NUMBERS}
    source = place(pyarrow.table(rows))
    engine = open_source(source)
    asked = f"SELECT {KINDS[kind]} FROM people GROUP BY part EPSILON 0.5"
    kept, planned = 0, set()
    try:
        for _ in range(answers):
            # a fresh ledger each time: the same question of one ledger would be replayed
            curator = curator_of(source, ":memory:", opener=lambda source: engine)
            for row in curator.ask(asked).rows:
                cell = row.cells["a"]
                planned.add(cell.confidence)
                # noise moves in steps that are far wider than what a double loses
                kept += abs(cell.value - truth(kind, row.key["part"])) <= cell.within + 1e-9
            curator.ledger.close()
    finally:
        engine.close()
    (promised,) = planned
    cells = answers * GROUPS
    assert 0.3 < promised < 0.99
    assert plausible(kept, cells, promised)
    off = 10 * (0.25 / cells) ** 0.5
    assert not plausible(kept, cells, max(promised - off, 1e-9))
    assert not plausible(kept, cells, min(promised + off, 1 - 1e-9))


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_within_their_bound_as_often_as_planned(place, kind: str) -> None:
    check(place, kind, 4)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", KINDS)
def test_twenty_thousand_answers(place, kind: str) -> None:
    check(place, kind, 200)
