"""Naive twins of composition: exact rational sums, and one convolution integral in many digits."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath as mp

Masses = list[Fraction]


def recycled_masses(ratio: Fraction, inside: int, keep: Fraction, reach: int) -> Masses:
    """Masses at -reach..reach proportional to ratio^|k|, times `keep` outside |k| <= inside.

    The two ends hold all that lies beyond them, as the loss of Laplace-like noise is constant there.
    """
    masses = []
    for k in range(-reach, reach + 1):
        mass = ratio ** abs(k)
        if abs(k) == reach:
            mass = mass / (1 - ratio)
        masses.append(mass * (1 if abs(k) <= inside else keep))
    total = sum(masses, Fraction(0))
    return [mass / total for mass in masses]


def loss_law(mine: Masses, other: Masses) -> dict[Fraction | None, Fraction]:
    """P's mass at every likelihood ratio P/Q; None where Q has nothing."""
    law: dict[Fraction | None, Fraction] = {}
    for p, q in zip(mine, other, strict=True):
        if p:
            ratio = p / q if q else None
            law[ratio] = law.get(ratio, Fraction(0)) + p
    return law


def composed(
    one: dict[Fraction | None, Fraction], other: dict[Fraction | None, Fraction]
) -> dict[Fraction | None, Fraction]:
    """The law of the product of two likelihood ratios."""
    law: dict[Fraction | None, Fraction] = {}
    for ratio, p in one.items():
        for more, q in other.items():
            key = None if ratio is None or more is None else ratio * more
            law[key] = law.get(key, Fraction(0)) + p * q
    return law


def exact_delta(law: dict[Fraction | None, Fraction], exp_epsilon: Fraction) -> Fraction:
    """sum of max(0, p - exp(epsilon) q)."""
    return sum(
        (p if r is None else p * (1 - exp_epsilon / r) if r > exp_epsilon else Fraction(0))
        for r, p in law.items()
    ) + Fraction(0)


def gaussian_twice(
    *, sigma: float, within: float, rate: float, shift: float, epsilon: float
) -> mp.mpf:
    """delta of two releases of symmetric recycled Gaussian noise: one integral over the first."""
    s, keep, d = mp.mpf(sigma), 1 - mp.mpf(rate), mp.mpf(shift)
    edges = [-mp.mpf(within), mp.mpf(within)]
    cuts = sorted({*edges, *(e + d for e in edges)})
    bounds = [-mp.inf, *cuts, mp.inf]

    def weight(x: mp.mpf) -> mp.mpf:
        return mp.mpf(1) if edges[0] <= x <= edges[1] else keep

    inner = mp.ncdf(edges[1] / s) - mp.ncdf(edges[0] / s)
    total = inner + keep * (1 - inner)
    pieces = []
    for low, high in itertools.pairwise(bounds):
        middle = high - 1 if low == -mp.inf else low + 1 if high == mp.inf else (low + high) / 2
        pieces.append((low, high, weight(middle), weight(middle - d)))

    def mass(low: mp.mpf, high: mp.mpf) -> mp.mpf:
        return mp.mpf(0) if high <= low else mp.ncdf(high / s) - mp.ncdf(low / s)

    def once(e: mp.mpf) -> mp.mpf:
        result = mp.mpf(0)
        for low, high, mine, other in pieces:
            end = min(high, d / 2 - s * s * (e - mp.log(mine / other)) / d)
            result += mine * mass(low, end) - mp.exp(e) * other * mass(low - d, end - d)
        return result / total

    def integrand(x: mp.mpf, mine: mp.mpf, other: mp.mpf) -> mp.mpf:
        loss = mp.log(mine / other) + d * (d - 2 * x) / (2 * s * s)
        return mine * mp.npdf(x / s) / s / total * once(epsilon - loss)

    result = mp.mpf(0)
    for low, high, mine, other in pieces:
        start, end = max(low, -14 * s), min(high, 14 * s)
        # where the second release's crossing passes an edge the integrand has kinks
        kinks = {start, end}
        for cut in cuts:
            for _, _, a, b in pieces:
                loss = mp.log(a / b) + d * (d - 2 * cut) / (2 * s * s)
                x = d / 2 - s * s * (epsilon - loss - mp.log(mine / other)) / d
                if start < x < end:
                    kinks.add(x)
        result += mp.quad(lambda x, m=mine, o=other: integrand(x, m, o), sorted(kinks))
    return result
