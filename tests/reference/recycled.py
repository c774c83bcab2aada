"""Recycled noise in many digits: a kernel and a step function of retention weights."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mpmath import mp, mpf

from tests.reference.kernels import INFINITY, Kernel, Number, Staircase


@dataclass(frozen=True)
class Recycled:
    """Draw from the kernel until a draw is kept; a draw n is kept with probability weight(n).

    `edges` ascend and cut the line into len(edges)+1 parts, `keeps` holds the weight of each. A point on an
    edge belongs to the part that keeps more, which for bounds around 0 is the part inside them.
    """

    kernel: Kernel
    edges: tuple[Number, ...] = ()
    keeps: tuple[Number, ...] = (1,)

    @property
    def lattice(self) -> bool:
        return self.kernel.lattice

    def weight(self, x: Number) -> mpf:
        ends = (-INFINITY, *map(mpf, self.edges), INFINITY)
        return max(
            mpf(keep)
            for keep, low, high in zip(self.keeps, ends[:-1], ends[1:], strict=True)
            if low <= mpf(x) <= high
        )

    def parts(self) -> Iterator[tuple[mpf, mpf, mpf]]:
        """(low, high, weight) with the ends inclusive; on the integers no integer is in two parts."""
        ends = (-INFINITY, *map(mpf, self.edges), INFINITY)
        if not self.lattice:
            for keep, low, high in zip(self.keeps, ends[:-1], ends[1:], strict=True):
                yield low, high, mpf(keep)
            return
        for i, keep in enumerate(self.keeps):
            low, high = ends[i], ends[i + 1]
            first = low if mp.isinf(low) else mp.ceil(low)
            last = high if mp.isinf(high) else mp.floor(high)
            if first == low and self.weight(low) != mpf(keep):
                first += 1
            if last == high and self.weight(high) != mpf(keep):
                last -= 1
            # where two neighbours keep the same, the left one has the point between them
            if i > 0 and first == low and mpf(self.keeps[i - 1]) == mpf(keep):
                first += 1
            if first <= last:
                yield first, last, mpf(keep)

    @property
    def normaliser(self) -> mpf:
        """Z, the probability that a draw is kept; 1/Z is the expected number of rounds."""
        return _normaliser(self, mp.dps)

    def pdf(self, x: Number) -> mpf:
        return self.weight(x) * self.kernel.density(x) / self.normaliser

    def mass(self, low: Number, high: Number) -> mpf:
        """P(low <= N <= high), ends included."""
        low, high = mpf(low), mpf(high)
        total = mp.fsum(
            keep * self.kernel.mass(max(low, first), min(high, last))
            for first, last, keep in self.parts()
            if max(low, first) <= min(high, last)
        )
        return total / self.normaliser

    def cdf(self, x: Number) -> mpf:
        return self.mass(-INFINITY, x)

    def acceptance(self, low: Number, high: Number) -> mpf:
        return self.mass(low, high)

    def moment(self, order: int) -> mpf:
        """E N^order by quadrature (reals) or term by term (integers); slow, for narrow laws."""
        scale = mp.sqrt(self.kernel.variance) + (
            max(abs(mpf(e)) for e in self.edges) if self.edges else 0
        )
        if self.lattice:
            reach = int(mp.ceil(60 * scale)) + 60
            return mp.fsum(mpf(k) ** order * self.pdf(k) for k in range(-reach, reach + 1))
        reach = 80 * scale
        cuts = sorted({-reach, mpf(0), reach, *map(mpf, self.edges), *self.kernel.corners(reach)})
        total = mpf(0)
        constant = self.normaliser
        for low, high in itertools.pairwise(cuts):
            keep = self.weight((low + high) / 2)
            fine = mp.linspace(low, high, 2 if isinstance(self.kernel, Staircase) else 17)
            total += keep * mp.quad(
                lambda x: x**order * self.kernel.density(x), fine, method="gauss-legendre"
            )
        return total / constant

    def mirrored(self) -> Recycled:
        """The law of -N."""
        return Recycled(
            self.kernel, tuple(-mpf(e) for e in reversed(self.edges)), tuple(reversed(self.keeps))
        )

    @property
    def symmetric(self) -> bool:
        return self.mirrored() == Recycled(self.kernel, tuple(map(mpf, self.edges)), self.keeps)


@lru_cache(maxsize=256)
def _normaliser(noise: Recycled, digits: int) -> mpf:
    """Kept, because it is asked for at every point; `digits` is the precision in force, part of the key."""
    return mp.fsum(keep * noise.kernel.mass(low, high) for low, high, keep in noise.parts())


def within(kernel: Kernel, bound: Number | tuple[Number, Number], rate: Number) -> Recycled:
    """One bound, or (low, high), and the recycling rate q outside it."""
    low, high = bound if isinstance(bound, tuple) else (-bound, bound)
    with mp.workdps(
        500
    ):  # exact for a float, and no harm to a decimal string at any precision used here
        keep = 1 - mpf(rate)
    return Recycled(kernel, (low, high), (keep, 1, keep))


def levels(kernel: Kernel, steps: Sequence[tuple[Any, Any]]) -> Recycled:
    """[(bound, keep), ..., (inf, keep)]: each keep holds up to its bound, on both sides."""
    bounds = [bound for bound, _ in steps[:-1]]
    outside = [keep for _, keep in steps[1:]]
    return Recycled(
        kernel,
        (*(-b for b in reversed(bounds)), *bounds),
        (*reversed(outside), steps[0][1], *outside),
    )
