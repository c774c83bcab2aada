"""Renyi divergence of recycled noise from its shifted self, in many digits.

D_order = log( integral of g(x)^order g(x - s)^(1 - order) ) / (order - 1), the larger of both directions.
On the reals piece by piece in closed form, and by quadrature to check it; on the integers term by term.
"""

from __future__ import annotations

import itertools

from mpmath import mp, mpf

from tests.reference.curve import inner_points, pieces, settle
from tests.reference.kernels import DiscreteGaussian, DiscreteLaplace, Gaussian, Number, Staircase
from tests.reference.lattice import kernel_masses, reach, weights
from tests.reference.recycled import Recycled


def renyi(noise: Recycled, sensitivity: Number, order: Number) -> mpf:
    ways = [noise] if noise.symmetric else [noise, noise.mirrored()]
    return max(one_direction(way, sensitivity, order) for way in ways)


def one_direction(noise: Recycled, sensitivity: Number, order: Number) -> mpf:
    """Of the noise from the noise moved right by `sensitivity`."""
    integral = _on_integers if noise.lattice else _on_reals
    shift = int(sensitivity) if noise.lattice else mpf(sensitivity)

    def divergence() -> mpf:
        total = integral(noise, shift, mpf(order))
        return total if mp.isinf(total) else mp.log(total) / (mpf(order) - 1)

    return settle(divergence)


def _on_reals(noise: Recycled, shift: mpf, order: mpf) -> mpf:
    kernel, total = noise.kernel, mpf(0)
    for u, v, times in pieces(noise, shift):
        middle = inner_points(u, v)[0]
        ours, theirs = noise.weight(middle), noise.weight(middle - shift)
        if ours == 0:
            continue
        if theirs == 0:
            return mpf("inf")
        weight = ours**order * theirs ** (1 - order)
        if isinstance(kernel, Gaussian):
            mean = (1 - order) * shift
            growth = mp.exp(order * (order - 1) * shift**2 / (2 * mpf(kernel.sigma) ** 2))
            total += weight * growth * kernel.mass(u - mean, v - mean)
        elif isinstance(kernel, Staircase):
            total += times * weight * (v - u) * _integrand(noise, middle, shift, order)
        else:
            total += weight * _exponential(noise, u, v, shift, order)
    return total / noise.normaliser


def _integrand(noise: Recycled, x: mpf, shift: mpf, order: mpf) -> mpf:
    """f(x)^order f(x - shift)^(1 - order), of the kernel alone."""
    return mp.exp(_exponent(noise, x, shift, order))


def _exponent(noise: Recycled, x: mpf, shift: mpf, order: mpf) -> mpf:
    return order * noise.kernel.log_density(x) + (1 - order) * noise.kernel.log_density(x - shift)


def _exponential(noise: Recycled, u: mpf, v: mpf, shift: mpf, order: mpf) -> mpf:
    """The integral over [u, v] of an exponential of an affine function (Laplace kernel; never a constant)."""
    a, b = inner_points(u, v)
    at_a = _exponent(noise, a, shift, order)
    slope = (_exponent(noise, b, shift, order) - at_a) / (b - a)
    ends = [mpf(0) if mp.isinf(end) else mp.exp(at_a + slope * (end - a)) for end in (u, v)]
    return (ends[1] - ends[0]) / slope


def _on_integers(noise: Recycled, shift: int, order: mpf) -> mpf:
    kernel = noise.kernel
    far = reach(noise, shift)
    if isinstance(kernel, DiscreteGaussian):
        # far enough that what is left out is small beside 1, which the sum is at least
        furthest = max([int(mp.ceil(abs(mpf(edge)))) for edge in noise.edges], default=0)
        sigma = mpf(kernel.sigma)
        spare = (mp.dps + 10) * mp.log(10) + order * (order - 1) * shift**2 / (2 * sigma**2)
        far = furthest + shift + int(mp.ceil((order - 1) * shift + sigma * mp.sqrt(2 * spare))) + 2
    wide = far + shift + (int(kernel.step) if isinstance(kernel, Staircase) else 1)
    masses, weight = kernel_masses(kernel, wide, mp.dps), weights(noise, wide)

    def term(k: int) -> mpf:
        ours, theirs = weight[k] * masses[abs(k)], weight[k - shift] * masses[abs(k - shift)]
        if ours == 0:
            return mpf(0)
        return mpf("inf") if theirs == 0 else ours * (ours / theirs) ** (order - 1)

    total = mp.fsum(term(k) for k in range(-far, far + 1))
    if isinstance(kernel, DiscreteLaplace):
        total += (term(far + 1) + term(-far - 1)) / (1 - mp.exp(-1 / mpf(kernel.scale)))
    if isinstance(kernel, Staircase):
        steps = mp.fsum(term(far + i) + term(-far - i) for i in range(1, int(kernel.step) + 1))
        total += steps / (1 - mp.exp(-mpf(kernel.drop)))
    return total / noise.normaliser


def by_quadrature(noise: Recycled, sensitivity: Number, order: Number, *, digits: int = 30) -> mpf:
    """The larger direction by quadrature of the definition (continuous noise whose weights are all above 0)."""
    return max(_quadrature(way, sensitivity, order, digits) for way in (noise, noise.mirrored()))


def _quadrature(noise: Recycled, sensitivity: Number, order: Number, digits: int) -> mpf:
    with mp.workdps(digits):
        shift, order = mpf(sensitivity), mpf(order)
        far = 60 * mp.sqrt(noise.kernel.variance) + shift * (1 + order)
        cuts = {-far, far, mpf(0), shift}
        for place in [*map(mpf, noise.edges), *noise.kernel.corners(far)]:
            cuts |= {place, place + shift}
        ends = [cut for cut in sorted(cuts) if -far <= cut <= far]
        total = mpf(0)
        for u, v in itertools.pairwise(ends):
            middle = (u + v) / 2
            weight = noise.weight(middle) ** order * noise.weight(middle - shift) ** (1 - order)
            inner = mp.linspace(u, v, 2 if isinstance(noise.kernel, Staircase) else 33)
            total += weight * mp.quad(
                lambda x: _integrand(noise, x, shift, order), inner, method="gauss-legendre"
            )
        return mp.log(total / noise.normaliser) / (order - 1)
