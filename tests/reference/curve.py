"""delta(epsilon) of continuous recycled noise in many digits, by two methods that share little.

First method: cut the line wherever the weights or the log-density change form. On each piece the loss is then
affine (Gaussian: linear; Laplace: linear or constant; staircase: constant), so where it crosses epsilon follows
from its values at two points, and the piece gives a difference of two interval masses. The difference may cancel;
the precision is therefore raised until two precisions agree. Second method: quadrature of max(0, ...).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from mpmath import mp, mpf

from tests.reference import lattice
from tests.reference.kernels import INFINITY, Number, Staircase
from tests.reference.recycled import Recycled

AGREE = mpf("1e-20")
NEGLIGIBLE = mpf("1e-330")


def settle(compute: Callable[[], mpf], *, digits: tuple[int, ...] = (50, 80, 160, 400, 460)) -> mpf:
    """compute() at growing precision, until two precisions agree to 1e-20 relative (or both are below 1e-330)."""
    with mp.workdps(digits[0]):
        before = compute()
    for more in digits[1:]:
        with mp.workdps(more):
            now = compute()
            if before == now or abs(now - before) <= AGREE * abs(now):
                if now != 0:
                    return now
            elif more >= 400 and abs(now) < NEGLIGIBLE and abs(before) < NEGLIGIBLE:
                return mpf(0)
            before = now
    if before == 0:
        return before
    raise ArithmeticError(f"no two precisions agree, the last value is {mp.nstr(before, 25)}")


def pieces(noise: Recycled, shift: mpf) -> list[tuple[mpf, mpf, mpf]]:
    """(u, v, times): the cut line. `times` counts a piece that stands for a geometric series of its likes."""
    edges = [mpf(edge) for edge in noise.edges]
    reach = max([abs(edge) for edge in edges], default=mpf(0)) + shift
    kernel = noise.kernel
    if isinstance(kernel, Staircase):
        # Past `far` nothing but the stairs is left: every further step repeats the last one, exp(-drop) times as
        # high, for the noise and for its shifted copy alike. So one step each side stands for all.
        step = mpf(kernel.step)
        far = reach + shift + mpf(kernel.core) + 2 * step
        corners = kernel.corners(far + shift + 2 * step)
    else:
        corners = kernel.corners(reach)
    cuts = {edge + move for edge in [*edges, *corners] for move in (mpf(0), shift)}
    if not isinstance(kernel, Staircase):
        ends = [-INFINITY, *sorted(cuts), INFINITY]
        return [(u, v, mpf(1)) for u, v in itertools.pairwise(ends)]
    places = {-far - step, -far, far, far + step}
    ends = sorted(places | {cut for cut in cuts if -far - step < cut < far + step})
    series = 1 / (1 - mp.exp(-mpf(kernel.drop)))
    return [
        (u, v, series if u >= far or v <= -far else mpf(1)) for u, v in itertools.pairwise(ends)
    ]


def inner_points(u: mpf, v: mpf) -> tuple[mpf, mpf]:
    """Two points strictly inside the piece."""
    if mp.isinf(u) and mp.isinf(v):
        return mpf(-1), mpf(1)
    if mp.isinf(u):
        return v - 2, v - 1
    if mp.isinf(v):
        return u + 1, u + 2
    return u + (v - u) / 3, u + 2 * (v - u) / 3


def crossing(loss: Callable[[mpf], mpf], epsilon: mpf, u: mpf, v: mpf) -> mpf:
    """The x in [u, v] with loss > epsilon on [u, x] and nowhere right of it, for an affine non-increasing loss."""
    a, b = inner_points(u, v)
    at_a, at_b = loss(a), loss(b)
    slope = (at_b - at_a) / (b - a)
    if slope >= 0:  # constant: a difference above 0 is rounding, for no loss here rises
        return v if at_a > epsilon else u
    return min(max(a + (epsilon - at_a) / slope, u), v)


def one_way(noise: Recycled, shift: mpf, epsilon: mpf) -> mpf:
    """The integral of max(0, g(x) - e^epsilon g(x - shift)) at the precision in force."""
    kernel, factor, total = noise.kernel, mp.exp(epsilon), mpf(0)
    for u, v, times in pieces(noise, shift):
        middle = inner_points(u, v)[0]
        ours, theirs = noise.weight(middle), noise.weight(middle - shift)
        if ours == 0:
            continue
        if theirs == 0:
            total += times * ours * kernel.mass(u, v)
            continue
        base = mp.log(ours / theirs)
        end = crossing(
            lambda x, base=base: base + kernel.log_density(x) - kernel.log_density(x - shift),
            epsilon,
            u,
            v,
        )
        if end > u:
            total += times * (
                ours * kernel.mass(u, end) - factor * theirs * kernel.mass(u - shift, end - shift)
            )
    return total / noise.normaliser


def delta(noise: Recycled, sensitivity: Number, epsilon: Number) -> mpf:
    """The larger of both directions. (The shift `sensitivity` is the worst one when the noise is unimodal.)"""
    if noise.lattice:
        return lattice.delta(noise, int(sensitivity), epsilon, settle)
    ways = [noise] if noise.symmetric else [noise, noise.mirrored()]
    return max(settle(lambda way=way: one_way(way, mpf(sensitivity), mpf(epsilon))) for way in ways)


def by_quadrature(
    noise: Recycled, sensitivity: Number, epsilon: Number, *, digits: int = 30
) -> mpf:
    """The same number from max(0, ...) itself: no weights taken out, no formula for the crossing, no interval mass."""
    return max(_quadrature(way, sensitivity, epsilon, digits) for way in (noise, noise.mirrored()))


def _quadrature(noise: Recycled, sensitivity: Number, epsilon: Number, digits: int) -> mpf:
    with mp.workdps(digits):
        shift, factor, constant = mpf(sensitivity), mp.exp(mpf(epsilon)), noise.normaliser

        def excess(x: mpf) -> mpf:
            ours = noise.weight(x) * noise.kernel.density(x)
            return ours - factor * noise.weight(x - shift) * noise.kernel.density(x - shift)

        reach = (
            60 * mp.sqrt(noise.kernel.variance)
            + shift
            + max([abs(mpf(e)) for e in noise.edges], default=mpf(0))
        )
        places = {-reach, reach, mpf(0), shift}
        for place in [*map(mpf, noise.edges), *noise.kernel.corners(reach)]:
            places |= {place, place + shift}
        ends = [place for place in sorted(places) if -reach <= place <= reach]
        total = mpf(0)
        for u, v in itertools.pairwise(ends):
            tiny = (v - u) * mpf("1e-25")  # keeps clear of the jumps at both ends
            low, high = u + tiny, v - tiny
            if excess(low) <= 0:
                continue
            if (
                excess(high) <= 0
            ):  # bisect for the place where the sign changes, or mp.quad meets a kink
                left, right = low, high
                for _ in range(100):
                    middle = (left + right) / 2
                    left, right = (middle, right) if excess(middle) > 0 else (left, middle)
                high = left
            cuts = (
                2 if isinstance(noise.kernel, Staircase) else 13
            )  # a step is constant: two ends are enough
            total += mp.quad(
                lambda x: max(mpf(0), excess(x)),
                mp.linspace(low, high, cuts),
                method="gauss-legendre",
            )
        return total / constant


def epsilon_at(noise: Recycled, sensitivity: Number, target: Number, *, digits: int = 25) -> mpf:
    """The epsilon with delta(epsilon) = target, by bisection between 0 and 1e4."""
    with mp.workdps(digits + 10):
        low, high = mpf(0), mpf(10_000)
        while high - low > mpf(10) ** (-digits) * high:
            middle = (low + high) / 2
            low, high = (
                (middle, high) if delta(noise, sensitivity, middle) > mpf(target) else (low, middle)
            )
        return high
