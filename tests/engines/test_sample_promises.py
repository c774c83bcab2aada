"""What was promised of a sample against what is drawn, in every engine, for the worst tables there are.

All values lie at the end of their range and every group has as many rows as were allowed for. Then the law of an answer
is a binomial number of rows and the noise, and how often it is within its bound is known to all digits: that it is
worked out here, and draws are held to it two-sidedly at a false-alarm rate of 1e-6 each; the promise must not be above
it. The control has sixteen times the rows: for it the promise must fail.
"""

from __future__ import annotations

import numpy as np
import pyarrow
import pytest
import scipy

from brdp.data import open_source
from tests.engines.asking import GROUPS, curator_of

FALSE_ALARM = 1e-6
ROWS = 256  # of each group
LARGEST = 49
# bounds of about one and a half standard deviations of the sampling error
WITHIN = {"0.01": 1.6, "0.1": 1.6, "0.5": 1.6}
KINDS = {
    "count": (1, "COUNT(*)"),
    "sum": (LARGEST, "SUM(v)"),
    "mean": (LARGEST / 2, "AVG(v) SIZE 256"),
}


def question(kind: str, rate: str, within: float) -> str:
    most = "" if kind == "mean" else f" ROWS_AT_MOST {ROWS}"
    return (
        f"SELECT part, {KINDS[kind][1]} AS a WITHIN {within!r} FROM people GROUP BY part EPSILON 2 "
        f"SAMPLE {rate}{most}"
    )


def bound_of(kind: str, rate: str) -> float:
    p = float(rate)
    rows = WITHIN[rate] * (ROWS * (1 - p) / p) ** 0.5
    return round(KINDS[kind][0] * rows / (ROWS if kind == "mean" else 1) + 0.013, 3)


def exact_acceptance(release, kind: str, rate: str, within: float) -> float:
    """By the law of the rows in the sample and that of the noise, term by term."""
    p, each = float(rate), KINDS[kind][0]
    taken = np.arange(ROWS + 1)
    chances = scipy.stats.binom.pmf(taken, ROWS, p)
    step = float(release.lattice.noise.step)
    scale = ROWS if kind == "mean" else 1
    most = float(within) * scale * p
    # |taken * each + step z - ROWS p each| <= within p
    low = np.ceil((-most + ROWS * p * each - taken * each) / step - 1e-9)
    high = np.floor((most + ROWS * p * each - taken * each) / step + 1e-9)
    masses = np.array(
        [
            np.exp(release.noise.log_mass(a, b)) if b >= a else 0.0
            for a, b in zip(low, high, strict=True)
        ]
    )
    return float(chances @ masses)


def kept_of(place, kind: str, rate: str, answers: int, times: int = 1):
    parts = [index % GROUPS for index in range(GROUPS * ROWS * times)]
    source = place(pyarrow.table({"part": parts, "v": [LARGEST] * len(parts)}))
    engine = open_source(source)
    within = bound_of(kind, rate)
    true = {"count": ROWS * times, "sum": LARGEST * ROWS * times, "mean": LARGEST}[kind]
    kept, promised, exact = 0, 0.0, 0.0
    try:
        for _ in range(answers):
            # a fresh ledger each time: the same question of one ledger would be replayed
            curator = curator_of(source, ":memory:", opener=lambda source: engine)
            text = question(kind, rate, within)
            (release,) = curator.prepare(text).releases
            exact = exact_acceptance(release, kind, rate, within)
            for row in curator.ask(text).rows:
                cell = row.cells["a"]
                promised = cell.confidence
                kept += abs(cell.value - true) <= within + 1e-9
            curator.ledger.close()
    finally:
        engine.close()
    return kept, answers * GROUPS, promised, exact


def check(place, kind: str, rate: str, answers: int) -> None:
    kept, cells, promised, exact = kept_of(place, kind, rate, answers)
    assert 0.05 < promised <= exact < 0.999
    assert scipy.stats.binomtest(kept, cells, exact).pvalue > FALSE_ALARM
    off = 10 * (0.25 / cells) ** 0.5
    for wrong in (max(exact - off, 1e-9), min(exact + off, 1 - 1e-9)):
        assert scipy.stats.binomtest(kept, cells, wrong).pvalue < FALSE_ALARM


QUICK = [("count", "0.01"), ("count", "0.1"), ("count", "0.5"), ("sum", "0.1"), ("mean", "0.5")]


@pytest.mark.parametrize(("kind", "rate"), QUICK)
def test_answers_are_within_their_bound_as_often_as_planned(place, kind: str, rate: str) -> None:
    check(place, kind, rate, 4)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("rate", WITHIN)
@pytest.mark.parametrize("kind", KINDS)
def test_twenty_thousand_answers(place, kind: str, rate: str) -> None:
    check(place, kind, rate, 200)


def test_control_with_more_rows_than_were_allowed_for_the_promise_fails() -> None:
    from tests.engines.places import in_duckdb

    kept, cells, promised, _ = kept_of(in_duckdb, "count", "0.5", 12, times=16)
    assert scipy.stats.binom.cdf(kept, cells, promised) < FALSE_ALARM


def test_a_mean_by_sum_and_count_keeps_its_bound_at_least_as_often(place) -> None:
    """Half of the values at either end of their range, as few rows as were promised; one-sided at 1e-6."""
    values = [LARGEST * (index % 2) for index in range(GROUPS * ROWS)]
    parts = [index // 2 % GROUPS for index in range(GROUPS * ROWS)]
    source = place(pyarrow.table({"part": parts, "v": values}))
    engine = open_source(source)
    kept = cells = 0
    for _ in range(2):
        curator = curator_of(source, ":memory:", opener=lambda source: engine)
        answer = curator.ask(
            "SELECT part, AVG(v) AS a WITHIN 8 FROM people GROUP BY part CONFIDENCE 0.7 SAMPLE 0.5 "
            f"ROWS_AT_LEAST {ROWS}"
        )
        for row in answer.rows:
            cell = row.cells["a"]
            assert 0.7 <= cell.confidence < 0.75
            kept += abs(cell.value - LARGEST / 2) <= 8
            cells += 1
        curator.ledger.close()
    engine.close()
    assert scipy.stats.binom.cdf(kept, cells, 0.7) > FALSE_ALARM
