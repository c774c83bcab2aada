"""Composition by the number of large losses: for samples whose loss has a heavy tail.

A sample of one in a thousand has losses near 0 almost always and one near that of the noise itself almost
never, with little in between. No tilt brings such a law's sum to an epsilon that takes one large loss: either nearly
all of the tilted mass lies far below or nearly all of it far above. So each law is parted into its
losses below half of epsilon and those above, and

    prod (A_i + B_i)^T_i = sum over k of prod C(T_i, k_i) A_i^(T_i - k_i) B_i^(k_i),

where each term has a tilt of its own. Proofs: docs/theory/composition.md, 4.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from brdp.noise.base import Floats
from brdp.privacy.contour import product
from brdp.privacy.engines import (
    EFFORTS,
    RARE,
    CertifiedSum,
    Laws,
    added,
    batches_of,
    by_contour,
    frame_of,
    log_infinite,
    log_infinite_least,
    rare,
    refined,
    saddles_of,
    shortened,
    swept,
)
from brdp.privacy.loss import LossLaw
from brdp.privacy.loss_sampled import SampledLoss
from brdp.privacy.transform import UNIT

# Shares of the gap aimed at that a normal loss may add to a term, with how many nodes at most.
TERM_SHARES = ((0.0, 1 << 17), (0.02, 1 << 21), (0.5, 1 << 21))
# Losses above this share of epsilon are jumps, of which at most so many are told apart, in so many terms.
HALF, MOST_JUMPS, MOST_TERMS = 0.5, 8, 24
# Tilts at which Chernoff's bound of the rest is tried, relative to a saddle's.
AROUND = np.geomspace(0.02, 3.0, 13)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A term of which only Chernoff's bound counts: log k + log M(c) - c epsilon."""

    tilts: Floats
    logs: Floats

    def log_upper(self, epsilon: float) -> float:
        away = self.tilts * epsilon
        return float((self.logs - away + 1e-15 * away).min())

    def log_lower(self, epsilon: float) -> float:
        return -math.inf


@final
@dataclass(frozen=True, slots=True, eq=False)
class JumpSum:
    """The terms with the logs of how often each occurs, and the probability that a loss is infinite."""

    terms: tuple[tuple[float, CertifiedSum], ...]
    infinite: float
    infinite_least: float

    def log_upper(self, epsilon: float) -> float:
        logs = [often + term.log_upper(epsilon) for often, term in self.terms]
        return min(0.0, _log_sum(logs, self.infinite) + _rounding(logs))

    def log_lower(self, epsilon: float) -> float:
        logs = [often + term.log_lower(epsilon) for often, term in self.terms]
        return min(0.0, _log_sum(logs, self.infinite_least) - _rounding(logs))


def _rounding(logs: Sequence[float]) -> float:
    return 1e-14 + 4 * UNIT * max((abs(log) for log in logs if log > -math.inf), default=0.0)


def _log_sum(logs: Sequence[float], infinite: float) -> float:
    last = math.log(infinite) if infinite > 0 else -math.inf
    return float(np.logaddexp.reduce([*logs, last]))


def by_jumps(
    laws: tuple[Laws, ...], *, epsilon: float, log_delta: float, gap: float
) -> JumpSum | None:
    """By the number of losses above half of epsilon; None where no law is a sample that has such losses."""
    floor = rare(laws, log_delta)
    whole = tuple(
        (shortened(law, floor) if isinstance(law, SampledLoss) else law, count)
        for (law, *_), count in laws
    )
    parts = [(*_parted(law, HALF * epsilon), count) for law, count in whole]
    if any(len(found) > 1 for found, _ in laws) or all(heavy is None for _, heavy, _ in parts):
        return None
    most, least = (
        -math.expm1(math.fsum(count * math.log1p(-math.exp(share(law))) for law, count in whole))
        for share in (log_infinite, log_infinite_least)
    )
    terms: list[tuple[float, CertifiedSum]] = []
    for jumps in range(MOST_JUMPS + 1):
        for often, chosen in _choices(parts, jumps):
            terms.append((often, _term(chosen, often, epsilon, log_delta, gap)))
        rest = _more_jumps(whole, parts, jumps + 1, epsilon)
        if rest is None or len(terms) > MOST_TERMS:
            return None
        if rest.log_upper(epsilon) < log_delta + RARE:
            return JumpSum((*terms, (0.0, rest)), infinite=most, infinite_least=least)
    return None


def _parted(law: LossLaw, loss: float) -> tuple[LossLaw, LossLaw | None]:
    if not isinstance(law, SampledLoss) or (found := law.parted(loss)) is None:
        return law, None
    light, heavy = found
    return (light, heavy) if heavy.log_moments(np.ones(1))[0] > -math.inf else (law, None)


def _choices(
    parts: Sequence[tuple[LossLaw, LossLaw | None, int]], jumps: int
) -> Iterator[tuple[float, tuple[Laws, ...]]]:
    """In how many ways (their log) which laws may have how many of these jumps, and what is then composed."""
    reach = [range(min(jumps, count if heavy else 0) + 1) for _, heavy, count in parts]
    for many in itertools.product(*reach):
        if sum(many) == jumps:
            often, chosen = 0.0, []
            for (light, heavy, count), k in zip(parts, many, strict=True):
                often += math.log(math.comb(count, k))
                chosen += [((light,), count - k)] if count > k else []
                chosen += [((heavy,), k)] if k and heavy else []
            yield often, tuple(chosen)


def _term(
    laws: tuple[Laws, ...], often: float, epsilon: float, log_delta: float, gap: float
) -> CertifiedSum:
    saddles = saddles_of(laws)
    tilt = saddles.for_epsilon(epsilon, enough=log_delta - often + 2 * RARE)
    if saddles.rough(tilt):
        saddles = refined(laws, saddles, tilt)
        tilt = saddles.for_epsilon(epsilon, enough=log_delta - often + 2 * RARE)
    point = {"tilt": tilt, "epsilon": epsilon, "log_delta": log_delta - often}
    found = frame_of(laws, tilt, epsilon, log_delta - often, tolerance=EFFORTS[0][0], smoothing=0.0)
    if found is None:
        return Line(np.zeros(1), np.zeros(1))
    line = Line(found[1].tilts, found[1].log_bounds)
    if often + line.log_upper(epsilon) < log_delta + RARE:
        return line
    nodes = by_contour(laws, saddles, **point, effort=EFFORTS[0])
    for share, most in TERM_SHARES:
        if nodes is None:
            variance = added(share * gap, epsilon, tilt)
            nodes = swept(laws, saddles, **point, most_nodes=most, smoothing=variance)
    # what is infinite in a law that is not parted is counted once, in the sum of all terms
    return line if nodes is None else replace(nodes, infinite=0.0, infinite_least=0.0)


def _more_jumps(
    whole: Sequence[tuple[LossLaw, int]],
    parts: Sequence[tuple[LossLaw, LossLaw | None, int]],
    jumps: int,
    epsilon: float,
) -> Line | None:
    """What so many jumps or more add at most."""
    laws = tuple(((law,), count) for law, count in whole)
    saddles = saddles_of(laws)
    tilts = saddles.for_epsilon(epsilon) * AROUND
    s = tilts.astype(np.complex128)
    batches = batches_of(laws)
    if batches is None:
        return None
    logs, errors = product(batches, s)
    ratio = np.full(len(tilts), -np.inf)
    for (law, count), (_, heavy, _) in zip(whole, parts, strict=True):
        if (
            heavy is not None
            and (one := batches_of((((heavy,), 1),)))
            and (all_ := batches_of((((law,), 1),)))
        ):
            (mine, wrong), (every, blur) = product(one, s), product(all_, s)
            with np.errstate(invalid="ignore"):
                share = mine.real - every.real + wrong + blur
            # a part is no more than the whole, also where neither is known
            ratio = np.logaddexp(ratio, math.log(count) + np.fmin(share, 0.0))
    k = tilts * np.log(tilts / (1 + tilts)) - np.log1p(tilts)
    bounds = k + logs.real + errors + jumps * ratio - math.lgamma(jumps + 1) + 1e-12
    bounds += 8 * UNIT * np.abs(logs.real)
    known = np.isfinite(bounds)
    return Line(tilts[known], bounds[known]) if known.any() else None
