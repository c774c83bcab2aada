"""The audit: learn where the worlds differ on one half of the draws, judge on the other.

Guarantee: for a mechanism that keeps its promise on the pair of inputs, `Report.accused` is true with
probability at most 1 - confidence; `Report.epsilon_lower` exceeds the true epsilon at the promised
delta with probability at most 1 - confidence, and so does every other lower bound in it. Events are fixed before
the draws that judge them; Clopper-Pearson bounds are exact for any sample size, and the alarm is split evenly
between all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from brdp import _validate
from brdp.audit.bounds import (
    largest_probability,
    least_delta,
    least_epsilon,
    least_probability,
)
from brdp.audit.mechanism import Mechanism
from brdp.audit.promise import Coverage, Promise
from brdp.audit.report import CoverageFinding, Event, Picture, Report
from brdp.audit.score import Score, learn
from brdp.noise.base import Floats, interval

# Numbers held in memory at once (but always some rows of them), and at most kept for learning.
CHUNK = 1 << 18
LEAST_ROWS = 1 << 10
MOST_LEARNT = 1 << 24
CANDIDATES = 400
# Two ways round, and for each an event for epsilon and one for the promise; each needs two bounds.
EVENTS = 4

Progress = Callable[[int, int], None]


def audit(
    mechanism: Mechanism,
    promise: Promise,
    *,
    draws: int = 1_000_000,
    confidence: float = 0.999,
    coverage: Coverage | None = None,
    progress: Progress | None = None,
) -> Report:
    """Test a promise with `draws` answers in each of the two worlds."""
    draws = _validate.whole(draws=draws, least=1000)
    confidence = _validate.between_zero_and_one(confidence=confidence)
    run = _Run(mechanism, draws, progress)
    kept = MOST_LEARNT // mechanism.columns
    fit, choose = min(draws // 4, kept), min(draws // 4, MOST_LEARNT)

    worlds = [np.concatenate(list(run.rows(world, fit))) for world in (0, 1)]
    score = learn(worlds[0], worlds[1])
    picture = Picture.of(worlds[0][:, 0], worlds[1][:, 0])
    del worlds
    chosen = [
        np.sort(np.concatenate([score.of(rows) for rows in run.rows(world, choose)]))
        for world in (0, 1)
    ]
    size = draws - fit - choose
    # with a claim about coverage the alarm is shared between the two verdicts
    share = (1 - confidence) / (1 if coverage is None else 2)
    alarm = share / (2 * EVENTS)
    thresholds = [
        choice
        for way in (0, 1)
        for choice in choose_events(
            chosen, way=way, promise=promise, alarm=alarm, more=size / choose
        )
    ]
    counts, inside, seen = judge(run, score, thresholds, size, coverage)
    events = [
        event_of(way, threshold, count, size, promise=promise, alarm=alarm)
        for (way, threshold), count in zip(thresholds, counts, strict=True)
    ]
    finding = None
    if coverage is not None:
        finding = coverage_finding(coverage, inside, seen, alarm=share)
    return Report(
        promise=promise,
        confidence=confidence,
        draws=draws,
        judged=size,
        events=tuple(events),
        coverage=finding,
        picture=picture,
    )


class _Run:
    """Draws in chunks, and says how far it is."""

    def __init__(self, mechanism: Mechanism, draws: int, progress: Progress | None) -> None:
        self.mechanism = mechanism
        self.total = 2 * draws
        self.done = 0
        self.progress = progress
        if progress is not None:
            progress(0, self.total)  # a slow function shows at once that something goes on

    def rows(self, world: int, size: int) -> Iterator[Floats]:
        length = max(LEAST_ROWS, CHUNK // self.mechanism.columns)
        for start in range(0, size, length):
            count = min(length, size - start)
            yield self.mechanism.answers(world, count)
            self.done += count
            if self.progress is not None:
                self.progress(self.done, self.total)


def choose_events(
    chosen: list[Floats], *, way: int, promise: Promise, alarm: float, more: float
) -> Iterator[tuple[int, float]]:
    """Choose events {score above (way 0) or below (way 1) a threshold}, likely in world `way`.

    One promises the largest bound on epsilon, the other the clearest breach of the promise. `more` is how
    many times as many draws will judge: bounds are guessed for that many.
    """
    pooled = np.concatenate(chosen)
    shares = np.linspace(0, 1, CANDIDATES)
    ends = np.minimum(1.0, 8 * 1.3 ** np.arange(60) / len(pooled))
    candidates = np.unique(np.quantile(pooled, np.concatenate([shares, ends, 1 - ends])))
    size = len(chosen[0])
    if way == 0:
        counts = [size - np.searchsorted(scores, candidates, side="right") for scores in chosen]
    else:
        counts = [np.searchsorted(scores, candidates, side="left") for scores in chosen]
    often, seldom = counts[way], counts[1 - way]
    judged = int(size * more)
    best: list[tuple[float, float]] = [(-math.inf, 0.0), (-math.inf, 0.0)]
    for threshold, a, b in zip(candidates.tolist(), often.tolist(), seldom.tolist(), strict=True):
        low = least_probability(int(a * more), judged, alarm=alarm)
        high = largest_probability(int(b * more), judged, alarm=alarm)
        epsilon = least_epsilon(low, high, delta=promise.delta)
        breach = (low - promise.delta) - grown(high, promise.epsilon)
        best[0] = max(best[0], (epsilon, threshold))
        best[1] = max(best[1], (breach, threshold))
    for _, threshold in best:
        yield way, threshold


def grown(probability: float, epsilon: float) -> float:
    """e^epsilon times a probability, without overflow."""
    return math.exp(min(700.0, epsilon + math.log(max(probability, 1e-300))))


def judge(
    run: _Run,
    score: Score,
    thresholds: list[tuple[int, float]],
    size: int,
    coverage: Coverage | None,
) -> tuple[list[tuple[int, int]], int, int]:
    """Count each event in both worlds on fresh draws, and the answers within the bound in world 0."""
    counts = np.zeros((len(thresholds), 2), dtype=np.int64)
    inside = seen = 0
    for world in (0, 1):
        for rows in run.rows(world, size):
            scores = score.of(rows)
            for index, (way, threshold) in enumerate(thresholds):
                hits = scores > threshold if way == 0 else scores < threshold
                counts[index, world] += int(np.count_nonzero(hits))
            if coverage is not None and world == 0:
                low, high = interval(coverage.within)
                error = rows[:, 0] - coverage.truth
                inside += int(np.count_nonzero((low <= error) & (error <= high)))
                seen += len(rows)
    return [(int(zero), int(one)) for zero, one in counts], inside, seen


def event_of(
    way: int,
    threshold: float,
    count: tuple[int, int],
    size: int,
    *,
    promise: Promise,
    alarm: float,
) -> Event:
    """Turn the counts of an event into what they prove."""
    often = least_probability(count[way], size, alarm=alarm)
    seldom = largest_probability(count[1 - way], size, alarm=alarm)
    return Event(
        likely_in=way,
        threshold=threshold,
        counts=count,
        often=often,
        seldom=seldom,
        epsilon_lower=least_epsilon(often, seldom, delta=promise.delta),
        delta_lower=least_delta(often, seldom, epsilon=promise.epsilon),
    )


def coverage_finding(
    coverage: Coverage, inside: int, seen: int, *, alarm: float
) -> CoverageFinding:
    """Turn the count of answers within the bound into a confidence interval for their share."""
    return CoverageFinding(
        claim=coverage,
        share=inside / seen,
        lower=least_probability(inside, seen, alarm=alarm / 2),
        upper=largest_probability(inside, seen, alarm=alarm / 2),
    )
