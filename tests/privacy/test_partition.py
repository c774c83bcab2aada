"""Which private groups are named: the optimal law, its exact privacy, and how often it really names them."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brdp.errors import InvalidInput, NotPossible
from brdp.privacy.partition import PartitionSelection

SETTINGS = [(1.0, 1e-5, 1), (1.0, 1e-5, 3), (0.1, 1e-6, 1), (3.0, 1e-9, 5), (0.5, 0.01, 2), (20.0, 1e-12, 1),
            (0.01, 0.2, 1), (2000.0, 1e-6, 1)]  # fmt: skip


def twin(epsilon, delta, groups, largest):
    """The law in 120 digits, as it is printed."""
    with mpmath.workdps(120):
        a = mpmath.exp(mpmath.mpf(epsilon) / groups)
        share = mpmath.mpf(delta) / groups
        law = [mpmath.mpf(0)]
        for _ in range(largest):
            law.append(min(a * law[-1] + share, 1 - (1 - law[-1] - share) / a, mpmath.mpf(1)))
        return law


def exact(number):
    return mpmath.mpf(number.numerator) / number.denominator


@pytest.mark.parametrize(("epsilon", "delta", "groups"), SETTINGS)
def test_the_law_is_the_optimal_one(epsilon, delta, groups):
    selection = PartitionSelection(epsilon=epsilon, delta=delta, groups=groups)
    law = twin(epsilon, delta, groups, 200)
    with mpmath.workdps(120):
        for units in range(201):
            found = exact(selection.probability(units=units))
            # never above, and below by nothing that matters
            assert found <= law[units]
            assert law[units] - found <= law[units] * mpmath.mpf(10) ** -30


def worst(selection, largest):
    """How far the law breaks its promise between any two neighbouring counts: at most 0."""
    # e^epsilon from below: the promise is checked more strictly than it was given
    with mpmath.workdps(100):
        below = mpmath.exp(mpmath.mpf(selection.epsilon) / selection.groups)
        a = Fraction(int(mpmath.floor(below * 2**250)), 2**250)
    share = Fraction(selection.delta) / selection.groups
    law = [selection.probability(units=units) for units in range(largest + 1)]
    found = []
    for p, q in itertools.pairwise(law):
        for x, y in ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p)):
            found.append(x - a * y - share)
    return max(found), law


@pytest.mark.parametrize(("epsilon", "delta", "groups"), SETTINGS)
def test_it_is_private_exactly(epsilon, delta, groups):
    selection = PartitionSelection(epsilon=epsilon, delta=delta, groups=groups)
    broken, law = worst(selection, 300)
    # a tiny slack for e^epsilon alone, which the check rounds at its 250th bit and the law at its 80th digit
    assert broken <= Fraction(1, 2**240)
    assert all(p <= q for p, q in itertools.pairwise(law))
    assert law[0] == 0


@given(
    st.floats(1e-3, 50),
    st.floats(1e-12, 0.5),
    st.integers(1, 20),
)
def test_it_is_private_exactly_whatever_the_budget(epsilon, delta, groups):
    broken, _ = worst(PartitionSelection(epsilon=epsilon, delta=delta, groups=groups), 60)
    assert broken <= Fraction(1, 2**170)


def test_control_the_check_of_privacy_can_fail():
    selection = PartitionSelection(epsilon=1.0, delta=1e-5)
    selection.probability(units=100)
    law = selection._law[0]
    selection._law[0] = (*law[:10], law[10] + (law[10] >> 60), *law[11:])
    assert worst(selection, 50)[0] > Fraction(1, 2**100)


DRAWS = 20_000


def named(selection, units, rng):
    return sum(selection.keeps(units=units, random_bits=rng.getrandbits) for _ in range(DRAWS))


def surprising(count, probability):
    """Whether a count is one that its law shows less often than 1e-9 (Bernstein's bound, both sides)."""
    mean = DRAWS * probability
    off = abs(count - mean)
    # 2 exp(-t^2 / (2 (variance + t/3)))
    return 2 * math.exp(-(off**2) / (2 * (mean * (1 - probability) + off / 3) + 1e-300)) < 1e-9


def test_how_often_groups_are_named():
    # 100 frequencies, each false at most once in 1e9: a false alarm less than once in 1e7 runs (and the seed is
    # fixed)
    rng = random.Random(1)
    for epsilon, delta, groups in ((1.0, 1e-3, 2), (0.5, 1e-2, 1)):
        selection = PartitionSelection(epsilon=epsilon, delta=delta, groups=groups)
        law = twin(epsilon, delta, groups, 50)
        for units in range(1, 51):
            assert not surprising(named(selection, units, rng), float(law[units]))


def test_control_a_wrong_law_is_noticed():
    # the law for half as many groups is named too often for this one
    rng = random.Random(2)
    law = twin(1.0, 1e-3, 2, 50)
    other = PartitionSelection(epsilon=1.0, delta=1e-3, groups=1)
    noticed = sum(surprising(named(other, units, rng), float(law[units])) for units in range(1, 51))
    assert noticed > 5


def test_operating_system_bits_by_default():
    selection = PartitionSelection(epsilon=1.0, delta=0.5)
    found = [selection.keeps(units=1) for _ in range(200)]
    assert 20 < sum(found) < 180  # 200 fair coins miss this less than once in 10^30


@pytest.mark.parametrize("groups", [1, 4])
def test_units_for(groups):
    selection = PartitionSelection(epsilon=1.0, delta=1e-5, groups=groups)
    units = selection.units_for(probability=0.95)
    assert selection.probability(units=units) >= 0.95 > selection.probability(units=units - 1)
    assert selection.probability(units=10**9) == 1
    assert not selection.keeps(units=0)


def test_equal_values_are_equal():
    first, second = (PartitionSelection(epsilon=1.0, delta=1e-5) for _ in range(2))
    first.probability(units=30)
    assert first == second
    assert hash(first) == hash(second)


def test_what_is_refused():
    with pytest.raises(NotPossible):
        PartitionSelection(epsilon=1.0, delta=0.0)
    wrong = [(0.0, 0.1, 1), (1.0, 1.0, 1), (1.0, 0.1, 0), (1e-8, 1e-12, 1), (math.inf, 0.1, 1)]
    for epsilon, delta, groups in wrong:
        with pytest.raises(InvalidInput):
            PartitionSelection(epsilon=epsilon, delta=delta, groups=groups)
    for units in (-1, 1.5, True):
        with pytest.raises(InvalidInput):
            PartitionSelection(epsilon=1.0, delta=0.1).keeps(units=units)
