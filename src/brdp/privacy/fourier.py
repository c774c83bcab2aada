"""Composition on a lattice: an exponentially tilted FFT with bounds on everything that it gets wrong.

With the masses p_u of each release multiplied by exp(tilt * u) and divided by their sum, the discrete
Fourier transform's absolute error becomes relative at the losses where the tilted sum lies, however small
delta is there. Proofs: docs/theory/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from brdp.noise.base import Floats
from brdp.privacy.pld import LatticeLoss

UNIT = 2.0**-53
# ||computed - exact||_2 <= FFT_ERROR * log2(size) * ||exact||_2 (Higham 2002, theorem 24.2, has about
# 7 units for radix 2 with exact twiddles; doubled).
FFT_ERROR = 16 * UNIT
# Chernoff's bound for tails outside the window is tried at these rates, in 30ths of the window.
RATES = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
# Losses 45 / tilt above epsilon weigh less than this.
BEYOND = math.exp(-45)


@final
@dataclass(frozen=True, slots=True, eq=False)
class FourierSum:
    """The tilted law of the sum of all losses after their splits, with what bounds its errors."""

    tilt: float
    step: float
    # the loss at masses[0]
    start: float
    masses: Floats
    # the law of the sum in which one release gives way to what its split may add
    errors: Floats
    # log of the product of the normalisers: untilted mass = masses * exp(log_scale - tilt * loss)
    log_scale: float
    # P(some release has an infinite loss), with and without what lay beyond the lattices
    infinite: float
    infinite_least: float
    # tilted mass outside the window
    above: float
    below: float
    # 2-norms of the rounding errors of `masses` and `errors`
    noise: float
    noise_of_errors: float
    # relative error of delta and absolute error of epsilon by rounding
    rounding: float
    # sub-Gaussian parameter (a standard deviation) and bias of all that the splits moved; the expected
    # number of releases that are moved by most of a step
    spread: float
    bias: float
    moved: float
    releases: int

    def log_upper(self, epsilon: float) -> float:
        """Upper bound of log delta(epsilon)."""
        epsilon = epsilon - self.rounding - 1e-15 * abs(epsilon)
        main, norm = self._payoff(epsilon)
        total = main + self._largest_payoff * self.above + norm * self.noise
        log = self._log(total, self.infinite, epsilon) + 2 * self.rounding + 1e-15
        # what could not be computed promises nothing
        return log if log <= 0 else 0.0

    def log_lower(self, epsilon: float) -> float:
        """Lower bound of log delta(epsilon)."""
        epsilon = epsilon + self.rounding + 1e-15 * abs(epsilon)
        main, norm = self._payoff(epsilon)
        lost = self._largest_payoff * (self.above + self.below) + norm * self.noise
        split = min(self._one_by_one(epsilon), self._all_at_once(epsilon))
        total = main - BEYOND - lost - split
        log = self._log(total, self.infinite_least, epsilon) - 2 * self.rounding - 1e-15
        return log if log <= 0 else -math.inf

    def _log(self, total: float, infinite: float, epsilon: float) -> float:
        log_finite, log_infinite = -math.inf if total <= 0 else math.nan, -math.inf
        if total > 0:
            log_finite = math.log(total) + self.log_scale - self.tilt * epsilon
        if infinite > 0:
            log_infinite = math.log(infinite)
        return float(np.logaddexp(log_finite, log_infinite))

    @property
    def _largest_payoff(self) -> float:
        """The maximum of exp(-tilt v) (1 - exp(-v)) over v > 0."""
        c = self.tilt
        return math.exp(c * math.log(c / (1 + c)) - math.log1p(c))

    def _payoff(self, epsilon: float) -> tuple[float, float]:
        """Sum of the masses above epsilon times their payoff, rounded up; the payoff's 2-norm."""
        first = self._index(math.ceil, epsilon)
        last = self._index(math.ceil, epsilon + 45 / self.tilt)
        height = np.maximum(self.start - epsilon + self.step * np.arange(first, last), 0.0)
        payoff = np.exp(-self.tilt * height) * -np.expm1(-height)
        beyond = BEYOND if last < len(self.masses) else 0.0
        return _dot(payoff, self.masses[first:last]) + beyond, _norm(payoff)

    def _index(self, round_to_int: Callable[[float], int], loss: float) -> int:
        position = (loss - self.start) / self.step
        return round_to_int(min(max(position, 0.0), float(len(self.masses))))

    def _between(self, values: Floats, low: float, high: float, *, noise: float) -> float:
        """Upper bound of the untilted mass of losses in [low, high], times exp(tilt * low - log_scale)."""
        first = self._index(math.floor, low)
        last = min(len(values), self._index(math.ceil, high) + 1)
        # the first place may lie below `low`
        ahead = max(0.0, low - (self.start + self.step * first))
        weight = np.exp(self.tilt * (ahead - self.step * np.arange(last - first)))
        mass = _dot(weight, np.maximum(values[first:last], 0.0))
        return mass + noise * _norm(weight) + self.above + self.below

    def _one_by_one(self, epsilon: float) -> float:
        """What the splits add, replaced one release after the other (docs/theory/composition.md)."""
        if self.moved <= 0.25:
            near, missed = self.moved * math.expm1(self.step), self.moved
        else:
            near, missed = 2 * self.spread, 2 * math.exp(-2)
        low = epsilon - self.step - near
        window = self._between(
            self.errors, low, epsilon + near + self.bias, noise=self.noise_of_errors
        )
        # outside the window the errors are at most expm1(step) of each release's mass
        window += (self.above + self.below) * self.releases * math.expm1(self.step)
        return window * _exp(self.tilt * (epsilon - low)) / (1 - missed)

    def _all_at_once(self, epsilon: float) -> float:
        """What the splits add, as one sub-Gaussian move of the whole sum."""
        near, width = 2 * self.spread, 4 * self.spread
        if self.bias > near:
            return math.inf
        if self.spread == 0:
            return 0.0
        total = 0.0
        for k in range(-5, 6):
            low = epsilon + (k - 0.5) * width - near
            high = epsilon + (k + 0.5) * width + near + self.bias
            distance = max(0.0, (abs(k) - 0.5) * width - self.bias)
            gain = self.bias + self.spread * math.sqrt(math.pi / 2) * math.erfc(
                distance / (self.spread * math.sqrt(2))
            )
            window = self._between(self.masses, low, high, noise=self.noise)
            total += gain * window * _exp(self.tilt * (epsilon - low)) / (1 - 2 * math.exp(-2))
        far = _exp(-200 - self.log_scale + self.tilt * epsilon)
        return total + far


def _dot(one: Floats, other: Floats) -> float:
    """Summed pairwise: more accurate than BLAS, and without its threads."""
    return float((one * other).sum())


def _norm(values: Floats) -> float:
    return math.sqrt(_dot(values, values))


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


def convolve(
    parts: Sequence[tuple[LatticeLoss, int]], *, tilt: float, low: float, size: int
) -> FourierSum:
    """Sum the losses of `count` releases of each law; the window begins at about `low`."""
    step = parts[0][0].step
    log_scale = rounding = log_finite = log_finite_most = 0.0
    variance = moved = noise = noise_of_errors = error_mass = offset = 0.0
    releases = 0
    product = np.ones(size // 2 + 1, dtype=np.complex128)
    replaced = np.zeros(size // 2 + 1, dtype=np.complex128)
    for law, count in parts:
        losses = law.losses
        log_moment, tilted = _tilt(law.log_masses, losses, tilt)
        with np.errstate(divide="ignore"):
            error = np.exp(np.log(law.errors) + tilt * losses - log_moment)
        error = _fold(error, law.first, size)
        masses = _fold(tilted, law.first, size)
        transform, error_transform = fft.rfft(masses), fft.rfft(error)
        power, less = _powers(transform, count)
        swapped = count * less * error_transform
        replaced = replaced * power + product * swapped
        product = product * power
        log_scale += count * log_moment
        # exp of logs of this size, a product of that size, and their sum's normaliser
        heavy = tilted > 1e-20
        sizes = np.abs(law.log_masses[heavy]).max(initial=0.0) + abs(log_moment)
        sizes += 3 * tilt * np.abs(losses[heavy]).max(initial=0.0)
        rounding += count * (law.rounding + 4 * UNIT * (8 + float(sizes)))
        log_finite += count * _log1mexp(law.log_infinite_least)
        log_finite_most += count * _log1mexp(law.log_infinite)
        variance += count * _proxy(law.share * math.exp(step)) * step**2
        moved += count * law.share
        fft_error = FFT_ERROR * math.log2(size)
        noise += count * fft_error * _norm(masses)
        noise_of_errors += count * fft_error * _norm(error)
        error_mass += count * float(error.sum())
        offset += count * law.offset
        releases += count
    first = math.floor((low - offset) / step)
    sums = np.roll(fft.irfft(product, size), -(first % size))
    errors = np.roll(fft.irfft(replaced, size), -(first % size))
    norm = _norm(sums) + noise
    noise = 1.5 * (noise + norm * ((10 * releases + 4 * len(parts)) * UNIT + 2 * fft_error))
    noise_of_errors = 1.5 * (noise_of_errors + 2 * error_mass * noise)
    above, below = _outside(
        parts, tilt=tilt, low=offset + step * first, high=offset + step * (first + size - 1)
    )
    return FourierSum(
        tilt=tilt,
        step=step,
        start=offset + step * first,
        masses=sums,
        errors=errors,
        log_scale=log_scale,
        infinite=-math.expm1(log_finite_most),
        infinite_least=-math.expm1(log_finite),
        above=above,
        below=below,
        noise=noise,
        noise_of_errors=noise_of_errors,
        rounding=rounding
        + 4 * UNIT * (len(parts) + 1) * (abs(log_scale) + abs(offset))
        + 4 * UNIT * step * abs(first),
        spread=math.sqrt(variance),
        bias=variance / 2,
        moved=moved,
        releases=releases,
    )


def _tilt(log_masses: Floats, losses: Floats, tilt: float) -> tuple[float, Floats]:
    """log of the sum of exp(log_masses + tilt * losses), and the terms divided by it."""
    logs = log_masses + tilt * losses
    top = float(logs.max())
    if top == -math.inf:
        return -math.inf, np.zeros(len(logs))
    terms = np.exp(logs - top)
    total = float(terms.sum())
    return top + math.log(total), terms / total


def _fold(values: Floats, first: int, size: int) -> Floats:
    """Values at first, first + 1, ... on a circle of `size` places."""
    start = first % size
    if start + len(values) <= size:
        folded = np.zeros(size)
        folded[start : start + len(values)] = values
        return folded
    padded = np.zeros(-(-(start + len(values)) // size) * size)
    padded[start : start + len(values)] = values
    folded = np.asarray(padded.reshape(-1, size).sum(axis=0), dtype=np.float64)
    return folded


def _powers(
    transform: NDArray[np.complex128], count: int
) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """transform^count and transform^(count - 1)."""
    if count == 1:
        return transform, np.ones_like(transform)
    less = transform
    if count > 2:
        with np.errstate(divide="ignore", invalid="ignore"):
            less = np.exp((count - 1) * np.log(transform))
        less[transform == 0] = 0
    return less * transform, less


def _log1mexp(log_share: float) -> float:
    """log(1 - exp(log_share))."""
    return math.log1p(-math.exp(log_share)) if log_share < 0 else -math.inf


def _proxy(share: float) -> float:
    """Sub-Gaussian variance of a step of size 1 taken with a probability of at most share or at least
    1 - share (Kearns and Saul 1998).
    """
    if share <= 0:
        return 0.0
    if share >= 0.49:
        return 0.25
    return (1 - 2 * share) / (2 * math.log((1 - share) / share))


def _outside(
    parts: Sequence[tuple[LatticeLoss, int]], *, tilt: float, low: float, high: float
) -> tuple[float, float]:
    """Upper bounds of the tilted mass of sums above `high` and below `low`."""
    highest = sum(count * law.losses[-1] for law, count in parts)
    lowest = sum(count * law.losses[0] for law, count in parts)
    above, below = math.inf, math.inf
    if highest <= high:
        above = 0.0
    if lowest >= low:
        below = 0.0
    scale = (high - low) / 30
    for rate in RATES / scale:
        if above > 0:
            gain = sum(count * _log_ratio(law, tilt, rate) for law, count in parts)
            above = min(above, _exp(gain - rate * high))
        if below > 0 and rate < tilt:
            gain = sum(count * _log_ratio(law, tilt, -rate) for law, count in parts)
            below = min(below, _exp(gain + rate * low))
        elif below > 0:
            gain = sum(count * _log_ratio(law, tilt, -tilt) for law, count in parts)
            below = min(below, _exp(gain + tilt * low))
    return above, below


def _log_ratio(law: LatticeLoss, tilt: float, rate: float) -> float:
    _, tilted = _tilt(law.log_masses, law.losses, tilt)
    exponents = rate * law.losses
    top = float(exponents[tilted > 0].max(initial=-math.inf))
    return top + math.log(_dot(tilted, np.exp(np.minimum(exponents - top, 0.0)))) + 1e-12
