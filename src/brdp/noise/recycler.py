"""The recycler: which share of the kernel's draws is kept, by where they fall."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brdp.errors import InvalidInput


@final
@dataclass(frozen=True, slots=True)
class Recycler:
    """A step function of retention weights on the line.

    `keeps[i]` is the probability of keeping a draw between `edges[i-1]` and `edges[i]`; the first and
    the last interval reach to infinity. A draw on an edge belongs to the side nearer to 0, so that
    bounds are inclusive.
    """

    edges: tuple[float, ...]
    keeps: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.keeps) != len(self.edges) + 1:
            raise InvalidInput("keeps", expected="one more weight than edges", got=self.keeps)
        # written so that a NaN fails
        if not all(a < b for a, b in zip(self.edges, self.edges[1:], strict=False)):
            raise InvalidInput("edges", expected="strictly increasing numbers", got=self.edges)
        if not all(math.isfinite(edge) for edge in self.edges):
            raise InvalidInput("edges", expected="finite numbers", got=self.edges)
        if not all(0 <= keep <= 1 for keep in self.keeps) or max(self.keeps) == 0:
            raise InvalidInput(
                "keeps", expected="weights in [0, 1], not all of them 0", got=self.keeps
            )

    @property
    def symmetric(self) -> bool:
        """Whether both sides of 0 are treated alike."""
        mirrored = tuple(-edge for edge in reversed(self.edges))
        return mirrored == self.edges and self.keeps[::-1] == self.keeps

    @property
    def falling(self) -> bool:
        """Whether the weights never rise on the way out from 0; then any kernel stays unimodal."""
        middle = int(np.searchsorted(self.edges, 0.0))
        # an edge at 0 itself: 0 belongs to both neighbours, the heavier of which is the centre
        if middle < len(self.edges) and self.edges[middle] == 0.0:
            middle += int(self.keeps[middle + 1] > self.keeps[middle])
        left, right = self.keeps[: middle + 1], self.keeps[middle:]
        rises = all(a <= b for a, b in itertools.pairwise(left))
        falls = all(a >= b for a, b in itertools.pairwise(right))
        return rises and falls

    def keep(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the weight at each x."""
        at = np.asarray(x, dtype=np.float64)
        keeps = np.asarray(self.keeps)
        to_the_left = keeps[np.searchsorted(self.edges, at, side="left")]
        to_the_right = keeps[np.searchsorted(self.edges, at, side="right")]
        beside_zero = np.maximum(to_the_left, to_the_right)
        return np.where(at == 0, beside_zero, np.where(at > 0, to_the_left, to_the_right))
