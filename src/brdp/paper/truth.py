"""The bridge from the paper's settings to brdp's exact account: what a printed split really costs.

Everything here asks :mod:`brdp.privacy` and :mod:`brdp.planning`; no formula of the paper decides
a number that this module returns. *Guarantee:* the deltas and epsilons returned are those of the
exact curve (upper bounds under composition and subsampling).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from brdp.noise import Noise, Recycled
from brdp.paper.formulas.budget import Split
from brdp.paper.formulas.kernel import Floats, PaperKernel
from brdp.planning import Plan, plan
from brdp.privacy import Curve
from brdp.privacy.compose import compose

_LARGEST_RATE = 1.0 - 1e-12


def noise_of(kernel: PaperKernel, *, lower: float, upper: float, rate: float) -> Noise:
    """The mechanism of Proposition 1 as brdp's noise."""
    if rate <= 0.0:
        return kernel.noise()
    return Recycled(kernel.noise(), within=(float(lower), float(upper)), rate=float(rate))


def curve_of(kernel: PaperKernel, *, lower: float, upper: float, rate: float) -> Curve:
    """The exact curve of the mechanism of Proposition 1."""
    noise = noise_of(kernel, lower=lower, upper=upper, rate=rate)
    return noise.privacy(sensitivity=float(kernel.sensitivity))


def split_noise(split: Split) -> Noise:
    """The noise that a (single) split of the paper draws."""
    return noise_of(
        split.kernel, lower=float(split.lower), upper=float(split.upper), rate=float(split.rate)
    )


def split_curve(split: Split) -> Curve:
    """The exact curve of a (single) split of the paper."""
    return split_noise(split).privacy(sensitivity=float(split.kernel.sensitivity))


@final
@dataclass(frozen=True)
class TrueCost:
    """What a mechanism costs: its delta at the promised epsilon, its epsilon at the promised delta."""

    delta: float
    epsilon: float


def true_cost(curve: Curve, *, epsilon: float, delta: float, count: int = 1) -> TrueCost:
    """The exact cost beside a promise of (epsilon, delta), after `count` releases."""
    total = curve if count == 1 else compose({curve: count})
    least = float(total.epsilon_or_infinity(delta=delta))
    return TrueCost(float(total.delta(epsilon=epsilon)), least)


def largest_safe_rate(
    kernel: PaperKernel, *, epsilon: float, delta: float, lower: float, upper: float
) -> float:
    """The largest rate found that keeps (epsilon, delta) exactly; nan where none does.

    delta is not monotone in the rate, and the rates that fit may be an interval without 0. So the
    rates are scanned, the largest that fits is taken, and its upper edge is found by bisection
    between a rate that fits and one that does not. What is returned was itself checked.
    """

    def fits(rate: float) -> bool:
        curve = curve_of(kernel, lower=lower, upper=upper, rate=rate)
        return bool(curve.delta(epsilon=epsilon) <= delta)

    scan = np.unique(np.concatenate([np.linspace(0.0, 0.98, 50), 1 - np.geomspace(1e-6, 0.02, 15)]))
    good = [rate for rate in scan if fits(float(rate))]
    if not good:
        return float("nan")
    low = float(max(good))
    above = scan[scan > low]
    high = float(above[0]) if above.size else _LARGEST_RATE
    for _ in range(40):
        middle = 0.5 * (low + high)
        if high - low < 1e-10:
            break
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def largest_acceptance(
    *, epsilon: ArrayLike, delta: ArrayLike, sensitivity: ArrayLike, within: ArrayLike
) -> Floats:
    """The most that P(|N| <= within) can be for any additive noise with a density at (epsilon, delta).

    *Guarantee:* an upper bound, met by the plain Laplace kernel at delta = 0 where `within` is a
    multiple of the sensitivity. Proof: let k = ceil(within/sensitivity), a = exp(-k epsilon) and
    d = delta (exp(k epsilon) - 1)/(exp(epsilon) - 1), the group bound for k steps. Shifting {N > 0}
    by k sensitivities, P(N > k sensitivity) >= a (P(N > 0) - d), and so on the other side. The sum
    is P(|N| > k sensitivity) >= a (1 - 2 d), and a d = delta (1 - a)/(exp(epsilon) - 1).
    """
    e, d = np.asarray(epsilon, float), np.asarray(delta, float)
    steps = np.ceil(np.asarray(within, float) / np.asarray(sensitivity, float))
    bound = -np.expm1(-steps * e) * (1.0 + 2.0 * d / np.expm1(e))
    return np.asarray(np.minimum(bound, 1.0))


def exact_plan(
    *, sensitivity: float, within: float, epsilon: float, delta: float, kernel: str
) -> Plan:
    """The plan of this project at a promised budget; `kernel` is a word of `brdp.plan`."""
    return plan(sensitivity=sensitivity, within=within, epsilon=epsilon, delta=delta, kernel=kernel)
