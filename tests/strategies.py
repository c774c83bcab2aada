"""What the tests draw: noise as a pair of twins (brdp's and the many-digit one), sensitivity and epsilon.

The ranges are those that the project promises: scale 1e-3 to 1e6 times the sensitivity, rates from 0 to
1 - 1e-9, bounds from 0 to 1e3 scales, epsilon from 0 to 50. What a test needs beyond that (delta at least
1e-300, say) it discards with `assume`, on the twin's word.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import brdp
from tests.reference import kernels as twin_kernels
from tests.reference import recycled as twin_recycled

Pairs = tuple[tuple[float, float], ...]
Bounds = tuple[float, float]

# For slow tests: fresh examples in every run (Hypothesis prints what reproduces a failure), none kept between
# runs. No deadline: the twins are slow on purpose. Filtering is expected, for many draws have a delta of 0.
FRESH = settings(
    derandomize=False,
    database=None,
    deadline=None,
    print_blob=True,
    report_multiple_bugs=False,
    suppress_health_check=[
        HealthCheck.filter_too_much,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)

# For quick tests: the same examples every time, so that a red build can be repeated at will.
SAME = settings(FRESH, derandomize=True)


@dataclass(frozen=True)
class Case:
    """One noise with one sensitivity. `levels` or `bounds` with `rate`, or neither: the plain kernel."""

    kernel: twin_kernels.Kernel
    sensitivity: float
    bounds: Bounds | None = None
    rate: float = 0.0
    levels: Pairs | None = None

    def twin(self) -> twin_recycled.Recycled:
        """The noise in many digits."""
        if self.levels is not None:
            return twin_recycled.levels(self.kernel, self.levels)
        if self.bounds is not None:
            return twin_recycled.within(self.kernel, self.bounds, self.rate)
        return twin_recycled.Recycled(self.kernel)

    def noise(self) -> brdp.Noise:
        """The noise as brdp has it."""
        kernel = brdp_kernel(self.kernel)
        if self.levels is not None:
            return brdp.Recycled(kernel, levels=self.levels)
        if self.bounds is None:
            return kernel
        low, high = self.bounds
        return brdp.Recycled(kernel, within=high if high == -low else (low, high), rate=self.rate)

    def curve(self) -> brdp.Curve:
        return self.noise().privacy(sensitivity=self.sensitivity)

    @property
    def width(self) -> float:
        return width(self.kernel)

    @property
    def spread(self) -> float:
        """log of the largest weight over the smallest that is above 0."""
        keeps = [float(keep) for keep in self.twin().keeps if keep > 0]
        return math.log(max(keeps) / min(keeps))


def brdp_kernel(kernel: twin_kernels.Kernel) -> brdp.Kernel:
    match kernel:
        case twin_kernels.Gaussian(sigma):
            return brdp.Gaussian(sigma)
        case twin_kernels.Laplace(scale):
            return brdp.Laplace(scale)
        case twin_kernels.DiscreteGaussian(sigma):
            return brdp.DiscreteGaussian(sigma)
        case twin_kernels.DiscreteLaplace(scale):
            return brdp.DiscreteLaplace(scale)
        case twin_kernels.Staircase(core, step, drop, integer):
            return brdp.Staircase(core=core, step=step, drop=drop, integer=integer)
    raise AssertionError(kernel)


def width(kernel: twin_kernels.Kernel) -> float:
    """The scale that bounds are measured in."""
    match kernel:
        case twin_kernels.Gaussian(size) | twin_kernels.DiscreteGaussian(size):
            return float(size)
        case twin_kernels.Laplace(size) | twin_kernels.DiscreteLaplace(size):
            return float(size)
        case twin_kernels.Staircase(core, step, drop):
            return float(core) + float(step) / min(1.0, float(drop))
    raise AssertionError(kernel)


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log10(low), math.log10(high)).map(
        lambda power: min(max(10.0**power, low), high)
    )


def rates(most: float = 1 - 1e-9) -> st.SearchStrategy[float]:
    """From 0 to `most`, near both ends too; 1 - rate is exact, so that both twins keep the same."""
    drawn = st.one_of(
        st.floats(0.0, most),
        log_uniform(1 - most, 1.0).map(lambda keep: 1.0 - keep),
        log_uniform(1e-9, 1.0),
    )
    return drawn.map(lambda rate: min(most, 1.0 - (1.0 - rate)))


@st.composite
def bound(
    draw: st.DrawFn, scale: float, sensitivity: float, *, furthest: float, lattice: bool
) -> float:
    """From 0 to `furthest`, often a simple multiple of the sensitivity, where edges fall together."""
    drawn = draw(
        st.one_of(
            log_uniform(1e-3, 1e3).map(lambda times: times * scale),
            st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0]).map(lambda times: times * sensitivity),
        )
    )
    drawn = min(drawn, 1e3 * scale, furthest)
    return float(math.floor(drawn)) if lattice else drawn


@st.composite
def recyclers(
    draw: st.DrawFn, kernel: twin_kernels.Kernel, sensitivity: float, furthest: float = math.inf
) -> Case:
    """Plain, one bound, two bounds (one perhaps 0) or two to four falling levels (the last perhaps 0)."""
    lattice = kernel.lattice
    bounds = bound(width(kernel), sensitivity, furthest=furthest, lattice=lattice)
    shape = draw(st.sampled_from(["plain", "one", "one", "two", "two", "levels"]))
    if shape == "plain":
        return Case(kernel, sensitivity)
    if shape == "one":
        high = draw(bounds)
        if high > 0 or lattice:
            return Case(kernel, sensitivity, (-high, high), draw(rates()))
        return Case(kernel, sensitivity)
    if shape == "two":
        low, high = -draw(bounds), draw(bounds)
        side = draw(st.sampled_from(["both", "both", "both", "low", "high"]))
        low, high = (0.0 if side == "high" else low), (0.0 if side == "low" else high)
        if low < high or lattice:
            return Case(kernel, sensitivity, (low, high), draw(rates()))
        return Case(kernel, sensitivity)
    edges = sorted({edge for edge in draw(st.lists(bounds, min_size=1, max_size=3)) if edge > 0})
    if not edges:
        return Case(kernel, sensitivity)
    keeps = [draw(st.sampled_from([1.0, 1.0, 0.75]))]
    for _ in edges:
        keeps.append(keeps[-1] * draw(st.one_of(st.floats(0.01, 1.0), log_uniform(1e-4, 1.0))))
    if draw(st.integers(0, 5)) == 0:
        keeps[-1] = 0.0
    return Case(kernel, sensitivity, levels=tuple(zip([*edges, math.inf], keeps, strict=True)))


@st.composite
def gaussian_cases(draw: st.DrawFn) -> Case:
    sensitivity = draw(st.one_of(st.just(1.0), log_uniform(1e-6, 1e6)))
    return draw(
        recyclers(twin_kernels.Gaussian(sensitivity * draw(log_uniform(1e-3, 1e6))), sensitivity)
    )


@st.composite
def laplace_cases(draw: st.DrawFn) -> Case:
    sensitivity = draw(st.one_of(st.just(1.0), log_uniform(1e-6, 1e6)))
    return draw(
        recyclers(twin_kernels.Laplace(sensitivity * draw(log_uniform(1e-3, 1e6))), sensitivity)
    )


@st.composite
def staircase_cases(draw: st.DrawFn) -> Case:
    """Continuous. Steps no finer than a hundredth of the sensitivity: the twin goes through them one by one."""
    sensitivity = draw(st.one_of(st.just(1.0), log_uniform(1e-3, 1e3)))
    step = sensitivity * draw(st.one_of(st.just(1.0), log_uniform(0.05, 1e3)))
    core = step * draw(st.one_of(st.just(0.0), st.just(1.0), log_uniform(1e-3, 30)))
    kernel = twin_kernels.Staircase(
        core, step, draw(st.one_of(st.just(1.0), log_uniform(1e-3, 40)))
    )
    return draw(recyclers(kernel, sensitivity, furthest=core + 25 * step))


@st.composite
def integer_staircase_cases(draw: st.DrawFn) -> Case:
    sensitivity, step, core = (
        draw(st.integers(1, 8)),
        draw(st.integers(1, 12)),
        draw(st.integers(0, 12)),
    )
    kernel = twin_kernels.Staircase(core, step, draw(log_uniform(1e-3, 40)), integer=True)
    return draw(recyclers(kernel, float(sensitivity), furthest=core + 20.0 * step))


@st.composite
def discrete_laplace_cases(draw: st.DrawFn) -> Case:
    sensitivity = draw(st.one_of(st.just(1), st.integers(1, 10), st.sampled_from([100, 1000])))
    scale = draw(log_uniform(1e-3 * sensitivity, 1e6 * sensitivity))
    return draw(recyclers(twin_kernels.DiscreteLaplace(scale), float(sensitivity)))


@st.composite
def discrete_gaussian_cases(draw: st.DrawFn, widest: float = 600.0) -> Case:
    sensitivity = draw(st.one_of(st.just(1), st.integers(1, 10), st.sampled_from([100, 1000])))
    sigma = draw(log_uniform(1e-3 * sensitivity, widest))
    return draw(recyclers(twin_kernels.DiscreteGaussian(sigma), float(sensitivity)))


@st.composite
def wide_discrete_gaussian_cases(draw: st.DrawFn) -> Case:
    """Too wide to go through integer by integer: brdp and the twin both sum in runs, each in its own way."""
    sensitivity = draw(st.one_of(st.just(1), st.integers(1, 10), st.sampled_from([100, 1000])))
    sigma = draw(log_uniform(601, 1e6 * sensitivity))
    return draw(recyclers(twin_kernels.DiscreteGaussian(sigma), float(sensitivity)))


FAMILIES = {
    "gaussian": gaussian_cases(),
    "laplace": laplace_cases(),
    "staircase": staircase_cases(),
    "integer_staircase": integer_staircase_cases(),
    "discrete_laplace": discrete_laplace_cases(),
    "discrete_gaussian": discrete_gaussian_cases(),
    "wide_discrete_gaussian": wide_discrete_gaussian_cases(),
}


def largest_epsilon(case: Case) -> float:
    """Where the curve is about 0 or 1e-300, so that a share of it is an epsilon worth asking for."""
    ratio = case.sensitivity / width(case.kernel)
    match case.kernel:
        case twin_kernels.Gaussian() | twin_kernels.DiscreteGaussian():
            most = ratio * ratio / 2 + 37 * ratio
        case twin_kernels.Staircase(_, step, drop):
            most = float(drop) * math.ceil(case.sensitivity / float(step))
        case _:
            most = ratio
    return min(50.0, most + case.spread)


@st.composite
def with_epsilon(draw: st.DrawFn, cases: st.SearchStrategy[Case]) -> tuple[Case, float]:
    case = draw(cases)
    share = draw(st.one_of(st.floats(0.0, 1.0), log_uniform(1e-4, 1.0), st.floats(0.9, 1.0)))
    return case, share * largest_epsilon(case)
