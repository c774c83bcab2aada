"""Algorithms 1, 2 and 3 as a reader would first write them: scipy.stats and plain loops.

The yardstick of the benchmarks. It shares no code with the rest of the package, is checked
against :mod:`brdp.paper.formulas`, and makes no attempt to be fast. *Guarantee:* none.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy import stats
from scipy.optimize import brentq, minimize_scalar

RATE_TOLERANCE = 1e-6
BUDGET_TOLERANCE = 1e-4  # times epsilon

Law = Callable[[float], float]


def gaussian_kernel(epsilon: float, delta: float, sensitivity: float) -> tuple[Law, Law]:
    """Phi and delta_Z of the Gaussian kernel calibrated at (epsilon, delta)."""
    sigma = gaussian_sigma(epsilon, delta, sensitivity)

    def cdf(x: float) -> float:
        return float(stats.norm.cdf(x, scale=sigma))

    def profile(e: float) -> float:
        return gaussian_delta(e, sigma, sensitivity)

    return cdf, profile


def gaussian_delta(epsilon: float, sigma: float, sensitivity: float) -> float:
    """The analytic Gaussian profile."""
    half = sensitivity / (2 * sigma)
    shift = epsilon * sigma / sensitivity
    tail = math.exp(epsilon) * stats.norm.cdf(-half - shift) if epsilon < 700 else 0.0
    return float(stats.norm.cdf(half - shift) - tail)


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    """The sigma at which the analytic Gaussian profile meets delta, by root finding."""
    low, high = 1e-3 * sensitivity, 1e7 * sensitivity
    return float(brentq(lambda s: gaussian_delta(epsilon, s, sensitivity) - delta, low, high))


def laplace_kernel(epsilon: float, delta: float, sensitivity: float) -> tuple[Law, Law]:
    """Phi and delta_Z of the Laplace kernel calibrated at (epsilon, 0); delta is not used."""
    del delta
    scale = sensitivity / epsilon

    def cdf(x: float) -> float:
        return float(stats.laplace.cdf(x, scale=scale))

    def profile(e: float) -> float:
        if e >= epsilon:
            return 0.0
        if e <= -epsilon:
            return 1 - math.exp(e)
        return 1 - math.exp((e - epsilon) / 2)

    return cdf, profile


Kernel = Callable[[float, float, float], tuple[Law, Law]]


def weight(cdf: Law, sensitivity: float, theta: float) -> float:
    """eq. (eq:W) for bounds -theta and theta."""
    lower, upper = -theta, theta
    return max(
        cdf(min(lower + sensitivity, upper)) - cdf(lower),
        cdf(upper + sensitivity) - cdf(max(upper, lower + sensitivity)),
    )


def algorithm_1(
    epsilon_y: float,
    delta_y: float,
    epsilon: float,
    delta: float,
    sensitivity: float,
    theta: float,
    tolerance: float = RATE_TOLERANCE,
    kernel: Kernel = gaussian_kernel,
) -> float:
    """Find q with binary search."""
    cdf, profile = kernel(epsilon_y, delta_y, sensitivity)
    w = weight(cdf, sensitivity, theta)
    q_up, q_low = 1.0, 0.0
    while q_up - q_low > tolerance:
        q_mid = (q_up + q_low) / 2
        loss = -math.log(1 - q_mid)
        leak = (1 - w) * profile(epsilon) + w * profile(epsilon - loss)
        if leak <= delta:
            q_low = q_mid
        else:
            q_up = q_mid
    return q_low


def objective(
    epsilon_y: float, q: float, delta: float, sensitivity: float, theta: float, kernel: Kernel
) -> float:
    """eq. (eq:budget), corrected: q + (1 - q)/p. As printed, 1 - q + q/p, it would return q = 0."""
    cdf, _ = kernel(epsilon_y, delta, sensitivity)
    return q + (1 - q) / (cdf(theta) - cdf(-theta))


def algorithm_2(
    epsilon: float,
    delta: float,
    sensitivity: float,
    theta: float,
    tolerance: float | None = None,
    kernel: Kernel = gaussian_kernel,
) -> tuple[float, float]:
    """Find the optimal epsilon_y using ternary search; returns it with Algorithm 1's q there."""
    tolerance = BUDGET_TOLERANCE * epsilon if tolerance is None else tolerance
    low, up = 0.0, epsilon
    while up - low > tolerance:
        epsilon_1 = low + (up - low) / 3
        epsilon_2 = up - (up - low) / 3
        q_1 = algorithm_1(epsilon_1, delta, epsilon, delta, sensitivity, theta, kernel=kernel)
        q_2 = algorithm_1(epsilon_2, delta, epsilon, delta, sensitivity, theta, kernel=kernel)
        value_1 = objective(epsilon_1, q_1, delta, sensitivity, theta, kernel)
        value_2 = objective(epsilon_2, q_2, delta, sensitivity, theta, kernel)
        if value_1 > value_2:
            low = epsilon_1
        else:
            up = epsilon_2
    epsilon_y = (up + low) / 2
    q = algorithm_1(epsilon_y, delta, epsilon, delta, sensitivity, theta, kernel=kernel)
    return epsilon_y, q


def acceptance(
    epsilon_y: float,
    q: float,
    delta: float,
    sensitivity: float,
    theta: float,
    kernel: Kernel = gaussian_kernel,
) -> float:
    """eq. (eq:post) of a split."""
    return 1 / objective(epsilon_y, q, delta, sensitivity, theta, kernel)


def composed_gaussian(epsilon_y: float, delta_y: float, sensitivity: float, count: int) -> Law:
    """delta_Z^T of the Gaussian kernel: one release at sensitivity times sqrt(T)."""
    sigma = gaussian_sigma(epsilon_y, delta_y, sensitivity)
    return lambda epsilon: gaussian_delta(epsilon, sigma, sensitivity * math.sqrt(count))


def composed_laplace(epsilon_y: float, delta_y: float, sensitivity: float, count: int) -> Law:
    """delta_Z^T of the Laplace kernel by Renyi accounting, classic conversion."""
    del delta_y, sensitivity

    def log_delta(log_order: float, epsilon: float) -> float:
        a = 1 + math.exp(log_order)
        first = math.log(a / (2 * a - 1)) + (a - 1) * epsilon_y
        second = math.log((a - 1) / (2 * a - 1)) - a * epsilon_y
        top = max(first, second)
        total = top + math.log(math.exp(first - top) + math.exp(second - top))
        return count * total - (a - 1) * epsilon

    def profile(epsilon: float) -> float:
        best = minimize_scalar(log_delta, bounds=(-7.0, 9.0), args=(epsilon,), method="bounded")
        return math.exp(min(best.fun, 0.0))

    return profile


Composed = Callable[[float, float, float, int], Law]


def algorithm_3(
    q: float,
    epsilon_y: float,
    delta_y: float,
    sensitivity: float,
    theta: float,
    count: int,
    epsilon: float,
    kernel: Kernel = gaussian_kernel,
    composed: Composed = composed_gaussian,
) -> float:
    """Composition accountant: delta at epsilon. The loop starts at k = 1, as printed."""
    cdf, _ = kernel(epsilon_y, delta_y, sensitivity)
    w = weight(cdf, sensitivity, theta)
    loss = -math.log(1 - q)
    profile = composed(epsilon_y, delta_y, sensitivity, count)
    total = 0.0
    for k in range(1, count + 1):
        leak = profile(epsilon - (count - k) * loss)
        total += float(stats.binom.pmf(k, count, 1 - w)) * leak
    return total


def algorithm_3_epsilon(
    q: float,
    epsilon_y: float,
    delta_y: float,
    sensitivity: float,
    theta: float,
    count: int,
    delta: float,
    kernel: Kernel = gaussian_kernel,
    composed: Composed = composed_gaussian,
    tolerance: float = 1e-3,
) -> float:
    """The epsilon at which Algorithm 3 meets delta, by bisection: a cell of Table 1."""
    low, up = 0.0, epsilon_y * count
    while up - low > tolerance:
        middle = (low + up) / 2
        leak = algorithm_3(
            q, epsilon_y, delta_y, sensitivity, theta, count, middle, kernel, composed
        )
        if leak > delta:
            low = middle
        else:
            up = middle
    return up
