"""Cutting the line where the weights of the noise and of its shifted copy are both constant."""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from brdp.noise.base import Floats
from brdp.noise.recycler import Recycler


@final
@dataclass(frozen=True, slots=True)
class Pieces:
    """Intervals [low, high] with the log weight of the noise (P) and of its copy at +shift (Q).

    `width` is high - low, known with more digits than the difference of the two rounded ends.
    """

    low: Floats
    high: Floats
    log_keep: Floats
    log_keep_shifted: Floats
    width: Floats

    @property
    def log_ratio(self) -> Floats:
        """What recycling adds to the privacy loss on each piece; inf where Q has nothing."""
        with np.errstate(invalid="ignore"):
            return self.log_keep - self.log_keep_shifted


def cut(recycler: Recycler, *, shift: float, kinks: tuple[float, ...] = ()) -> Pieces:
    """Cut at the edges, the shifted edges and the kinks; pieces that P never reaches are left out.

    A cut is placed in exact arithmetic: next to a far edge, an edge + shift rounded to a float would
    lose the width of the piece between them.
    """
    edges = [Fraction(edge) for edge in recycler.edges]
    shifted_edges = [edge + Fraction(shift) for edge in edges]
    cuts = sorted({*edges, *shifted_edges, *map(Fraction, kinks)})
    low = np.array([-np.inf, *map(float, cuts)])
    high = np.array([*map(float, cuts), np.inf])
    width = np.array([np.inf, *(float(b - a) for a, b in itertools.pairwise(cuts)), np.inf])
    # the weight of a piece is the one just right of its lower end
    keeps = np.asarray(recycler.keeps, dtype=np.float64)
    mine = keeps[[0, *(bisect.bisect_right(edges, c) for c in cuts)]]
    shifted = keeps[[0, *(bisect.bisect_right(shifted_edges, c) for c in cuts)]]
    reached = mine > 0
    with np.errstate(divide="ignore"):
        log_keep, log_keep_shifted = np.log(mine[reached]), np.log(shifted[reached])
    return Pieces(
        low[reached], high[reached], log_keep, log_keep_shifted, width[: len(low)][reached]
    )


def mirrored(recycler: Recycler) -> Recycler:
    """The recycler seen from the other side: a shift down is a shift up of the mirror image."""
    return Recycler(
        edges=tuple(-edge for edge in reversed(recycler.edges)), keeps=recycler.keeps[::-1]
    )


def directions(recycler: Recycler) -> tuple[Recycler, ...]:
    """The recyclers to look at with an upward shift: both sides, unless they are alike."""
    return (recycler,) if recycler.symmetric else (recycler, mirrored(recycler))
