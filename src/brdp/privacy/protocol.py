"""Whether a kernel of somebody's own is what it says: looked at before anything is promised about it.

On the integers every mass that counts is looked at. On the line a grid is: that finds every mistake that shows
on a thousand points (a density that is no density, a tail that is not log-concave, masses that are those of
another law) and proves nothing between them.
"""

from __future__ import annotations

import functools

import numpy as np

from brdp.errors import InvalidInput
from brdp.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Staircase
from brdp.noise.base import Floats, Kernel
from brdp.privacy.cells import require_room
from brdp.privacy.general import reach_of

KNOWN = (Laplace, Gaussian, DiscreteLaplace, DiscreteGaussian, Staircase)
# Logs may be off by rounding, and by what a formula of somebody's own loses; gross mistakes are larger.
ROUNDING = 1e-9
POINTS = 512
# Chebyshev: no law has more than a sixteenth beyond four standard deviations. And no even log-concave law
# has a quarter within an eighth of one.
FAR, NEAR = 4.0, 0.125
WAY_OUT = "docs/how-to/own-kernel.md says what a kernel must give."


def require_protocol(kernel: Kernel) -> None:
    """Refuse a kernel of one's own that shows itself not to be an even law with the masses it gives."""
    if isinstance(kernel, KNOWN):
        return
    if type(kernel).__hash__ is None:
        raise InvalidInput(
            "kernel",
            expected="a kernel that is hashable by value",
            got=kernel,
            remedy="Make it a frozen dataclass: @dataclass(frozen=True).",
        )
    _look_at(kernel)


@functools.lru_cache(maxsize=256)
def _look_at(kernel: Kernel) -> None:
    if not kernel.lattice and not kernel.log_concave:
        raise InvalidInput(
            "kernel",
            expected="a log-concave kernel on the reals",
            got=kernel,
            remedy="Put it on the integers, where no shape is asked for.",
        )
    with np.errstate(all="ignore"):  # a formula that warns is judged by what it returns
        _require_moments(kernel)
        reach = reach_of(kernel)
        if kernel.lattice:
            require_room(2 * reach + 1, kernel)
            _require_on_the_integers(kernel, np.arange(0.0, np.ceil(reach) + 1))
        else:
            _require_on_the_line(kernel, _grid(kernel.std, reach))


@functools.lru_cache(maxsize=256)
def falls(kernel: Kernel) -> bool:
    """Whether the kernel never rises on the way out from 0, by every integer of the lattice that counts."""
    if isinstance(kernel, KNOWN) or not kernel.lattice:
        return True  # on the line a log-concave even density falls
    with np.errstate(all="ignore"):
        logs = kernel.log_pdf(np.arange(0.0, np.ceil(reach_of(kernel)) + 1))
    return not (logs[1:] > logs[:-1]).any()


def _require_moments(kernel: Kernel) -> None:
    std = kernel.std
    good = 0 <= std < np.inf if kernel.lattice else 0 < std < np.inf
    if good and std > 0:
        good = kernel.log_mass(-FAR * std, FAR * std) >= np.log1p(-1 / FAR**2) - ROUNDING
    if good and not kernel.lattice:
        good = kernel.log_mass(-NEAR * std, NEAR * std) <= np.log(0.25)
    _require(
        good, kernel, "upper_moments that are the kernel's own", f"a standard deviation of {std!r}"
    )


def _require_on_the_integers(kernel: Kernel, k: Floats) -> None:
    logs = kernel.log_pdf(k)
    _require_numbers(kernel, logs)
    _require(
        _close(logs, kernel.log_pdf(-k)), kernel, "an even law", "other masses at -k than at k"
    )
    single, left = kernel.log_mass(k, k), kernel.log_mass(-k, -k)
    agree = _close(logs, single) and _close(logs, left)
    _require(agree, kernel, "log_mass(k, k) equal to log_pdf(k)", "another law")
    # from the far end, so that small tails are sums of what is smaller
    sums = np.logaddexp.accumulate(np.append(logs, kernel.log_mass(k[-1] + 1, np.inf))[::-1])[::-1]
    tails = kernel.log_mass(k, np.inf)
    _require(_close(sums[:-1], tails), kernel, "log_mass to be the sum of log_pdf", "another law")
    total = np.logaddexp(sums[0], sums[1])
    _require(abs(total) <= ROUNDING, kernel, "masses that add up to 1", f"{np.exp(total):.10g}")


def _require_on_the_line(kernel: Kernel, x: Floats) -> None:
    logs = kernel.log_pdf(x)
    _require_numbers(kernel, logs)
    finite = bool(np.isfinite(logs).all())
    _require(
        finite,
        kernel,
        f"a log_pdf that is a number as far out as {x[-1]:.4g}",
        "-inf nearer",
        "Compute it in logs: the log of a density underflows. A law that ends has no curve on the line; put it on "
        "the integers.",
    )
    _require(_close(logs, kernel.log_pdf(-x)), kernel, "an even density", "another at -x than at x")
    slack = ROUNDING * (1 + np.abs(logs))
    # the middle of three points on the chord between its neighbours, or above
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    chord = logs[:-2] + share * (logs[2:] - logs[:-2])
    concave = bool(
        (logs[1:-1] >= chord - slack[1:-1]).all() and (logs[1:] <= logs[:-1] + slack[1:]).all()
    )
    _require(
        concave,
        kernel,
        "a log-concave density, falling on both sides of 0",
        "one that is not",
        "Put it on the integers, where no shape is asked for.",
    )
    total = float(kernel.log_mass(-np.inf, np.inf))
    _require(abs(total) <= ROUNDING, kernel, "masses that add up to 1", f"{np.exp(total):.10g}")
    # a falling density lies between its ends, and so does its mass
    width = np.log(np.diff(x))
    for mass in (kernel.log_mass(x[:-1], x[1:]), kernel.log_mass(-x[1:], -x[:-1])):
        inside = (mass <= logs[:-1] + width + slack[:-1]) & (mass >= logs[1:] + width - slack[1:])
        _require(
            bool(inside.all()), kernel, "log_mass to be the integral of the density", "another law"
        )
    tails = kernel.log_mass(x, np.inf)
    sums = np.logaddexp.accumulate(np.append(kernel.log_mass(x[:-1], x[1:]), tails[-1])[::-1])[::-1]
    tails_agree = _close(sums, tails) and _close(tails, kernel.log_mass(-np.inf, -x))
    _require(tails_agree, kernel, "log_mass that adds up from interval to interval", "another law")


def _require_numbers(kernel: Kernel, logs: Floats) -> None:
    good = not np.isnan(logs).any() and not (logs == np.inf).any()
    _require(good, kernel, "a log_pdf of numbers, or -inf", "nan or inf")


def _grid(std: float, reach: float) -> Floats:
    """From 0 through the body to where the tail no longer counts."""
    return np.unique(
        np.concatenate(
            [[0.0], np.linspace(0, 4 * std, POINTS), np.geomspace(1e-6 * std, reach, POINTS)]
        )
    )


def _close(one: Floats, other: Floats) -> bool:
    """Equal to rounding, in logs; -inf equals itself, and whatever lies where nobody sees it."""
    deep = np.maximum(one, other) < -700
    near = np.abs(one - other) <= ROUNDING * (1 + np.abs(one))
    return bool((near | (one == other) | deep).all())


def _require(
    good: object, kernel: Kernel, expected: str, found: str, remedy: str = WAY_OUT
) -> None:
    if not good:
        raise InvalidInput(
            "kernel", expected=f"{expected} (found {found})", got=kernel, remedy=remedy
        )
