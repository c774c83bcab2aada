"""brdp's curves against the many-digit twins of tests/reference.

No absolute tolerance on a delta anywhere. A delta is right when it is within 1e-9 (relatively) of the twin's, or,
where the curve is so steep that a few roundings of epsilon move it further, when the twin's deltas at
epsilon * (1 +- 4e-15) bracket it. Bounds are held to be on their side of the truth with no tolerance at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, event, given, note, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import brdp
from brdp.errors import InvalidInput
from tests.reference import calibrate, curve, kernels, recycled, renyi
from tests.strategies import FAMILIES, FRESH, SAME, Case, log_uniform, with_epsilon

LEAST = mpf("1e-300")
# The twin itself is known to 1e-20 (relatively): a bound may miss it by this and no more.
TWIN = mpf("1e-18")
# How many examples the twins can do in a second or two; an inverse takes several of their deltas.
QUICK = {
    "gaussian": 120,
    "laplace": 120,
    "staircase": 30,
    "integer_staircase": 40,
    "discrete_laplace": 40,
    "discrete_gaussian": 20,
    "wide_discrete_gaussian": 10,
}
INVERSE = {
    "gaussian": 25,
    "laplace": 25,
    "staircase": 4,
    "integer_staircase": 8,
    "discrete_laplace": 8,
    "discrete_gaussian": 4,
    "wide_discrete_gaussian": 5,
}

families = pytest.mark.parametrize("family", FAMILIES)


def relative(found: float, expected: mpf) -> float:
    with mp.workdps(40):
        return float(abs(mpf(found) / expected - 1))


def true_delta(case: Case, epsilon: float) -> mpf:
    return curve.delta(case.twin(), case.sensitivity, epsilon)


def assert_delta(
    case: Case, epsilon: float, expected: mpf, say: Callable[[str], object] = print
) -> str:
    twin, ours = case.twin(), case.curve()
    found = float(ours.delta(epsilon=epsilon))
    say(f"epsilon {epsilon!r}: brdp {found!r}, twin {mp.nstr(expected, 20)}")
    error = relative(found, expected)
    if error >= 1e-9:
        with mp.workdps(40):
            room = mpf(epsilon) * mpf("4e-15")
            low = curve.delta(twin, case.sensitivity, mpf(epsilon) + room)
            high = curve.delta(twin, case.sensitivity, mpf(epsilon) - room)
        say(f"relative error {error:.3g}, bracket {mp.nstr(low, 20)} .. {mp.nstr(high, 20)}")
        assert low <= mpf(found) <= high
        how = "steep"
    else:
        how = "within 1e-9"
    # the promise: an upper bound, and bounds on both sides; in logs, where floats do not run out
    lower, upper = ours.delta_bounds(epsilon=epsilon)
    with mp.workdps(40):
        assert expected * (1 - TWIN) <= mpf(found)
        assert mpf(float(lower)) <= expected * (1 + TWIN)
        assert expected * (1 - TWIN) <= mpf(float(upper))
        assert mp.log(expected) - TWIN <= mpf(float(ours.log_delta(epsilon=epsilon)))
    return how


def hold_deltas(family: str, how: settings, examples: int) -> None:
    @settings(how, max_examples=examples)
    @given(with_epsilon(FAMILIES[family]))
    def hold(drawn: tuple[Case, float]) -> None:
        case, epsilon = drawn
        expected = true_delta(case, epsilon)
        assume(expected >= LEAST)
        event(assert_delta(case, epsilon, expected, say=note))

    hold()


@families
def test_delta(family):
    hold_deltas(family, SAME, QUICK[family])


@pytest.mark.slow
@pytest.mark.timeout(3600)
@families
def test_delta_at_length(family):
    hold_deltas(family, FRESH, 50 * QUICK[family])


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("epsilon", [0.04, 20.5])
@pytest.mark.parametrize("bounds", [(-1000.0, 700.0), (-1000.0, 1000.0)])
def test_delta_of_a_staircase_bounded_a_thousand_scales_out(bounds, epsilon):
    """The twin goes stair by stair, too slowly to draw such bounds among the others."""
    case = Case(kernels.Staircase(0.3, 1.0, 0.7), 1.0, bounds, 1 - 1e-9)
    assert_delta(case, epsilon, true_delta(case, epsilon))


def assert_epsilon(case: Case, target: float) -> None:
    """On the private side with no tolerance, and not above what is needed by more than 1e-9 or the curve's error."""
    twin, ours = case.twin(), case.curve()
    found = ours.epsilon_or_infinity(delta=target)
    note(f"delta {target!r}: epsilon {found!r}")
    lower, upper = ours.epsilon_bounds(delta=target)
    assert 0 <= lower <= found <= upper
    if math.isinf(found):
        # nothing less than the mass that the neighbour never shows
        assert curve.delta(twin, case.sensitivity, 700) > mpf(target)
        with pytest.raises(InvalidInput, match=r"^delta: expected at least"):
            ours.epsilon(delta=target)
        return
    assert ours.epsilon(delta=target) == found
    there = curve.delta(twin, case.sensitivity, found)
    assert there <= mpf(target)
    if found == 0:
        return
    with mp.workdps(40):
        before = curve.delta(twin, case.sensitivity, mpf(found) * (1 - mpf("1e-9")))
        assert before > mpf(target) or there >= mpf(target) * (1 - mpf("1e-9"))
        assert curve.delta(twin, case.sensitivity, lower) >= mpf(target) or lower == 0


COMMON = st.sampled_from([1e-3, 1e-5, 1e-6, 1e-10, 1e-15])


def hold_epsilons(
    family: str, targets: st.SearchStrategy[float], how: settings, examples: int
) -> None:
    @settings(how, max_examples=examples)
    @given(FAMILIES[family], targets)
    def hold(case: Case, target: float) -> None:
        assume(curve.delta(case.twin(), case.sensitivity, 50) < mpf(target))
        assert_epsilon(case, target)

    hold()


@families
def test_epsilon_is_private_and_not_wasteful(family):
    hold_epsilons(family, log_uniform(1e-300, 0.9), SAME, INVERSE[family])


@families
def test_epsilon_of_common_deltas(family):
    hold_epsilons(family, COMMON, SAME, INVERSE[family])


@pytest.mark.slow
@pytest.mark.timeout(3600)
@families
def test_epsilon_at_length(family):
    hold_epsilons(family, st.one_of(log_uniform(1e-300, 0.9), COMMON), FRESH, 40 * INVERSE[family])


# The twin of the wide discrete Gaussian has no moments.
RENYI = {name: count // 4 for name, count in QUICK.items() if name != "wide_discrete_gaussian"}


def hold_renyi(family: str, how: settings, examples: int) -> None:
    @settings(how, max_examples=examples)
    @given(FAMILIES[family], log_uniform(1e-2, 100).map(lambda x: 1 + x))
    def hold(case: Case, order: float) -> None:
        # the twin sums the discrete Gaussian over a window that grows with all of these
        if isinstance(case.kernel, kernels.DiscreteGaussian):
            assume(
                case.kernel.sigma < 20 and case.sensitivity <= 10 and case.sensitivity * order < 300
            )
            assume(order * case.sensitivity / case.kernel.sigma < 100)
            assume(max((abs(edge) for edge in case.twin().edges), default=0) < 200)
        if isinstance(case.kernel, kernels.DiscreteLaplace):
            assume(max((abs(edge) for edge in case.twin().edges), default=0) < 500)
        expected = renyi.renyi(case.twin(), case.sensitivity, order)
        found = case.curve().renyi(order=order)
        note(f"order {order!r}: brdp {found!r}, twin {mp.nstr(expected, 20)}")
        if mp.isinf(expected):
            assert math.isinf(found)
            return
        assert relative(found, expected) < 1e-9
        assert mpf(found) >= expected * (1 - TWIN)

    hold()


@pytest.mark.parametrize("family", RENYI)
def test_renyi(family):
    hold_renyi(family, SAME, RENYI[family])


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("family", RENYI)
def test_renyi_at_length(family):
    hold_renyi(family, FRESH, 40 * RENYI[family])


# ---- the values printed in theory.md ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "within", "rate", "sensitivity", "epsilon", "expected"),
    [
        (brdp.Gaussian(2.5), 1.0, 0.5, 1, 0.3, 0.146428183458),
        (brdp.Gaussian(1.2), (-2.0, 1.0), 0.7, 1, 0.9, 0.253450841048),
        (brdp.Laplace(1.2), 1.0, 0.5, 1, 0.7, 0.223120726642),
        (brdp.Laplace(3.0), (-0.5, 2.0), 0.8, 2, 1.1, 0.36891763882),
    ],
)
def test_delta_of_theory(kernel, within, rate, sensitivity, epsilon, expected):
    noise = brdp.Recycled(kernel, within=within, rate=rate)
    assert (
        relative(
            float(noise.privacy(sensitivity=sensitivity).delta(epsilon=epsilon)), mpf(expected)
        )
        < 1e-10
    )


@pytest.mark.parametrize(
    ("kernel", "within", "sensitivity", "order", "expected"),
    [
        (brdp.Gaussian(2.5), 1.0, 1, 2, 0.327968060082),
        (brdp.Gaussian(2.5), 1.0, 1, 7.5, 0.709222156649),
        (brdp.Laplace(1.2), 1.0, 1, 3, 1.10222087721),
        (brdp.Laplace(1.2), (-1.0, 2.0), 2, 1.5, 1.667620853),
        (brdp.Laplace(1.2), (-2.0, 1.0), 2, 1.5, 1.667620853),
    ],
)
def test_renyi_of_theory(kernel, within, sensitivity, order, expected):
    noise = brdp.Recycled(kernel, within=within, rate=0.5)
    # the last value has ten digits only
    tolerance = 1e-10 if sensitivity == 1 else 4e-10
    assert (
        relative(noise.privacy(sensitivity=sensitivity).renyi(order=order), mpf(expected))
        < tolerance
    )


@pytest.mark.parametrize(
    ("kernel", "bounds", "order"),
    [
        (kernels.Gaussian(1e6), (-1e6, 1e6), 2.0),
        (kernels.Gaussian(1e6), (-3e6, 2.1e6), 5.0),
        (kernels.Laplace(1e4), (-1e5, 1e5), 2.0),
        (kernels.Laplace(1e6), (-3e7, 0.7), 9.0),
    ],
)
@pytest.mark.parametrize("sensitivity", [1.0, math.pi / 3])
def test_small_moments_see_short_pieces_far_out(kernel, bounds, order, sensitivity):
    """Beside a far bound lies a piece as long as the sensitivity: the difference of its ends has lost digits."""
    case = Case(kernel, sensitivity, bounds, 0.5)
    expected = renyi.renyi(case.twin(), sensitivity, order)
    found = case.curve().renyi(order=order)
    assert relative(found, expected) < 2e-12
    assert found >= expected


@pytest.mark.parametrize(
    ("kernel", "expected"), [(brdp.Gaussian(2.5), 1.528575119), (brdp.Laplace(1.2), 1.526452827)]
)
def test_epsilon_of_theory(kernel, expected):
    found = brdp.Recycled(kernel, within=1.0, rate=0.5).privacy(sensitivity=1).epsilon(delta=1e-5)
    assert found == pytest.approx(expected, rel=4e-10, abs=0)


@pytest.mark.parametrize(
    (
        "family",
        "epsilon",
        "promised",
        "sensitivity",
        "within",
        "epsilon_y",
        "rate",
        "truth",
        "times",
    ),
    [
        ("gaussian", 3.0, "1e-8", 1, 10.0, "2.1", 0.80958721, 2.707e-5, 2707),
        ("gaussian", 0.1, "1e-3", 22, 1.0, "0.05", 0.83391717, 5.919e-3, 5.9),
        ("laplace", 3.0, "1e-5", 5, 1.0, "1.1", 0.85044653, 3.150e-5, 3.2),
        ("laplace", 1.0, "1e-5", 1, 1.0, "0.9", 0.095223571, 2.081e-5, 2.1),
        ("gaussian", 2.0, "1e-5", 1, 1.0, "1.2", 0.621637, 1.181e-11, 1.2e-6),
    ],
)
def test_wrong_rates_of_the_paper(
    family, epsilon, promised, sensitivity, within, epsilon_y, rate, truth, times
):
    """theory.md section 5: the exact curve says what Algorithm 1's rates really cost."""
    if family == "gaussian":
        kernel = brdp.Gaussian(
            float(
                calibrate.gaussian(epsilon=epsilon_y, delta=promised, sensitivity=sensitivity).sigma
            )
        )
    else:
        kernel = brdp.Laplace(
            float(calibrate.laplace(epsilon=epsilon_y, sensitivity=sensitivity).scale)
        )
    ours = brdp.Recycled(kernel, within=within, rate=rate).privacy(sensitivity=sensitivity)
    found = float(ours.delta(epsilon=epsilon))
    assert found == pytest.approx(truth, rel=3e-4, abs=0)
    assert found / float(promised) == pytest.approx(times, rel=0.05, abs=0)


# ---- corners -----------------------------------------------------------------------------------------------------


def test_deltas_down_to_1e_300_and_up_to_1():
    plain = kernels.Gaussian(1.0)
    for epsilon in (0.0, 1.0, 10.0, 30.0, 36.0):
        case = Case(plain, 1.0)
        assert_delta(case, epsilon, true_delta(case, epsilon))
    for sigma in (1e-3, 0.05, 0.2):
        case = Case(kernels.Gaussian(sigma), 1.0)
        assert_delta(case, 2.0, true_delta(case, 2.0))
    # below the least float the log goes on
    ours = brdp.Gaussian(1.0).privacy(sensitivity=1.0)
    with mp.workdps(2500):
        expected = mp.log(calibrate.gaussian_delta(mpf(1), mpf(1), mpf(60)))
    assert float(ours.log_delta(epsilon=60.0)) == pytest.approx(float(expected), rel=1e-13, abs=0)


def test_no_loss_above_the_largest():
    """Pure noise has a delta of 0, not of 1e-17, once epsilon is past every loss."""
    for noise, sensitivity, most in [
        (brdp.Laplace(2.0), 1.0, 0.5),
        (brdp.DiscreteLaplace(2.0), 3.0, 1.5),
        (brdp.Staircase(core=0.5, step=1.0, drop=0.7), 1.0, 0.7),
        (brdp.Recycled(brdp.Laplace(1.0), within=1.0, rate=0.5), 1.0, 1 + math.log(2)),
    ]:
        ours = noise.privacy(sensitivity=sensitivity)
        assert float(ours.delta(epsilon=most * (1 + 1e-12))) == 0
        assert float(ours.delta(epsilon=most * (1 - 1e-9))) > 0
        assert most <= ours.epsilon(delta=0.0) <= most * (1 + 1e-14)


def test_truncated_noise_never_gets_below_its_boundary_mass():
    case = Case(kernels.Laplace(1.0), 1.0, (-2.0, 2.0), 1.0)
    floor = curve.delta(case.twin(), 1.0, 40.0)
    assert float(floor) == pytest.approx(
        (math.exp(1) - 1) / (math.exp(2) - 1) / 2, rel=1e-12, abs=0
    )
    assert_delta(case, 40.0, floor)
    ours = case.curve()
    assert math.isinf(ours.epsilon_or_infinity(delta=float(floor) * 0.999))
    assert ours.epsilon(delta=float(floor) * 1.001) < math.inf
    assert math.isinf(ours.renyi(order=2))


@pytest.mark.parametrize("keep", [0.0, 1e-6])
def test_moments_see_weights_that_fall_far_out(keep):
    """What only one world shows has an infinite moment, be its mass exp(-900); high orders lift what falls."""
    case = Case(kernels.DiscreteGaussian(1.0), 1.0, levels=((43.0, 1.0), (math.inf, keep)))
    for order in (2.0, 150.0):
        expected = renyi.renyi(case.twin(), 1.0, order)
        found = case.curve().renyi(order=order)
        assert found == expected == math.inf or relative(found, expected) < 1e-9
        assert found >= expected * (1 - TWIN)


def test_weights_that_rise_take_the_worst_of_all_shifts():
    """Integer noise need not be unimodal; the whole sensitivity is then not the worst shift."""
    levels = [
        (1, 0.01),
        (3, 1.0),
        (math.inf, 0.001),
    ]  # two bumps: a shift by 5 lays one on the other
    noise = brdp.Recycled(brdp.DiscreteLaplace(1.5), levels=levels)
    twin = recycled.levels(
        kernels.DiscreteLaplace(1.5), [(bound + 0.5, keep) for bound, keep in levels]
    )
    gained = 0
    for epsilon in (0.0, 0.5, 1.0, 2.0, 3.0):
        each = [curve.delta(twin, shift, epsilon) for shift in range(1, 6)]
        worst = max(each)
        gained += worst > each[-1]
        found = noise.privacy(sensitivity=5).delta(epsilon=epsilon)
        assert worst == found == 0 or relative(float(found), worst) < 1e-9
    assert gained  # or the last shift is the worst anyway and this test shows nothing


def test_curves_take_arrays():
    ours = brdp.Recycled(brdp.Gaussian(2.5), within=1.0, rate=0.5).privacy(sensitivity=1)
    epsilons = np.array([[0.0, 0.3], [1.0, 5.0]])
    together = ours.delta(epsilon=epsilons)
    assert together.shape == (2, 2)
    for each, epsilon in zip(together.ravel(), epsilons.ravel(), strict=True):
        assert each == ours.delta(epsilon=epsilon)
