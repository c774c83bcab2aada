"""Kernels that meet (epsilon, delta) exactly, plain: what the paper's tables start from."""

from __future__ import annotations

from mpmath import mp, mpf

from tests.reference.kernels import Gaussian, Laplace, Number


def gaussian_delta(sigma: mpf, sensitivity: mpf, epsilon: mpf) -> mpf:
    """The analytic Gaussian condition: P(N > eps s/D - D/(2s)) - e^eps P(N > eps s/D + D/(2s)), N standard."""
    ratio = sensitivity / sigma

    def above(z: mpf) -> mpf:
        return mp.erfc(z / mp.sqrt(2)) / 2

    return above(epsilon / ratio - ratio / 2) - mp.exp(epsilon) * above(epsilon / ratio + ratio / 2)


def gaussian(*, epsilon: str, delta: str, sensitivity: Number, digits: int = 40) -> Gaussian:
    """The least sigma for (epsilon, delta), by bisection: plain delta falls as sigma grows."""
    with mp.workdps(digits + 40):
        low, high = mpf("1e-6") * sensitivity, mpf("1e9") * sensitivity
        while high - low > mpf(10) ** (-digits) * high:
            middle = mp.sqrt(low * high)
            enough = gaussian_delta(middle, mpf(sensitivity), mpf(epsilon)) <= mpf(delta)
            low, high = (low, middle) if enough else (middle, high)
        return Gaussian(high)


def laplace(*, epsilon: str, delta: str = "0", sensitivity: Number, digits: int = 60) -> Laplace:
    """The scale for (epsilon, delta): delta is 1 - exp((epsilon - Delta/b)/2), solved for b."""
    with mp.workdps(digits):
        return Laplace(mpf(sensitivity) / (mpf(epsilon) - 2 * mp.log1p(-mpf(delta))))
