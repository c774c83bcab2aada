"""Planning and curves against the obvious way to compute them, in one run.

Claims (issue: the foundation):
1. An exact plan over all kernels takes at most 1/20 of the time that a direct transcription of the paper's
   Algorithms 1 and 2 on scipy.stats takes for one kernel (tolerance 1e-6 on q, 1e-4 epsilon on epsilon_y).
2. The exact curve of Gaussian noise at 10,000 epsilons is at least 50 times faster than a Python loop over
   scipy.stats: the plain kernel against its two-term formula, recycled noise against its ten terms.

Prints each ratio and exits 1 if a claim is missed. Times are medians; the caches of brdp are emptied by
giving every repetition slightly different parameters.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.stats import norm

import brdp
from brdp.paper.transcription import algorithm_2

SETTINGS = [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0), (3.0, 5.0)]
DELTA, WITHIN = 1e-5, 1.0


def seconds(run: Callable[[float], object], repetitions: int) -> float:
    """The median time; `run` is given a nudge to its parameters that makes each call new."""
    run(0.5)
    times = []
    for i in range(repetitions):
        start = time.perf_counter()
        run(1 + i)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def planning() -> bool:
    held = True
    for epsilon, sensitivity in SETTINGS:

        def ours(
            nudge: float, epsilon: float = epsilon, sensitivity: float = sensitivity
        ) -> object:
            return brdp.plan(
                sensitivity=sensitivity,
                within=WITHIN,
                epsilon=epsilon * (1 + nudge * 1e-6),
                delta=DELTA,
            )

        def theirs(
            nudge: float, epsilon: float = epsilon, sensitivity: float = sensitivity
        ) -> object:
            return algorithm_2(epsilon * (1 + nudge * 1e-6), DELTA, sensitivity, WITHIN)

        slow, fast = seconds(theirs, 3), seconds(ours, 15)
        ratio = slow / fast
        held &= ratio >= 20
        print(
            f"plan, epsilon {epsilon:g}, sensitivity {sensitivity:g}: all kernels {1e3 * fast:.1f} ms, "
            f"Algorithms 1 and 2 for one {1e3 * slow:.0f} ms: {ratio:.1f} times faster (claim 20)"
        )
    return held


def plain_by_scipy(sigma: float, epsilon: float) -> float:
    crossing = 0.5 - epsilon * sigma**2
    return float(
        norm.cdf(crossing, scale=sigma) - math.exp(epsilon) * norm.cdf(crossing - 1, scale=sigma)
    )


def recycled_by_scipy(sigma: float, rate: float, epsilon: float) -> float:
    """Five pieces for bounds (-1, 1) and sensitivity 1, each a pair of mass differences."""
    keep = 1 - rate
    total = 0.0
    for low, high, mine, other in (
        (-math.inf, -1.0, keep, keep),
        (-1.0, 0.0, 1.0, keep),
        (0.0, 1.0, 1.0, 1.0),
        (1.0, 2.0, keep, 1.0),
        (2.0, math.inf, keep, keep),
    ):
        crossing = 0.5 - sigma**2 * (epsilon - math.log(mine / other))
        end = min(high, crossing)
        if end > low:
            p = norm.cdf(end, scale=sigma) - norm.cdf(low, scale=sigma)
            q = norm.cdf(end - 1, scale=sigma) - norm.cdf(low - 1, scale=sigma)
            total += mine * p - math.exp(epsilon) * other * q
    inside = norm.cdf(1.0, scale=sigma) - norm.cdf(-1.0, scale=sigma)
    return float(total / (inside + keep * (1 - inside)))


def curves() -> bool:
    epsilons = np.linspace(0, 3, 10_000)
    plain = brdp.Gaussian(2.5).privacy()
    recycled = brdp.Recycled(brdp.Gaussian(2.5), within=1, rate=0.5).privacy()
    held = True
    for name, curve, formula in (
        ("plain", plain, lambda e: plain_by_scipy(2.5, e)),
        ("recycled", recycled, lambda e: recycled_by_scipy(2.5, 0.5, e)),
    ):
        fast = seconds(lambda nudge, curve=curve: curve.delta(epsilon=epsilons), 7)
        start = time.perf_counter()
        looped = np.array([formula(e) for e in epsilons])
        slow = time.perf_counter() - start
        ratio = slow / fast
        held &= ratio >= 50
        # where the loop does not cancel both must agree, or the comparison means nothing
        ours, good = curve.delta(epsilon=epsilons), looped > 1e-6
        assert np.max(np.abs(looped[good] / ours[good] - 1)) < 1e-8
        print(
            f"{name} Gaussian curve at 10,000 epsilons: {1e3 * fast:.1f} ms, "
            f"a loop over scipy.stats {slow:.2f} s: {ratio:.0f} times faster (claim 50)"
        )
    return held


if __name__ == "__main__":
    both = [planning(), curves()]
    sys.exit(0 if all(both) else 1)
