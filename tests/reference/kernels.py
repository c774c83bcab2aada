"""Kernels in many digits: the densities, masses and interval masses, written out as they are defined.

Nothing here imports brdp. Every function works at the precision in force (`mpmath.mp.dps`), so the caller
chooses it; parameters are floats, taken as the exact binary numbers they are, or mpmath numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import mpmath
from mpmath import mp, mpf

Number = Any  # an int, a float or an mpf: what mpf() accepts

INFINITY = mpf("inf")


class Kernel(ABC):
    """The noise before recycling: even, non-increasing away from 0, of total mass 1."""

    lattice = False

    @abstractmethod
    def log_density(self, x: Number) -> mpf:
        """Log of the density at x, or of the probability of the integer x."""

    @abstractmethod
    def upper(self, x: Number) -> mpf:
        """P(N >= x) for x >= 0, to full relative precision."""

    @abstractmethod
    def corners(self, reach: mpf) -> list[mpf]:
        """Where, within [-reach, reach], the log-density changes from one formula to another."""

    @property
    @abstractmethod
    def variance(self) -> mpf:
        """E N^2."""

    def density(self, x: Number) -> mpf:
        return mp.exp(self.log_density(x))

    def mass(self, low: Number, high: Number) -> mpf:
        """P(low <= N <= high), ends included; infinite ends allowed."""
        low, high = mpf(low), mpf(high)
        if self.lattice:
            low = low if mp.isinf(low) else mp.ceil(low)
            high = high if mp.isinf(high) else mp.floor(high)
        if high < low:
            return mpf(0)
        beyond = 1 if self.lattice else 0  # the first point no longer inside
        if low > 0:
            return self._upper(low) - self._upper(high + beyond)
        if high < 0:
            return self._upper(-high) - self._upper(-low + beyond)
        return 1 - self._upper(-low + beyond) - self._upper(high + beyond)

    def _upper(self, x: mpf) -> mpf:
        return mpf(0) if mp.isinf(x) else self.upper(x)


@dataclass(frozen=True)
class Gaussian(Kernel):
    sigma: Number

    def log_density(self, x: Number) -> mpf:
        sigma = mpf(self.sigma)
        return -((mpf(x) / sigma) ** 2) / 2 - mp.log(sigma * mp.sqrt(2 * mp.pi))

    def upper(self, x: Number) -> mpf:
        return mp.erfc(mpf(x) / (mpf(self.sigma) * mp.sqrt(2))) / 2

    def corners(self, reach: mpf) -> list[mpf]:
        return []

    @property
    def variance(self) -> mpf:
        return mpf(self.sigma) ** 2


@dataclass(frozen=True)
class Laplace(Kernel):
    scale: Number

    def log_density(self, x: Number) -> mpf:
        scale = mpf(self.scale)
        return -abs(mpf(x)) / scale - mp.log(2 * scale)

    def upper(self, x: Number) -> mpf:
        return mp.exp(-mpf(x) / mpf(self.scale)) / 2

    def corners(self, reach: mpf) -> list[mpf]:
        return [mpf(0)]

    @property
    def variance(self) -> mpf:
        return 2 * mpf(self.scale) ** 2


@dataclass(frozen=True)
class DiscreteLaplace(Kernel):
    """Mass proportional to r^|k| with r = exp(-1/scale); the total of r^|k| is (1+r)/(1-r)."""

    scale: Number
    lattice = True

    def log_density(self, x: Number) -> mpf:
        scale = mpf(self.scale)
        return -abs(mpf(x)) / scale + mp.log(
            mp.tanh(1 / (2 * scale))
        )  # (1-r)/(1+r) = tanh(1/(2 scale))

    def upper(self, x: Number) -> mpf:
        scale = mpf(self.scale)
        if x == 0:
            return mpf(1) / 2 + self.density(0) / 2
        return mp.exp(-mpf(x) / scale) / (1 + mp.exp(-1 / scale))

    def corners(self, reach: mpf) -> list[mpf]:
        return [mpf(0)]

    @property
    def variance(self) -> mpf:
        ratio = mp.exp(-1 / mpf(self.scale))
        return 2 * ratio / (1 - ratio) ** 2


@lru_cache(maxsize=64)
def bell_sums(sigma: Number, digits: int) -> list[mpf]:
    """Sums of exp(-j^2/(2 sigma^2)) over j >= k, for k = 0, 1, ..., term by term from the far end.

    The terms past the last are below 10^(-digits-400), which no delta of interest can see.
    """
    with mp.workdps(digits + 20):
        width = 2 * mpf(sigma) ** 2
        last = int(mp.ceil(mp.sqrt(width * (digits + 400) * mp.log(10)))) + 2
        terms = [mp.exp(-mpf(k) * k / width) for k in range(last + 1)]
        sums = [mpf(0)]
        for term in reversed(terms):
            sums.append(sums[-1] + term)
        return sums[:0:-1]


def bell_sum_by_euler_maclaurin(sigma: Number, start: mpf) -> mpf:
    """The sum of exp(-k^2/(2 sigma^2)) over integers k >= start, for sigma so wide that terms are too many.

    integral + f(start)/2 - sum over j of B_2j/(2j)! f^(2j-1)(start); the n-th derivative of exp(-z^2/2) is
    (-1)^n He_n(z) exp(-z^2/2), and He_(n+1) = z He_n - n He_(n-1).
    """
    with mp.workdps(mp.dps + 20):
        sigma = mpf(sigma)
        z = mpf(start) / sigma
        bell = mp.exp(-z * z / 2)
        total = sigma * mp.sqrt(mp.pi / 2) * mp.erfc(z / mp.sqrt(2)) + bell / 2
        if z > 50:  # below 1e-540, which no delta of interest can see: the leading terms do
            return total
        before, now, n = mpf(1), z, 1  # He_0, He_1; n is the order of `now`, always odd here
        while True:
            term = mp.bernoulli(n + 1) / mp.factorial(n + 1) * now * bell / sigma**n
            total += term  # minus the derivative, whose sign at odd order is minus
            # the bound on He_n |He_n(z)| <= sqrt(n!) exp(z^2/4) makes a small `now` by chance harmless
            bound = mp.sqrt(mp.factorial(n)) * mp.exp(z * z / 4) * bell / (2 * mp.pi * sigma) ** n
            if bound < mpf(10) ** (-mp.dps - 5) * total:
                return total
            if n > 2000:
                raise ArithmeticError(
                    f"sigma {sigma} is too narrow for an expansion to {mp.dps} digits"
                )
            before, now = now, z * now - n * before
            before, now = now, z * now - (n + 1) * before
            n += 2


@dataclass(frozen=True)
class DiscreteGaussian(Kernel):
    """Mass proportional to exp(-k^2/(2 sigma^2)); sums are made term by term up to sigma 600."""

    sigma: Number
    lattice = True

    @property
    def wide(self) -> bool:
        return mpf(self.sigma) > 600

    def total(self) -> mpf:
        return _bell_total(self.sigma, self.wide, mp.dps)

    def log_density(self, x: Number) -> mpf:
        return -((mpf(x) / mpf(self.sigma)) ** 2) / 2 - mp.log(self.total())

    def upper(self, x: Number) -> mpf:
        if self.wide:
            return bell_sum_by_euler_maclaurin(self.sigma, mpf(x)) / self.total()
        sums, start = bell_sums(self.sigma, mp.dps), int(x)
        # what the list leaves out must be small beside the term at `start`, not only beside the first
        spread = (mpf(len(sums)) ** 2 - mpf(start) ** 2) / (2 * mpf(self.sigma) ** 2)
        if start < len(sums) and spread > (mp.dps + 5) * mp.log(10):
            return sums[start] / self.total()
        tail, k = mpf(0), start
        while True:
            term = mp.exp(-mpf(k) * k / (2 * mpf(self.sigma) ** 2))
            tail += term
            if term < tail * mpf(10) ** (-mp.dps - 10):
                return tail / self.total()
            k += 1

    def corners(self, reach: mpf) -> list[mpf]:
        return []

    @property
    def variance(self) -> mpf:
        if self.wide:  # theta functions: beyond 1e-1000 from the square of sigma
            return mpf(self.sigma) ** 2
        last = len(bell_sums(self.sigma, mp.dps))
        width = 2 * mpf(self.sigma) ** 2
        return (
            2 * mp.fsum(k * k * mp.exp(-mpf(k) * k / width) for k in range(1, last)) / self.total()
        )


@lru_cache(maxsize=64)
def _bell_total(sigma: Number, wide: bool, digits: int) -> mpf:
    """The sum over all integers. Poisson: a bell of width 1/(2 pi sigma) at the integers, times sigma sqrt(2 pi)."""
    if not wide:
        return 2 * bell_sums(sigma, digits)[0] - 1
    dual = mp.exp(-2 * (mp.pi * mpf(sigma)) ** 2)
    return mpf(sigma) * mp.sqrt(2 * mp.pi) * (1 + 2 * dual)


@dataclass(frozen=True)
class Staircase(Kernel):
    """Density 1 (before normalising) on |x| <= core, exp(-j drop) on the j-th further step.

    On the reals the steps have width `step`; on the integers |k| <= core, then `step` integers a step, each side.
    """

    core: Number
    step: Number
    drop: Number
    integer: bool = False

    @property
    def lattice(self) -> bool:  # type: ignore[override]
        return self.integer

    def half(self) -> mpf:
        """The unnormalised mass to the right of 0, the integer 0 itself not counted."""
        fall = mp.exp(-mpf(self.drop))
        return mpf(self.core) + mpf(self.step) * fall / (1 - fall)

    def total(self) -> mpf:
        return 2 * self.half() + (1 if self.integer else 0)

    def stair(self, x: Number) -> mpf:
        """How many times the density has fallen at x."""
        past = (abs(mpf(x)) - mpf(self.core)) / mpf(self.step)
        return mp.ceil(past) if past > 0 else mpf(0)

    def log_density(self, x: Number) -> mpf:
        return -self.stair(x) * mpf(self.drop) - mp.log(self.total())

    def upper(self, x: Number) -> mpf:
        x, core, step = mpf(x), mpf(self.core), mpf(self.step)
        fall = mp.exp(-mpf(self.drop))
        one = 1 if self.integer else 0  # how many integers lie in [x, y]: y - x + 1
        later = step * fall / (1 - fall)  # the later steps together, beside the one that x is on
        stair = self.stair(x)
        here = core + stair * step - x + one
        return fall**stair * (here + later) / self.total()

    def corners(self, reach: mpf) -> list[mpf]:
        places, at = [], mpf(self.core)
        while at <= reach:
            places += [-at, at]
            at += mpf(self.step)
        return places

    @property
    def variance(self) -> mpf:
        core, step, fall = mpf(self.core), mpf(self.step), mp.exp(-mpf(self.drop))
        if self.integer:
            second, j, weight = mp.fsum(k * k for k in range(int(self.core) + 1)), 1, fall
            while True:
                first = int(self.core) + (j - 1) * int(self.step) + 1
                term = weight * sum(k * k for k in range(first, first + int(self.step)))
                second += term
                if term < second * mpf(10) ** (-mp.dps - 5):
                    return 2 * second / self.total()
                j, weight = j + 1, weight * fall
        # x^2 integrates to x^3/3; raising the step index j to a power series in `fall` is summed by mpmath
        steps = mpmath.nsum(
            lambda j: fall**j * ((core + j * step) ** 3 - (core + (j - 1) * step) ** 3) / 3,
            [1, mpmath.inf],
        )
        return 2 * (core**3 / 3 + steps) / self.total()
