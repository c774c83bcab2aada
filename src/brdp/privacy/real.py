"""The exact curve of noise on the reals: log-concave kernels under any falling recycler."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import final

import numpy as np

from brdp.noise import Gaussian, Laplace, Noise
from brdp.noise.base import Floats, Kernel
from brdp.noise.recycled import Recycled
from brdp.privacy import divergence, hinge
from brdp.privacy.pieces import Pieces, cut, directions
from brdp.privacy.release import ReleaseCurve
from brdp.privacy.unimodal import require_unimodal


@final
@dataclass(frozen=True, slots=True)
class RealCurve(ReleaseCurve):
    """Sum over the pieces of the line of their hinge integrals; the larger of both directions.

    Guarantee: as in `Curve`, for every query that differs by at most `sensitivity` between neighbours.
    The worst shift is the whole sensitivity because the noise is unimodal (docs/theory/curve.md).
    """

    noise: Noise
    sensitivity: float

    def __post_init__(self) -> None:
        require_unimodal(self.noise)

    @property
    def exact(self) -> bool:
        return isinstance(self.noise.kernel, Gaussian | Laplace)

    def evaluate(self, epsilon: Floats) -> Floats:
        log_total = log_release_probability(self.noise)
        best = np.full(np.shape(epsilon), -np.inf)
        for pieces in pieces_of(self.noise, self.sensitivity):
            threshold = epsilon[..., None] - pieces.log_ratio
            parts = pieces.log_keep + _hinge(
                self.noise.kernel, pieces, shift=self.sensitivity, threshold=threshold
            )
            best = np.maximum(best, np.logaddexp.reduce(parts, axis=-1))
        return np.minimum(best - log_total, 0.0)

    def log_renyi(self, order: float) -> float:
        kernel, shift = self.noise.kernel, self.sensitivity
        if not isinstance(kernel, Gaussian | Laplace):
            return math.inf  # of a kernel of one's own nothing certain is known so far out
        if isinstance(kernel, Gaussian) and kernel is self.noise:
            return order * (order - 1) * (shift / kernel.sigma) ** 2 / 2
        log_total = log_release_probability(self.noise)
        worst = 0.0
        for pieces in pieces_of(self.noise, shift):
            if np.isinf(pieces.log_ratio).any():
                return math.inf
            parts = (
                order * pieces.log_keep
                + (1 - order) * pieces.log_keep_shifted
                + _tilted(kernel, order, pieces, shift=shift)
            )
            moment = divergence.rounded_up(float(np.logaddexp.reduce(parts)) - log_total)
            if moment < divergence.SMALL and shift < divergence.CLOSE * kernel.std:
                excess = divergence.small_real_excess(kernel, pieces, shift=shift, a=order - 1)
                moment = math.log1p(excess * math.exp(-log_total))
            worst = max(worst, moment)
        return worst

    @property
    def largest_loss(self) -> float:
        kernel = self.noise.kernel
        if not isinstance(kernel, Laplace):
            return math.inf
        most = self.sensitivity / kernel.scale
        worst = 0.0
        for pieces in pieces_of(self.noise, self.sensitivity):
            # the loss falls from +most left of 0 to -most right of the shift
            at_start = np.clip((self.sensitivity - 2 * pieces.low) / kernel.scale, -most, most)
            worst = max(worst, float(np.max(pieces.log_ratio + at_start)))
        return worst * (1 + 4e-16)


def log_release_probability(noise: Noise) -> float:
    """log of the probability that one round releases: the Z of theory.md."""
    return noise.log_total if isinstance(noise, Recycled) else 0.0


@functools.lru_cache(maxsize=1024)
def pieces_of(noise: Noise, sensitivity: float) -> tuple[Pieces, ...]:
    """Return the pieces of each direction that must be looked at."""
    kinks = () if isinstance(noise.kernel, Gaussian) else (0.0, sensitivity)
    return tuple(cut(side, shift=sensitivity, kinks=kinks) for side in directions(noise.recycler))


def _hinge(kernel: Kernel, pieces: Pieces, *, shift: float, threshold: Floats) -> Floats:
    if isinstance(kernel, Gaussian):
        return hinge.gaussian_hinge(
            pieces.low,
            pieces.high,
            width=pieces.width,
            shift=shift,
            sigma=kernel.sigma,
            threshold=threshold,
        )
    if isinstance(kernel, Laplace):
        return hinge.laplace_hinge(
            pieces.low,
            pieces.high,
            width=pieces.width,
            shift=shift,
            scale=kernel.scale,
            threshold=threshold,
        )
    from brdp.privacy.general import general_hinge

    return general_hinge(kernel, pieces.low, pieces.high, shift=shift, threshold=threshold)


def _tilted(kernel: Gaussian | Laplace, order: float, pieces: Pieces, *, shift: float) -> Floats:
    if isinstance(kernel, Gaussian):
        return hinge.gaussian_tilted(
            order, pieces.low, pieces.high, width=pieces.width, shift=shift, sigma=kernel.sigma
        )
    return hinge.laplace_tilted(
        order, pieces.low, pieces.high, width=pieces.width, shift=shift, scale=kernel.scale
    )
