"""Clip ranges and their lattice, exactly."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

import pytest

from brdp.catalog import Clip
from brdp.catalog.clip import floor_log2, nearest_step
from brdp.catalog.exact import exact, text_of
from brdp.errors import InvalidInput


def test_integers_have_steps_of_one():
    clip = Clip(Fraction(-5), Fraction(2**53), integer=True)
    assert (clip.resolution, clip.low_steps, clip.high_steps, clip.rounding) == (1, -5, 2**53, 0)


def test_the_resolution_is_a_power_of_two_at_the_stated_fineness():
    rng = random.Random(1)
    for _ in range(300):
        low, high = sorted(
            Fraction(rng.randrange(-(10**9), 10**9), rng.randrange(1, 10**6)) for _ in range(2)
        )
        if low == high:
            continue
        clip = Clip(low, high)
        bound = max(abs(low), abs(high))
        assert Fraction(1, 2**41) < clip.resolution / bound <= Fraction(1, 2**40)
        assert clip.resolution.numerator == 1 or clip.resolution.denominator == 1
        assert (clip.resolution.numerator * clip.resolution.denominator).bit_count() == 1
        # a billion rows rounded by half a step each stay below a thousandth of the bound
        assert 10**9 * clip.rounding < bound / 1000
        # what the engine compares with are doubles, exactly
        for steps in (clip.low_steps, clip.high_steps):
            assert Fraction(float(steps * clip.resolution)) == steps * clip.resolution


def test_halves_go_up():
    assert [nearest_step(Fraction(n, 2), resolution=Fraction(1)) for n in (-3, -1, 1, 3)] == [
        -1,
        0,
        1,
        2,
    ]


def test_rounding_commutes_with_whole_steps():
    for numerator in range(-40, 40):
        value = Fraction(numerator, 7)
        assert (
            nearest_step(value + 3, resolution=Fraction(1))
            == nearest_step(value, resolution=Fraction(1)) + 3
        )


@pytest.mark.parametrize(
    "value", [Fraction(1), Fraction(3, 4), Fraction(2**70), Fraction(1, 2**70), Fraction(7, 5)]
)
def test_floor_log2(value):
    power = floor_log2(value)
    assert Fraction(2) ** power <= value < Fraction(2) ** (power + 1)


def test_numbers_as_people_write_them():
    assert exact(0.1, argument="x") == exact(Decimal("0.1"), argument="x") == Fraction(1, 10)
    assert [text_of(Fraction(text)) for text in ("20", "0.5", "-1.25", "1/3")] == [
        "20",
        "0.5",
        "-1.25",
        "1/3",
    ]
    for wrong in (
        True,
        None,
        "1",
        float("nan"),
        float("inf"),
        Decimal("1e999999"),
        Decimal("NaN"),
        10**400,
        1j,
    ):
        with pytest.raises(InvalidInput):
            exact(wrong, argument="x")
