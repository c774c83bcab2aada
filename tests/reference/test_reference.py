"""The twins themselves: against theory.md, against quadrature, and against other ways to sum. No brdp here."""

from __future__ import annotations

import itertools
import math

import mpmath
import pytest
from mpmath import mp, mpf

from tests.reference import calibrate, curve, lattice, renyi
from tests.reference.kernels import (
    INFINITY,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Kernel,
    Laplace,
    Staircase,
    bell_sum_by_euler_maclaurin,
    bell_sums,
)
from tests.reference.recycled import Recycled, levels, within


def close(found: object, expected: object, relative: float) -> bool:
    with mp.workdps(40):
        return bool(abs(mpf(found) / mpf(expected) - 1) <= relative)


def unit(printed: str) -> float:
    """Half a unit of the last digit printed, relative to the number."""
    digits = printed.lower().split("e")[0]
    places = len(digits.split(".")[1]) if "." in digits else 0
    return 0.5001 * 10.0**-places / abs(float(digits))


DELTAS = [
    (Gaussian("2.5"), 1, "0.5", 1, "0.3", "0.146428183458"),
    (Gaussian("1.2"), (-2, 1), "0.7", 1, "0.9", "0.253450841048"),
    (Laplace("1.2"), 1, "0.5", 1, "0.7", "0.223120726642"),
    (Laplace("3.0"), (mpf("-0.5"), 2), "0.8", 2, "1.1", "0.36891763882"),
]


@pytest.mark.parametrize(("kernel", "bound", "rate", "sensitivity", "epsilon", "expected"), DELTAS)
def test_delta_of_theory_section_2(kernel, bound, rate, sensitivity, epsilon, expected):
    noise = within(kernel, bound, rate)
    assert close(curve.delta(noise, sensitivity, epsilon), expected, unit(expected))
    assert close(curve.by_quadrature(noise, sensitivity, epsilon), expected, unit(expected))


@pytest.mark.parametrize(
    ("kernel", "bound", "sensitivity", "order", "expected"),
    [
        (Gaussian("2.5"), 1, 1, 2, "0.327968060082"),
        (Gaussian("2.5"), 1, 1, 7.5, "0.709222156649"),
        (Laplace("1.2"), 1, 1, 3, "1.10222087721"),
    ],
)
def test_renyi_of_theory_section_2(kernel, bound, sensitivity, order, expected):
    noise = within(kernel, bound, "0.5")
    assert close(renyi.renyi(noise, sensitivity, order), expected, unit(expected))
    assert close(renyi.by_quadrature(noise, sensitivity, order), expected, unit(expected))


def test_renyi_of_both_directions_of_theory_section_2():
    noise = within(Laplace("1.2"), (-1, 2), "0.5")
    assert close(renyi.one_direction(noise, 2, 1.5), "1.6576271403", unit("1.6576271403"))
    assert close(renyi.one_direction(noise.mirrored(), 2, 1.5), "1.667620853", unit("1.667620853"))
    assert close(renyi.renyi(noise, 2, 1.5), "1.667620853", unit("1.667620853"))
    assert close(renyi.by_quadrature(noise, 2, 1.5), "1.667620853", unit("1.667620853"))


@pytest.mark.parametrize(
    ("sigma", "expected"), [("1.5", ".031"), ("3", ".00094"), ("6", ".021"), ("50", ".046")]
)
def test_delta_is_not_monotone_in_the_scale(sigma, expected):
    found = curve.delta(within(Gaussian(sigma), 10, "0.99"), 1, 1)
    assert close(found, expected, unit(expected))


@pytest.mark.parametrize(
    ("kernel", "expected"), [(Gaussian("2.5"), "1.528575119"), (Laplace("1.2"), "1.526452827")]
)
def test_epsilon_of_one_release_of_theory_section_3(kernel, expected):
    found = curve.epsilon_at(within(kernel, 1, "0.5"), 1, mpf("1e-5"), digits=13)
    assert close(found, expected, unit(expected))


def gaussian(epsilon: str, delta: str, sensitivity: int) -> Kernel:
    return calibrate.gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity)


def laplace(epsilon: str, delta: str, sensitivity: int) -> Kernel:
    return calibrate.laplace(epsilon=epsilon, sensitivity=sensitivity)


WRONG_RATES = [  # kernel, epsilon, delta promised, sensitivity, bound, epsilon_y, rate, delta in truth
    (gaussian, "3", "1e-8", 1, 10, "2.1", "0.80958721", "2.707e-5"),
    (gaussian, "0.1", "1e-3", 22, 1, "0.05", "0.83391717", "5.919e-3"),
    (laplace, "3", "1e-5", 5, 1, "1.1", "0.85044653", "3.150e-5"),
    (laplace, "1", "1e-5", 1, 1, "0.9", "0.095223571", "2.081e-5"),
    (gaussian, "2", "1e-5", 1, 1, "1.2", "0.621637", "1.181e-11"),
]


@pytest.mark.parametrize(
    ("kernel", "epsilon", "delta", "sensitivity", "bound", "epsilon_y", "rate", "truth"),
    WRONG_RATES,
)
def test_wrong_rates_of_theory_section_5(
    kernel, epsilon, delta, sensitivity, bound, epsilon_y, rate, truth
):
    noise = within(kernel(epsilon_y, delta, sensitivity), bound, rate)
    assert close(curve.delta(noise, sensitivity, epsilon), truth, unit(truth))
    assert close(curve.by_quadrature(noise, sensitivity, epsilon), truth, unit(truth))


@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "plain", "best"),
    [
        ("1", 1, ".211", ".632"),
        ("2", 1, ".384", ".865"),
        ("3", 1, ".528", ".950"),
        ("3", 5, ".114", ".792"),
    ],
)
def test_plain_gaussian_and_best_possible_of_theory_section_5(epsilon, sensitivity, plain, best):
    kernel = gaussian(epsilon, "1e-5", sensitivity)
    assert close(curve.delta(Recycled(kernel), sensitivity, epsilon), "1e-5", 1e-25)
    assert close(kernel.mass(-1, 1), plain, unit(plain))
    assert close(Staircase(1, sensitivity, epsilon).mass(-1, 1), best, unit(best))


def test_theorem_2_is_false_as_theory_section_5_says():
    kernel = calibrate.laplace(epsilon="1", delta="0.1", sensitivity=1)
    assert close(kernel.scale, ".825954", unit(".825954"))
    # theta is printed to 4 decimals, and delta to 4 digits
    # Theorem 2 sets log(1/(1-q)) = epsilon - epsilon_y
    with mp.workdps(60):
        epsilon, rate = 1 + mp.log(100), 1 - mp.exp(mpf(20) - mpf(24))
    assert close(curve.delta(within(kernel, mpf("0.0870"), "0.99"), 1, epsilon), ".1330", 1e-3)
    assert close(
        curve.delta(within(Gaussian("0.290041"), (-2, 0), rate), 1, 24), "1.96e-5", unit("1.96e-5")
    )


def staircase(sensitivity: int, bound: int, epsilon: int, *, integer: bool = False) -> Staircase:
    """The best epsilon-DP noise for P(|N| <= bound), theory.md section 7."""
    full = math.ceil(bound / sensitivity) - 1
    return Staircase(bound - full * sensitivity, sensitivity, epsilon, integer)


@pytest.mark.parametrize(
    ("sensitivity", "bound", "epsilon", "best", "plain"),
    [
        (5, 1, 1, "0.2558", "0.1813"),
        (5, 1, 2, "0.561", "0.330"),
        (5, 1, 3, "0.792", "0.451"),
        (1, 3, 1, None, None),
        (2, 3, 1, None, None),
    ],
)
def test_staircase_optimum_of_theory_section_7(sensitivity, bound, epsilon, best, plain):
    kernel = staircase(sensitivity, bound, epsilon)
    found = kernel.mass(-bound, bound)
    if best:
        assert close(found, best, unit(best))
        assert close(Laplace(mpf(sensitivity) / epsilon).mass(-bound, bound), plain, unit(plain))
    a, full = mp.exp(-mpf(epsilon)), math.ceil(bound / sensitivity) - 1
    half = kernel.core + sensitivity * a / (1 - a)
    assert close(found, 1 - sensitivity * a ** (full + 1) / ((1 - a) * half), 1e-14)
    # pure at its drop, and not below
    assert curve.delta(Recycled(kernel), sensitivity, epsilon) == 0
    assert curve.delta(Recycled(kernel), sensitivity, epsilon * 0.999) > mpf("1e-5")


def test_laplace_is_optimal_at_multiples_of_the_sensitivity():
    for multiple in (1, 2, 3):
        best = staircase(2, 2 * multiple, 1).mass(-2 * multiple, 2 * multiple)
        assert close(best, Laplace(2).mass(-2 * multiple, 2 * multiple), 1e-14)


def test_integer_laws_of_theory_sections_6_and_7():
    assert close(DiscreteLaplace(1).mass(-1, 1), "0.802", unit("0.802"))
    assert close(Laplace(1).mass(-1, 1), "0.632", unit("0.632"))
    kernel = staircase(4, 2, 2, integer=True)
    assert close(kernel.mass(-2, 2), ".7997", unit(".7997"))
    assert curve.delta(Recycled(kernel), 4, 2) == 0


ALL = [
    Gaussian(0.7),
    Laplace(1.3),
    Staircase(0.4, 1.5, 0.8),
    DiscreteGaussian(0.3),
    DiscreteGaussian(7.7),
    DiscreteLaplace(0.4),
    DiscreteLaplace(5.5),
    Staircase(2, 3, 0.7, integer=True),
    Staircase(0, 1, 0.7, integer=True),
]


@pytest.mark.parametrize("kernel", ALL, ids=str)
def test_kernels_are_what_they_say(kernel):
    """Interval masses against sums or quadrature of the density; total mass 1; variance."""
    with mp.workdps(30):
        if kernel.lattice:
            points = {k: kernel.density(k) for k in range(-700, 701)}
            assert close(mp.fsum(points.values()), 1, 1e-25)
            assert close(mp.fsum(k * k * p for k, p in points.items()), kernel.variance, 1e-25)
            for low, high in [
                (-3, 4),
                (0, 0),
                (0, 5),
                (-9, -2),
                (-1, -1),
                (6, 30),
                (2, 2),
                (-5, 0),
            ]:
                expected = mp.fsum(points[k] for k in range(low, high + 1))
                assert close(kernel.mass(low, high), expected, 1e-25), (low, high)
            assert close(kernel.mass(7, INFINITY), mp.fsum(points[k] for k in range(7, 701)), 1e-25)
            return
        density = kernel.density
        for low, high in [(-1.1, 0.3), (0.25, 0.26), (0, 2), (-7, -3.2), (-4, 5)]:
            inner = [c for c in kernel.corners(mpf(10)) if low < c < high]
            cuts = [mpf(low), *sorted(inner), mpf(high)]
            expected = sum(
                mp.quad(
                    lambda x: density(x),
                    [u + (v - u) * mpf("1e-29"), (u + v) / 2, v - (v - u) * mpf("1e-29")],
                )
                for u, v in itertools.pairwise(cuts)
            )
            assert close(kernel.mass(low, high), expected, 1e-20), (low, high)
        assert close(kernel.mass(-INFINITY, INFINITY), 1, 1e-28)
        assert close(Recycled(kernel).moment(2), kernel.variance, 1e-18)


def test_discrete_gaussian_normaliser_is_a_theta_function():
    with mp.workdps(40):
        for sigma in (0.2, 0.9, 1.0, 3.3, 12.5):
            nome = mp.exp(-1 / (2 * mpf(sigma) ** 2))
            assert close(DiscreteGaussian(sigma).total(), mpmath.jtheta(3, 0, nome), 1e-35)
        wide, narrow = DiscreteGaussian(601.0), 2 * bell_sums(601.0, mp.dps)[0] - 1
        assert close(wide.total(), narrow, 1e-38)


@pytest.mark.parametrize("digits", [50, 160])
def test_euler_maclaurin_against_the_sum_itself(digits):
    with mp.workdps(digits):
        sums = bell_sums(120.5, digits)
        for start in (0, 1, 100, 1000, 3000):
            assert close(
                bell_sum_by_euler_maclaurin(120.5, mpf(start)), sums[start], mpf(10) ** (-35)
            )


NOISES = [
    (Recycled(Gaussian(0.8)), 1.0),
    (within(Gaussian(2.0), (-3.0, 0.5), 0.9), 1.5),
    (within(Gaussian(5.0), 0.2, 0.25), 1.0),
    (levels(Gaussian(1.5), [(1.0, 1.0), (4.0, 0.3), (INFINITY, 0.02)]), 1.0),
    (within(Laplace(1.5), (0.0, 2.0), 0.5), 1.0),
    (levels(Laplace(0.8), [(0.5, 1.0), (2.5, 0.4), (INFINITY, 0.1)]), 1.0),
    (within(Staircase(0.3, 1.0, 1.2), 1.7, 0.6), 1.0),
    (within(Staircase(0.7, 1.1, 0.4), (-2.0, 1.0), 0.3), 0.6),
]


@pytest.mark.parametrize(("noise", "sensitivity"), NOISES, ids=lambda value: str(value)[:60])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.7])
def test_pieces_against_quadrature(noise, sensitivity, epsilon):
    found, other = (
        curve.delta(noise, sensitivity, epsilon),
        curve.by_quadrature(noise, sensitivity, epsilon),
    )
    assert found == other == 0 or close(found, other, 1e-16)


@pytest.mark.parametrize(("noise", "sensitivity"), NOISES, ids=lambda value: str(value)[:60])
def test_renyi_against_quadrature(noise, sensitivity):
    for order in (1.3, 4):
        expected = renyi.by_quadrature(noise, sensitivity, order)
        assert close(renyi.renyi(noise, sensitivity, order), expected, 1e-14)


INTEGERS = [
    (within(DiscreteLaplace(3.5), 2, 0.4), 1),
    (within(DiscreteLaplace(2.0), (-7, 3), 0.9), 4),
    (levels(DiscreteLaplace(1.1), [(1, 1.0), (4, 0.5), (INFINITY, 0.0)]), 2),
    (within(DiscreteGaussian(2.5), 0, 0.4), 1),
    (within(DiscreteGaussian(4.5), (-2, 9), 0.99), 3),
    (levels(DiscreteGaussian(3.0), [(2, 1.0), (5, 0.3), (INFINITY, 0.01)]), 2),
]


@pytest.mark.parametrize(("noise", "sensitivity"), INTEGERS, ids=lambda value: str(value)[:60])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
def test_term_by_term_against_runs(noise, sensitivity, epsilon):
    for way in (noise, noise.mirrored()):
        one = curve.settle(lambda way=way: lattice.term_by_term(way, sensitivity, mpf(epsilon)))
        other = curve.settle(lambda way=way: lattice.by_runs(way, sensitivity, mpf(epsilon)))
        assert one == other or close(one, other, 1e-18)


def test_parts_hold_every_integer_once():
    for noise, _ in [
        *INTEGERS,
        (Recycled(DiscreteLaplace(1)), 1),
        (within(DiscreteLaplace(1), (0, 3), 1), 1),
    ]:
        for k in range(-12, 13):
            holding = [keep for first, last, keep in noise.parts() if first <= k <= last]
            assert holding == [noise.weight(k)], (noise, k)


def test_deep_deltas_are_numbers():
    """1e-250 is a number, though two masses of 1e-240 are subtracted for it."""
    sigma = 1.0
    deep = curve.delta(Recycled(Gaussian(sigma)), 1.0, 36.0)
    with mp.workdps(700):
        expected = calibrate.gaussian_delta(mpf(sigma), mpf(1), mpf(36))
        assert mpf("1e-300") < deep < mpf("1e-250")
        assert abs(deep / expected - 1) < mpf("1e-19")
