"""Recycled noise: a kernel, and a recycler that redraws what falls outside the bounds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from brdp import _validate
from brdp.errors import InvalidInput
from brdp.noise.base import Floats, Kernel, Noise, generator_of, interval
from brdp.noise.quadrature import NODES, WEIGHTS
from brdp.noise.recycler import Recycler

LEVELS_REMEDY = "Give levels as [(1.0, 1.0), (6.0, 0.3), (inf, 0.1)]: bounds that rise to inf, weights in [0, 1]."
# A sample that would take more rounds than this is refused.
MOST_ROUNDS = 1e10
LARGEST_LATTICE_BOUND = 2.0**51


@final
class Recycled(Noise):
    """A kernel under a recycler.

    Draw n from the kernel. Release it if it is within the bounds; otherwise release it with probability
    1 - rate, else draw again. With `levels`, n is released with the weight of the level it falls in.

    Args:
        kernel: the noise before recycling, on the reals or the integers.
        within: the bound theta, or a pair (low, high) with low <= 0 <= high; both ends inclusive.
        rate: the recycling rate q in [0, 1].
        levels: in place of within and rate, pairs (bound, keep) around 0, from the inside out.
    """

    __slots__ = ("_kernel", "_log_total", "_recycler")
    _kernel: Kernel
    _recycler: Recycler
    _log_total: float

    def __init__(
        self,
        kernel: Kernel,
        *,
        within: float | tuple[float, float] | None = None,
        rate: float | None = None,
        levels: Sequence[tuple[float, float]] | None = None,
    ) -> None:
        if not isinstance(kernel, Kernel):
            raise InvalidInput(
                "kernel", expected="a kernel", got=kernel, remedy="For example brdp.Gaussian(2.5)."
            )
        if levels is not None:
            if within is not None or rate is not None:
                raise InvalidInput(
                    "levels", expected="levels alone", got=(within, rate), remedy=LEVELS_REMEDY
                )
            recycler = _levels(levels, lattice=kernel.lattice)
        elif within is None or rate is None:
            raise InvalidInput(
                "within, rate",
                expected="both (or levels)",
                got=(within, rate),
                remedy=LEVELS_REMEDY,
            )
        else:
            recycler = _one_level(within, rate=rate, lattice=kernel.lattice)
        self._set(kernel, recycler)

    @classmethod
    def under(cls, kernel: Kernel, recycler: Recycler) -> Recycled:
        """Put the kernel under a recycler of any shape (on the integers its edges lie between them)."""
        noise = cls.__new__(cls)
        if kernel.lattice and not all(
            abs(edge) < LARGEST_LATTICE_BOUND and edge - math.floor(edge) == 0.5
            for edge in recycler.edges
        ):
            raise InvalidInput(
                "edges",
                expected="half-integers such as 3.5 below 2^51 on the lattice",
                got=recycler.edges,
            )
        noise._set(kernel, recycler)
        return noise

    def _set(self, kernel: Kernel, recycler: Recycler) -> None:
        low, high = _cells(recycler, lattice=kernel.lattice)
        keeps = np.asarray(recycler.keeps)
        kept = keeps > 0
        with np.errstate(divide="ignore"):
            total = np.logaddexp.reduce(
                np.log(keeps[kept]) + kernel.log_mass(low[kept], high[kept])
            )
        if not total > -np.inf:
            raise InvalidInput(
                "within",
                expected="bounds that the kernel can reach",
                got=recycler.edges,
                remedy="With rate=1 nothing would ever be released: widen the bounds or lower the rate.",
            )
        object.__setattr__(self, "_kernel", kernel)
        object.__setattr__(self, "_recycler", recycler)
        object.__setattr__(self, "_log_total", min(0.0, float(total)))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Recycled noise is frozen: make a new one to change {name}.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Recycled noise is frozen: {name} cannot be deleted.")

    def __reduce__(self) -> tuple[Any, ...]:
        return Recycled.under, (self._kernel, self._recycler)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Recycled):
            return NotImplemented
        return (self._kernel, self._recycler) == (other._kernel, other._recycler)

    def __hash__(self) -> int:
        return hash((self._kernel, self._recycler))

    def __repr__(self) -> str:
        edges, keeps = self._recycler.edges, self._recycler.keeps
        if self.lattice:  # edges lie between the integers; bounds are the last ones inside
            edges = tuple(edge - math.copysign(0.5, edge) for edge in edges)
        if len(edges) == 2 and keeps[1] == 1 and keeps[0] == keeps[2]:
            within = repr(edges[1]) if -edges[0] == edges[1] else repr(edges)
            return f"Recycled({self._kernel!r}, within={within}, rate={1 - keeps[0]!r})"
        if self._recycler.symmetric:
            middle = len(edges) // 2
            levels = [*zip((*edges[middle:], math.inf), keeps[middle:], strict=True)]
            return f"Recycled({self._kernel!r}, levels={levels!r})"
        return f"Recycled({self._kernel!r}, edges={edges!r}, keeps={keeps!r})"

    @property
    def lattice(self) -> bool:
        return self._kernel.lattice

    @property
    def kernel(self) -> Kernel:
        return self._kernel

    @property
    def recycler(self) -> Recycler:
        return self._recycler

    @property
    def log_total(self) -> float:
        """log E[keep]: the probability that one round releases."""
        return self._log_total

    @property
    def expected_rounds(self) -> float:
        # a total so small that its reciprocal is no float any more is still a total
        return math.exp(-self._log_total) if self._log_total > -709 else math.inf

    def log_pdf(self, x: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self._recycler.keep(x)) + self._kernel.log_pdf(x) - self._log_total

    def log_mass(self, low: ArrayLike, high: ArrayLike) -> Floats:
        """log P(low <= N <= high), relatively accurate deep in the tails and for narrow intervals."""
        left_end, right_end = np.broadcast_arrays(
            np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        )
        if self.lattice:
            left_end, right_end = np.ceil(left_end), np.floor(right_end)
        mass = np.full(left_end.shape, -np.inf)
        starts, ends = _cells(self._recycler, lattice=self.lattice)
        for start, end, keep in zip(starts, ends, self._recycler.keeps, strict=True):
            if keep == 0:
                continue
            left, right = np.maximum(left_end, start), np.minimum(right_end, end)
            inside = left <= right
            # an empty overlap is asked for as a point and then dropped, so that kernels see good intervals
            part = self._kernel.log_mass(np.where(inside, left, 0.0), np.where(inside, right, 0.0))
            mass = np.logaddexp(mass, np.where(inside, part + math.log(keep), -np.inf))
        return np.minimum(mass - self._log_total, 0.0)

    def ppf(self, u: ArrayLike) -> Floats:
        """Quantiles, by finding the cell and asking the kernel within it."""
        u = _validate.shares(u=u)
        starts, ends = _cells(self._recycler, lattice=self.lattice)
        keeps = np.asarray(self._recycler.keeps)
        with np.errstate(divide="ignore"):
            masses = np.exp(np.log(keeps) + self._kernel.log_mass(starts, ends) - self._log_total)
        below = np.concatenate([[0.0], np.cumsum(masses)])
        first, last = np.flatnonzero(masses)[[0, -1]]
        cell = np.clip(np.searchsorted(below, u, side="left") - 1, first, last)
        lower_tail = np.exp(self._kernel.log_mass(-np.inf, starts - (1.0 if self.lattice else 0.0)))
        share = np.exp(self._log_total) / np.where(keeps[cell] > 0, keeps[cell], 1.0)
        upper_tail = np.exp(self._kernel.log_mass(ends + (1.0 if self.lattice else 0.0), np.inf))
        from_below = self._kernel.ppf(np.clip(lower_tail[cell] + (u - below[cell]) * share, 0, 1))
        rest = np.clip(upper_tail[cell] + (below[cell + 1] - u) * share, 0, 1)
        # on the upper half the mirror image keeps the accuracy of small tails (the kernel is even)
        from_above = -self._kernel.ppf(rest)
        if self.lattice:
            x = from_below
        else:
            x = np.where(starts[cell] >= 0, from_above, from_below)
        return np.clip(x, starts[cell], ends[cell])

    def _moments(self) -> tuple[float, float]:
        starts, ends = _cells(self._recycler, lattice=self.lattice)
        step = 1.0 if self.lattice else 0.0
        first = second = 0.0
        for start, end, keep in zip(starts, ends, self._recycler.keeps, strict=True):
            # each side of 0 from its own tail; 0 itself adds nothing to either moment
            for near, far, sign in ((start, end, 1.0), (-end, -start, -1.0)):
                if far <= 0 or keep == 0:
                    continue
                one, two = _partial_moments(self._kernel, max(near, step), far)
                first += sign * keep * one
                second += keep * two
        return first * self.expected_rounds, second * self.expected_rounds

    @property
    def mean(self) -> float:
        return 0.0 if self._recycler.symmetric else self._moments()[0]

    @property
    def std(self) -> float:
        first, second = self._moments()
        return math.sqrt(max(0.0, second - (0.0 if self._recycler.symmetric else first) ** 2))

    def sample(self, size: int, rng: np.random.Generator | None = None) -> Floats:
        size = _validate.whole(size=size, least=0)
        if size * self.expected_rounds > MOST_ROUNDS:
            raise InvalidInput(
                "size",
                expected=f"a sample of at most {MOST_ROUNDS:.0e} rounds",
                got=size,
                remedy="The literal loop would not end in your time: use ppf on uniform draws.",
            )
        generator = generator_of(rng)
        values = np.empty(size)
        done = 0
        while done < size:
            # a block of rounds at once: enough for what is missing, bounded in memory
            rounds = min(1 << 20, int((size - done) * self.expected_rounds * 1.1) + 16)
            drawn = self._kernel.sample(rounds, generator)
            kept = drawn[generator.random(rounds) < self._recycler.keep(drawn)][: size - done]
            values[done : done + len(kept)] = kept
            done += len(kept)
        return values


def _partial_moments(kernel: Kernel, near: float, far: float) -> tuple[float, float]:
    """E[N; near <= N <= far] and E[N^2; ...] for 0 <= near (an integer on the lattice)."""
    if kernel.lattice and far - near < 1000:
        x = np.arange(near, far + 1)
        weights = kernel.pdf(x)
    elif not kernel.lattice and kernel.log_concave and far - near < 0.5 * kernel.std:
        # two tails would cancel; the density is smooth on one side of 0
        x = near + (far - near) * NODES
        weights = (far - near) * WEIGHTS * kernel.pdf(x)
    else:
        inner = kernel.upper_moments(near)
        outer = kernel.upper_moments(far + float(kernel.lattice)) if far < np.inf else (0.0, 0.0)
        return inner[0] - outer[0], inner[1] - outer[1]
    return float(x @ weights), float((x * x) @ weights)


def _cells(recycler: Recycler, *, lattice: bool) -> tuple[Floats, Floats]:
    """Where each weight begins and ends; on the lattice the first and last integer of it."""
    starts = np.array([-np.inf, *recycler.edges])
    ends = np.array([*recycler.edges, np.inf])
    return (np.ceil(starts), np.floor(ends)) if lattice else (starts, ends)


def _one_level(within: float | tuple[float, float], *, rate: float, lattice: bool) -> Recycler:
    keep = 1.0 - _validate.probability(rate=rate)
    low, high = interval(within)
    if lattice:
        low, high = -_edge_beyond(-low), _edge_beyond(high)
    edges = {edge: None for edge in (low, high) if math.isfinite(edge)}
    if low == high:  # a bound of 0 on the line holds nothing
        if keep == 0:
            raise InvalidInput("within", expected="a bound above 0 where rate is 1", got=within)
        return Recycler(edges=(), keeps=(1.0,))
    keeps = [1.0]
    if math.isfinite(low):
        keeps.insert(0, keep)
    if math.isfinite(high):
        keeps.append(keep)
    return Recycler(edges=tuple(edges), keeps=tuple(keeps))


def _edge_beyond(bound: float) -> float:
    """The half-integer past the last integer within the bound."""
    if math.isinf(bound):
        return bound
    if abs(bound) >= LARGEST_LATTICE_BOUND:
        raise InvalidInput(
            "within",
            expected="bounds below 2^51 on the integers, where halves are still numbers",
            got=bound,
            remedy="Use a coarser resolution, so that the bound is fewer steps.",
        )
    if 0 < abs(bound) < 1:
        raise InvalidInput(
            "within",
            expected="bounds of at least one step, which is 1 on the integers (or of 0, for the 0 alone)",
            got=bound,
            remedy="Widen the bound, or use a finer lattice.",
        )
    return math.floor(bound) + 0.5


def _levels(levels: Sequence[tuple[float, float]], *, lattice: bool) -> Recycler:
    try:
        pairs = [(float(bound), float(keep)) for bound, keep in levels]
    except (TypeError, ValueError, OverflowError):
        pairs = []
    bounds = [bound for bound, _ in pairs]
    # on the lattice a bound of 0 still holds the 0
    start = -1.0 if lattice else 0.0
    rising = all(a < b for a, b in itertools.pairwise([start, *bounds]))
    if not pairs or not rising or not math.isinf(bounds[-1]):
        raise InvalidInput(
            "levels",
            expected="bounds that rise from above 0 to inf",
            got=levels,
            remedy=LEVELS_REMEDY,
        )
    inner = [_edge_beyond(b) for b in bounds[:-1]] if lattice else bounds[:-1]
    keeps = [keep for _, keep in pairs]
    if not all(0 <= keep <= 1 for keep in keeps) or max(keeps) == 0:
        raise InvalidInput(
            "levels",
            expected="weights in [0, 1], not all of them 0",
            got=levels,
            remedy=LEVELS_REMEDY,
        )
    edges = (*(-edge for edge in reversed(inner)), *inner)
    return Recycler(edges=edges, keeps=(*reversed(keeps[1:]), *keeps))
