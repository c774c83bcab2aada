"""Releases that look at a random sample: each unit is in it by its own secret coin."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import final

import numpy as np

from brdp import _validate
from brdp.noise.base import Floats, Noise
from brdp.privacy.base import Curve
from brdp.privacy.curve import curve_of
from brdp.privacy.loss_of import losses_of
from brdp.privacy.loss_sampled import SampledLoss
from brdp.privacy.moments import upper_log_moment
from brdp.privacy.release import LOG_ERROR, ReleaseCurve


@final
@dataclass(frozen=True, slots=True)
class SampledCurve(Curve):
    """The exact curve of a release on a Poisson sample; neighbours differ by one unit more or less.

    With P and Q the release with and without the unit's effect, one side is (1 - p) Q + p P against Q
    and the other the reverse; delta is the larger. No amplification theorem is used: both have a closed
    form in the base curve.

    Guarantee: as in `Curve`, if every unit is sampled by a fresh secret coin for every release.
    """

    base: ReleaseCurve
    sampling_rate: float

    def log_delta_bounds(self, epsilon: Floats) -> tuple[Floats, Floats]:
        return amplified(self.base, self.sampling_rate, epsilon)

    def log_renyi(self, order: float) -> float:
        return max(upper_log_moment(law, order - 1) for laws in self.losses() for law in laws)

    def losses(self) -> tuple[tuple[SampledLoss, ...], ...]:
        """The laws on the side of the larger input, and on that of the smaller one."""
        return _losses(self.base, self.sampling_rate)

    @property
    def largest_loss(self) -> float:
        return largest_amplified(self.base, self.sampling_rate)


def amplified(base: Curve, rate: float, epsilon: Floats) -> tuple[Floats, Floats]:
    """Bounds of log delta where what has the base curve is released of a sample.

    Guarantee: as in `Curve`, for everything released of one sample together, if the base curve is that of all
    of it: the formulas hold for any pair of laws and rise with its curve (docs/theory/sampling.md).
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    removed = _removed(base, rate, epsilon)
    added = _added(base, rate, epsilon)
    lower, upper = (np.maximum(a, b) for a, b in zip(removed, added, strict=True))
    return lower - LOG_ERROR, np.minimum(upper + LOG_ERROR, 0.0)


def largest_amplified(base: Curve, rate: float) -> float:
    """The largest loss that is left, rounded up."""
    most = base.largest_loss
    if math.isinf(most):
        return math.inf
    return (1 + 1e-15) * max(
        math.log1p(rate * math.expm1(most)) if most < 700 else most + math.log(rate),
        -math.log1p(rate * math.expm1(-most)),
    )


def _removed(base: Curve, p: float, epsilon: Floats) -> tuple[Floats, Floats]:
    """H((1-p) Q + p P, Q) = p H'(P, Q) at exp(e') = 1 + (exp(e) - 1) / p."""
    with np.errstate(over="ignore"):
        small = np.log1p(np.expm1(np.minimum(epsilon, 1.0)) / p)
        large = epsilon + np.log1p(-(1 - p) * np.exp(-epsilon)) - math.log(p)
    inner = np.where(epsilon < 1.0, small, large)
    # the inner epsilon carries a few roundings
    lower = base.log_delta_bounds(inner * (1 + 1e-14))[0]
    upper = base.log_delta_bounds(inner * (1 - 1e-14))[1]
    return math.log(p) + lower, math.log(p) + upper


def _added(base: Curve, p: float, epsilon: Floats) -> tuple[Floats, Floats]:
    """H(Q, (1-p) Q + p P) = (1 - exp(e) (1-p)) H'(Q, P) at exp(e') = exp(e) p / (that factor)."""
    if p == 1:
        return base.log_delta_bounds(epsilon)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        # 1 - exp(e) (1 - p), positive only below log(1 / (1 - p))
        factor = -np.expm1(epsilon + math.log1p(-p))
        inside = factor > 0
        log_factor = np.log(np.where(inside, factor, 1.0))
        inner = np.maximum(np.where(inside, epsilon + math.log(p) - log_factor, 0.0), 0.0)
    if not inside.any():
        return np.full(np.shape(epsilon), -np.inf), np.full(np.shape(epsilon), -np.inf)
    slack = 1e-14 / np.where(inside, factor, 1.0)
    lower = base.log_delta_bounds(inner + slack * (1 + inner))[0]
    upper = base.log_delta_bounds(np.maximum(inner - slack * (1 + inner), 0.0))[1]
    lower = np.where(inside, log_factor - slack + lower, -np.inf)
    upper = np.where(inside, log_factor + slack + upper, -np.inf)
    return lower, upper


@functools.lru_cache(maxsize=1024)
def _losses(base: ReleaseCurve, rate: float) -> tuple[tuple[SampledLoss, ...], ...]:
    laws = losses_of(base)
    # directions come in pairs (up, down) unless the noise is symmetric; exchanging P and Q turns one
    # into the other
    paired = not base.noise.recycler.symmetric
    only_q = [laws[i ^ 1 if paired else i].log_infinite for i in range(len(laws))]
    return tuple(
        tuple(SampledLoss(law, rate, added, q) for law, q in zip(laws, only_q, strict=True))
        for added in (False, True)
    )


def subsample(noise: Noise, *, sensitivity: float = 1.0, sampling_rate: float) -> Curve:
    """Return the curve of adding noise to a query on a Poisson sample.

    Each unit is in the sample with probability `sampling_rate`, by its own secret coin, and in a fresh one for
    every release. Neighbouring inputs differ by one unit added or removed, and `sensitivity` is what a
    unit that *is* in the sample can change.

    Guarantee: as in `Curve`; a rescaled estimate (1/p) * sum has sensitivity Delta / p, not Delta.
    """
    rate = _validate.probability(sampling_rate=sampling_rate)
    curve = curve_of(noise, sensitivity=sensitivity)
    if rate == 1:
        return curve
    if rate == 0:
        rate = _validate.positive(sampling_rate=sampling_rate, remedy="Use a rate in (0, 1].")
    return SampledCurve(curve, rate)
