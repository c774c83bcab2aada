"""brdp's noise against the many-digit twins of tests/reference, and its sampler against its own law.

Statistical tests: each states its false-alarm rate, 1e-7 a test, so about 2e-6 for a run of them all, and each runs
the same test on a control whose scale is off by 10 %, which must be rejected. Seeds are fresh and printed.
"""

from __future__ import annotations

import dataclasses
import math
import pickle
import secrets

import numpy as np
import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy import stats

import brdp
from tests.reference import kernels, recycled
from tests.reference.kernels import INFINITY
from tests.strategies import FAMILIES, FRESH, SAME, Case

families = pytest.mark.parametrize("family", FAMILIES)
QUICK, LONG = 60, 1500
FALSE_ALARM = 1e-7


def assert_log(found: float, expected: mpf) -> None:
    """Relative error of what it is the log of, where the log itself can be a float that says so.

    A log of -1e6 is itself rounded by 1e-10, and its argument x/scale twice over; hence the second term.
    """
    with mp.workdps(30):
        if expected == 0:
            assert found == -math.inf
            return
        log = mp.log(expected)
        note(f"brdp {found!r}, twin {mp.nstr(log, 20)}")
        # what is promised ends at 1e-300; far below it the tail of the discrete Gaussian is an upper bound
        room = mpf("1e-11") if log > -740 else mpf("1e-3")
        assert abs(mpf(float(found)) - log) <= room + 2e-15 * abs(log)


@st.composite
def points(draw: st.DrawFn, case: Case) -> float:
    """Anywhere from the centre to the deep tails; integers on the lattice."""
    edges = [float(edge) for edge in case.twin().edges] or [0.0]
    near = draw(st.sampled_from([0.0, *edges]))
    x = near + case.width * draw(st.one_of(st.floats(-3, 3), st.floats(-35, 35)))
    return float(round(x)) if case.kernel.lattice else x


@st.composite
def case_and_points(draw: st.DrawFn, family: str) -> tuple[Case, float, float]:
    case = draw(FAMILIES[family])
    a, b = sorted((draw(points(case)), draw(points(case))))
    return case, a, b


def on_a_jump(case: Case, x: float) -> bool:
    """Within rounding of where a continuous density jumps: which side x is on is then a matter of rounding."""
    if case.kernel.lattice:
        return False
    jumps = [float(edge) for edge in case.twin().edges]
    if isinstance(case.kernel, kernels.Staircase):
        past = (abs(x) - case.kernel.core) / case.kernel.step
        jumps += [math.copysign(case.kernel.core + round(past) * case.kernel.step, x)]
    return any(abs(x - jump) <= 1e-12 * (abs(jump) + case.width) for jump in jumps)


def hold_densities_and_masses(family: str, how: settings, examples: int) -> None:
    @settings(how, max_examples=examples)
    @given(case_and_points(family))
    def hold(drawn: tuple[Case, float, float]) -> None:
        case, low, high = drawn
        twin, noise = case.twin(), case.noise()
        with mp.workdps(60):
            # beside a jump of e^drop, rounding decides on which side an ulp of mass lies
            if isinstance(case.kernel, kernels.Staircase):
                assume(not on_a_jump(case, low) and not on_a_jump(case, high))
            if not on_a_jump(case, low):
                assert_log(float(noise.log_pdf(low)), twin.pdf(low))
            assert_log(float(noise.log_mass(-math.inf, high)), twin.mass(-INFINITY, high))
            assert_log(float(noise.log_mass(low, math.inf)), twin.mass(low, INFINITY))
            if high - low > 1e-25 * case.width:  # or 60 digits are not enough for the twin
                assert_log(float(noise.log_mass(low, high)), twin.mass(low, high))
            if twin.cdf(high) > mpf("1e-300"):
                assert_log(math.log(float(noise.cdf(high))), twin.cdf(high))
            assert_log(math.log(noise.expected_rounds), 1 / twin.normaliser)
            around = (min(low, 0.0), max(high, 0.0))
            if around[1] - around[0] > 1e-25 * case.width and twin.acceptance(*around) > mpf(
                "1e-300"
            ):
                assert_log(math.log(noise.acceptance(within=around)), twin.acceptance(*around))

    hold()


@families
def test_densities_and_masses(family):
    hold_densities_and_masses(family, SAME, QUICK)


def hold_quantiles(family: str, how: settings, examples: int) -> None:
    """ppf(u) is the least x with cdf(x) >= u: the twin's cdf passes u there, to a few roundings of u and of x."""

    @settings(how, max_examples=examples)
    @given(
        FAMILIES[family],
        st.one_of(st.floats(1e-6, 1 - 1e-6), st.floats(-280, -1).map(lambda x: 10.0**x)),
    )
    def hold(case: Case, u: float) -> None:
        twin, noise = case.twin(), case.noise()
        x = float(noise.ppf(u))
        note(f"ppf({u!r}) = {x!r}")
        with mp.workdps(60):
            up, down = mpf(u) * (1 + mpf("1e-10")), mpf(u) * (1 - mpf("1e-10"))
            if case.kernel.lattice:
                assert twin.cdf(x) >= down
                assert twin.cdf(x - 1) < up
                return
            # the density may be 0 just outside truncating bounds: step inwards is a step of the cdf, outwards none;
            # beside 0 the cdf is about 1/2, of which an ulp is 1e-16 of the width whatever x is
            nudge = mpf("1e-13") * abs(mpf(x)) + mpf("1e-15") * case.width
            assert twin.cdf(x + nudge) >= down
            assert twin.cdf(x - nudge) <= up

    hold()


@families
def test_quantiles(family):
    hold_quantiles(family, SAME, QUICK)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("hold", [hold_densities_and_masses, hold_quantiles])
@families
def test_at_length(family, hold):
    hold(family, FRESH, LONG)


MOMENTS = [
    Case(kernels.Gaussian(1.5), 1.0),
    Case(kernels.Gaussian(1.5), 1.0, (-1.0, 2.5), 0.7),
    Case(kernels.Gaussian(2.0), 1.0, levels=((1.0, 1.0), (4.0, 0.3), (math.inf, 0.0))),
    Case(kernels.Laplace(0.8), 1.0, (-0.5, 0.5), 0.99),
    Case(kernels.Laplace(2.0), 1.0, (0.0, 3.0), 0.5),
    Case(kernels.Staircase(0.5, 1.0, 0.7), 1.0),
    Case(kernels.Staircase(0.5, 1.0, 0.7), 1.0, (-1.2, 0.3), 0.6),
    Case(kernels.DiscreteGaussian(0.4), 1.0),
    Case(kernels.DiscreteGaussian(6.5), 1.0, (-2.0, 9.0), 0.8),
    Case(kernels.DiscreteLaplace(3.0), 1.0),
    Case(kernels.DiscreteLaplace(3.0), 1.0, (0.0, 4.0), 0.9),
    Case(kernels.DiscreteLaplace(3.0), 1.0, levels=((2.0, 1.0), (7.0, 0.4), (math.inf, 0.1))),
    Case(kernels.Staircase(2, 3, 0.5, integer=True), 1.0),
    Case(kernels.Staircase(2, 3, 0.5, integer=True), 1.0, (-3.0, 6.0), 0.75),
]


@pytest.mark.parametrize("case", MOMENTS, ids=str)
def test_mean_and_std(case):
    twin, noise = case.twin(), case.noise()
    with mp.workdps(25):
        mean = twin.moment(1)
        std = mp.sqrt(twin.moment(2) - mean**2)
        assert abs(noise.mean - mean) <= 1e-11 * std
        assert noise.std == pytest.approx(float(std), rel=1e-11, abs=0)


@families
def test_equal_by_value(family):
    @settings(SAME, max_examples=20)
    @given(FAMILIES[family], FAMILIES[family])
    def hold(case: Case, other: Case) -> None:
        one, same, different = case.noise(), case.noise(), other.noise()
        assert one == same
        assert hash(one) == hash(same)
        assert {one: 1}[same] == 1
        assert pickle.loads(pickle.dumps(one)) == one
        assume(case.kernel != other.kernel)
        assert one != different

    hold()


def test_noise_is_frozen_and_tells_its_parts():
    noise = brdp.Recycled(brdp.Gaussian(2.5), within=(-1.0, 2.0), rate=0.5)
    assert noise.kernel == brdp.Gaussian(2.5)
    assert noise.recycler == brdp.Recycler(edges=(-1.0, 2.0), keeps=(0.5, 1.0, 0.5))
    assert noise != brdp.Recycled(brdp.Gaussian(2.5), within=(-2.0, 1.0), rate=0.5)
    assert noise != brdp.Gaussian(2.5)
    for value, field in [(noise, "rate"), (brdp.Gaussian(2.5), "sigma"), (noise.recycler, "edges")]:
        with pytest.raises((AttributeError, TypeError)):
            setattr(value, field, 3.0)


def test_bounds_are_inclusive_and_arrays_keep_their_shape():
    noise = brdp.Recycled(brdp.DiscreteLaplace(2.0), within=(-1, 2), rate=1.0)
    masses = noise.pmf(np.array([[-2, -1], [2, 3]]))
    assert masses.shape == (2, 2)
    assert (masses > 0).tolist() == [[False, True], [True, False]]
    assert noise.pmf(0.5) == 0
    assert noise.acceptance(within=(-1, 2)) == pytest.approx(1, rel=1e-15)
    assert noise.cdf(2.9) == pytest.approx(1, rel=1e-15)
    real = brdp.Recycled(brdp.Laplace(2.0), within=(-1, 2), rate=1.0)
    assert (real.pdf(np.array([-1.01, -1.0, 2.0, 2.01])) > 0).tolist() == [False, True, True, False]


@pytest.mark.parametrize(("core", "step", "drop"), [(8, 49, 0.32285872723078), (11, 49, 0.5)])
def test_a_staircase_beyond_the_integers_that_doubles_tell_apart(core, step, drop):
    # the exact sampler asks for the mass beyond 2^62, where doubles lie 1024 apart and a stair is 49 wide
    ours = brdp.Staircase(core=core, step=step, drop=drop, integer=True)
    twin = kernels.Staircase(core, step, drop, integer=True)
    with mp.workdps(60):
        for far in (2.0**62, -(2.0**62)):
            low, high = sorted((far, math.copysign(math.inf, far)))
            exact = float(mp.log(twin.upper(2.0**62)))
            assert float(ours.log_mass(low, high)) == pytest.approx(exact, rel=1e-14)


# ---- samples -----------------------------------------------------------------------------------------------------

# Nearly all of a narrow truncated law is alike at every scale, so a rate of 0.99 would leave the control
# without power: there the rate is 0.8.
SAMPLED = [
    dataclasses.replace(case, rate=min(case.rate, 0.8)) if case.bounds == (-0.5, 0.5) else case
    for case in MOMENTS
    if case.kernel != kernels.DiscreteGaussian(0.4)
]
SAMPLED.append(Case(kernels.DiscreteLaplace(0.7), 1.0, (0.0, 0.0), 0.5))
SIZE = 150_000


def wider(case: Case) -> Case:
    """The control: the same recycler around a kernel whose scale is 10 % larger."""
    match case.kernel:
        case kernels.Staircase(core, step, drop, integer):
            # a scale of 1.1 on the integers would not be integers: the drop sets the width there
            grown = (
                (core, step, drop / 1.1, True) if integer else (core * 1.1, step * 1.1, drop, False)
            )
            kernel: kernels.Kernel = kernels.Staircase(*grown)
        case kernels.Gaussian(size) | kernels.Laplace(size):
            kernel = type(case.kernel)(size * 1.1)
        case kernels.DiscreteGaussian(size) | kernels.DiscreteLaplace(size):
            kernel = type(case.kernel)(size * 1.1)
    return Case(kernel, case.sensitivity, case.bounds, case.rate, case.levels)


def cells(twin: recycled.Recycled, lattice: bool) -> tuple[np.ndarray, np.ndarray]:
    """Inner cell borders and the twin's probabilities of the cells, each at least 1e-3."""
    spread = float(mp.sqrt(twin.kernel.variance))
    far = 12 * spread + max([abs(float(edge)) for edge in twin.edges], default=0.0)
    grid = (
        np.arange(-math.ceil(far), math.ceil(far) + 1) + 0.5
        if lattice
        else np.linspace(-far, far, 1201)
    )
    borders, probabilities, below = [], [], mpf(0)
    for border in grid:
        at = twin.cdf(float(border))
        if at - below >= mpf("1e-3") and 1 - at >= mpf("1e-3"):
            borders.append(float(border))
            probabilities.append(float(at - below))
            below = at
    probabilities.append(float(1 - below))
    return np.array(borders), np.array(probabilities)


def p_value(values: np.ndarray, borders: np.ndarray, probabilities: np.ndarray) -> float:
    """Chi-square over the cells; every cell expects at least 150 of the 150,000."""
    counts = np.bincount(np.searchsorted(borders, values), minlength=len(probabilities))
    return float(stats.chisquare(counts, probabilities * len(values)).pvalue)


@pytest.mark.parametrize("case", SAMPLED, ids=str)
def test_samples_follow_the_law(case):
    """False alarm: 1e-7. Control: the kernel's scale off by 10 % must be rejected at the same level."""
    seed = secrets.randbits(64)
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    with mp.workdps(20):
        borders, probabilities = cells(case.twin(), case.kernel.lattice)
    values = case.noise().sample(SIZE, rng=rng)
    assert values.shape == (SIZE,)
    if case.kernel.lattice:
        assert (values == np.round(values)).all()
    assert p_value(values, borders, probabilities) > FALSE_ALARM
    control = wider(case).noise().sample(SIZE, rng=rng)
    assert p_value(control, borders, probabilities) < FALSE_ALARM


def test_samples_repeat_with_their_seed():
    noise = brdp.Recycled(brdp.Gaussian(2.5), within=1.0, rate=0.5)
    one, two = (noise.sample(1000, rng=np.random.default_rng(7)) for _ in range(2))
    assert (one == two).all()
    assert not (one == noise.sample(1000, rng=np.random.default_rng(8))).all()
    assert noise.sample(0).shape == (0,)
