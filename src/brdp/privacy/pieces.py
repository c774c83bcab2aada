"""Cutting the line where the weights of the noise and of its shifted copy are both constant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from brdp.noise.base import Floats
from brdp.noise.recycler import Recycler


@final
@dataclass(frozen=True, slots=True)
class Pieces:
    """Intervals [low, high] with the log weight of the noise (P) and of its copy at +shift (Q)."""

    low: Floats
    high: Floats
    log_keep: Floats
    log_keep_shifted: Floats

    @property
    def log_ratio(self) -> Floats:
        """What recycling adds to the privacy loss on each piece; inf where Q has nothing."""
        with np.errstate(invalid="ignore"):
            return self.log_keep - self.log_keep_shifted


def cut(recycler: Recycler, *, shift: float, kinks: tuple[float, ...] = ()) -> Pieces:
    """Cut at the edges, the shifted edges and the kinks; pieces that P never reaches are left out."""
    edges = np.asarray(recycler.edges, dtype=np.float64)
    keeps = np.asarray(recycler.keeps, dtype=np.float64)
    inner = np.unique(np.concatenate([edges, edges + shift, np.asarray(kinks, dtype=np.float64)]))
    bounds = np.concatenate([[-np.inf], inner, [np.inf]])
    low, high = bounds[:-1], bounds[1:]
    # the weight of a piece is the one just right of its lower end
    mine = keeps[np.searchsorted(edges, low, side="right")]
    shifted = keeps[np.searchsorted(edges + shift, low, side="right")]
    reached = mine > 0
    with np.errstate(divide="ignore"):
        return Pieces(low[reached], high[reached], np.log(mine[reached]), np.log(shifted[reached]))


def mirrored(recycler: Recycler) -> Recycler:
    """The recycler seen from the other side: a shift down is a shift up of the mirror image."""
    return Recycler(
        edges=tuple(-edge for edge in reversed(recycler.edges)), keeps=recycler.keeps[::-1]
    )


def directions(recycler: Recycler) -> tuple[Recycler, ...]:
    """The recyclers to look at with an upward shift: both sides, unless they are alike."""
    return (recycler,) if recycler.symmetric else (recycler, mirrored(recycler))
