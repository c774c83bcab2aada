"""Sums of exponentials at very many even frequencies: fast transforms, with a proven error.

Losses are moved to the points of a circle one period long. What a loss lies beside its point is made up for by
the first terms of exp's series, each of which is one fast transform. Proofs: docs/theory/composition.md, 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from brdp.noise.base import Floats
from brdp.privacy.fourier import FFT_ERROR

UNIT = 2.0**-53
# On 2 * count points a loss lies within half a point of one: its frequency times that is at most pi / 2, and the
# series breaks off below 1e-16.
TERMS, TURN = 22, 0.5 * math.pi
BROKEN_OFF = 1.1 * TURN**TERMS / math.factorial(TERMS)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Exponentials:
    """A law as a sum of exp(log_mass + s * loss), by how much a loss may be off, and what the sum lacks.

    The log of the latter is relative to the moment of the real order that was asked for.
    """

    losses: Floats
    log_masses: Floats
    loss_errors: Floats
    log_missing: float


@final
@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """M(tilt + i t) = values * exp(log_scale) for even t from 0 on, and the errors of `values`."""

    values: NDArray[np.complex128]
    errors: Floats
    log_scale: float


def around(law: Exponentials, tilt: float, frequencies: Floats) -> Moments:
    """The moments of a law at 0, step, 2 step, ..."""
    logs = law.log_masses + tilt * law.losses
    top = float(logs.max())
    weights = np.exp(logs - top)
    total = float(weights.sum())
    weights /= total
    count = len(frequencies) - 1
    points = fft.next_fast_len(2 * count, real=True)
    apart = 2 * math.pi / (frequencies[1] * points)
    places = law.losses / apart
    nearest = np.rint(places)
    beside = places - nearest
    at = np.mod(nearest, points).astype(np.int64)
    turns = frequencies * apart
    series = np.ones(count + 1)
    values = np.zeros(count + 1, dtype=np.complex128)
    terms = weights
    for term in range(TERMS):
        column = np.bincount(at, terms, points)
        values += (series * 1j**term) * np.conj(fft.rfft(column)[: count + 1])
        terms = terms * beside
        series *= turns / (term + 1)
    # each mass is an exponential; then come the sums at every point, the transforms, and the series, whose terms
    # add up to exp(TURN) at most
    sizes = np.abs(law.log_masses) + np.abs(tilt * law.losses) + abs(top)
    crowd = float(np.bincount(at, minlength=points).max())
    rounding = UNIT * (8 + 4 * float(weights @ sizes) + crowd + len(weights) + 4 * TERMS)
    rounding += FFT_ERROR * math.log2(points)
    # a loss is divided by a distance that is rounded, and so are the frequencies
    moved = float(weights @ (law.loss_errors + 8 * UNIT * np.abs(law.losses)))
    errors = math.exp(TURN) * rounding + BROKEN_OFF + math.exp(min(0.0, law.log_missing))
    return Moments(values, errors + moved * (tilt + frequencies), top + math.log(total))
