"""delta(epsilon) of integer noise in many digits: the sum of max(0, p_k - e^epsilon p_(k-s)), term by term.

Far out, where the weights no longer change, the terms of the discrete Laplace and of the integer staircase fall
geometrically and are summed exactly; those of the discrete Gaussian are dropped once they are below 1e-400.
For laws too wide to go through term by term, `by_runs` sums whole runs of integers by their interval masses.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import lru_cache

from mpmath import mp, mpf

from tests.reference.kernels import INFINITY, DiscreteGaussian, DiscreteLaplace, Number, Staircase
from tests.reference.recycled import Recycled

WIDEST = 2_000  # integers each side that are gone through one by one


def delta(
    noise: Recycled, shift: int, epsilon: Number, settle: Callable[[Callable[[], mpf]], mpf]
) -> mpf:
    """The larger of both directions."""
    one_by_one = isinstance(noise.kernel, Staircase) or reach(noise, shift) <= WIDEST
    method = term_by_term if one_by_one else by_runs
    ways = [noise] if noise.symmetric else [noise, noise.mirrored()]
    return max(settle(lambda way=way: method(way, shift, mpf(epsilon))) for way in ways)


def reach(noise: Recycled, shift: int) -> int:
    """Terms with |k| <= reach are summed one by one; beyond it they are geometric, or below 1e-400."""
    kernel = noise.kernel
    furthest = max([int(mp.ceil(abs(mpf(edge)))) for edge in noise.edges], default=0)
    if isinstance(kernel, DiscreteGaussian):
        return int(mp.ceil(44 * mpf(kernel.sigma))) + shift + 2
    if isinstance(kernel, DiscreteLaplace):
        return furthest + shift + 2
    assert isinstance(kernel, Staircase)
    return furthest + shift + int(kernel.core) + 2 * int(kernel.step) + 2


@lru_cache(maxsize=16)
def kernel_masses(kernel: object, last: int, digits: int) -> list[mpf]:
    """P(N = k) for k = 0..last, each from the definition of the log-mass."""
    return [mp.exp(kernel.log_density(k)) for k in range(last + 1)]  # type: ignore[attr-defined]


def weights(noise: Recycled, far: int) -> dict[int, mpf]:
    """weight(k) for |k| <= far."""
    found = {}
    for first, last, keep in noise.parts():
        start = -far if mp.isinf(first) else max(-far, int(first))
        stop = far if mp.isinf(last) else min(far, int(last))
        for k in range(start, stop + 1):
            found[k] = keep
    return found


def term_by_term(noise: Recycled, shift: int, epsilon: mpf) -> mpf:
    kernel, factor = noise.kernel, mp.exp(epsilon)
    far = reach(noise, shift)
    wide = far + shift + (int(kernel.step) if isinstance(kernel, Staircase) else 1)
    masses, weight = kernel_masses(kernel, wide, mp.dps), weights(noise, wide)

    def term(k: int) -> mpf:
        ours = weight[k] * masses[abs(k)]
        return max(mpf(0), ours - factor * weight[k - shift] * masses[abs(k - shift)])

    total = mp.fsum(term(k) for k in range(-far, far + 1))
    # the last step before the cut, summed with all its fainter copies beyond it
    if isinstance(kernel, DiscreteLaplace):
        series = 1 / (1 - mp.exp(-1 / mpf(kernel.scale)))
        total += series * (term(far + 1) + term(-far - 1))
    if isinstance(kernel, Staircase):
        series = 1 / (1 - mp.exp(-mpf(kernel.drop)))
        total += series * mp.fsum(
            term(far + i) + term(-far - i) for i in range(1, int(kernel.step) + 1)
        )
    return total / noise.normaliser


def by_runs(noise: Recycled, shift: int, epsilon: mpf) -> mpf:
    """The same sum over runs of integers on which the loss is affine in k, each by two interval masses."""
    kernel, factor, total = noise.kernel, mp.exp(epsilon), mpf(0)
    starts = {mpf(0), mpf(shift)}
    for first, _, _ in noise.parts():
        if not mp.isinf(first):
            starts |= {first, first + shift}
    bounds = [-INFINITY, *sorted(starts), INFINITY]
    for first, beyond in itertools.pairwise(bounds):
        last = beyond - 1
        inside = last if mp.isinf(first) else first
        ours, theirs = noise.weight(inside), noise.weight(inside - shift)
        if ours == 0:
            continue
        if theirs == 0:
            total += ours * kernel.mass(first, last)
            continue
        base = mp.log(ours / theirs)
        along = 1 if mp.isinf(last) or mp.isinf(first) or last > first else 0
        other = inside - 1 if mp.isinf(first) else inside + along
        at, slope = _loss(noise, base, inside, shift), mpf(0)
        if along:
            slope = (_loss(noise, base, other, shift) - at) / (other - inside)
        if slope >= 0 or abs(slope) < mpf(10) ** (-mp.dps + 15):
            end = last if at > epsilon else first - 1
        else:
            end = min(last, mp.ceil(inside + (epsilon - at) / slope) - 1)
        if end >= first:
            total += ours * kernel.mass(first, end) - factor * theirs * kernel.mass(
                first - shift, end - shift
            )
    return total / noise.normaliser


def _loss(noise: Recycled, base: mpf, k: mpf, shift: int) -> mpf:
    return base + noise.kernel.log_density(k) - noise.kernel.log_density(k - shift)
