"""The lattice: every statement about rounding, tried in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brdp.errors import InvalidInput, NotPossible
from brdp.noise.lattice import (
    COUNT,
    FINENESS,
    WIDEST_SCALE,
    Resolution,
    floor_log2,
    power_of_two,
    resolution_for,
)

positive = st.one_of(
    st.floats(min_value=1e-290, max_value=1e290, allow_subnormal=False),
    st.integers(min_value=1, max_value=10**60),
    st.fractions(min_value=Fraction(1, 10**40), max_value=10**40),
)
totals = st.integers(min_value=-(2**126), max_value=2**126)
gaps = st.integers(min_value=0, max_value=60)


@given(positive, positive)
def test_the_resolution_is_the_largest_power_of_two_allowed(
    sensitivity: float, within: float
) -> None:
    step = resolution_for(sensitivity=sensitivity, within=within).step
    finest = min(Fraction(sensitivity), Fraction(within))
    assert step * FINENESS <= finest < 2 * step * FINENESS


@given(positive, positive, positive)
def test_the_scale_counts_too_and_the_table_has_the_last_word(
    sensitivity: float, within: float, scale: float
) -> None:
    step = resolution_for(sensitivity=sensitivity, within=within, scale=scale).step
    finest = min(Fraction(sensitivity), Fraction(within), Fraction(scale))
    assert Fraction(scale) / step <= WIDEST_SCALE
    if step * FINENESS > finest:
        # coarser than wanted, and then only as coarse as the table asks
        assert Fraction(scale) / (step / 2) > WIDEST_SCALE
    else:
        assert finest < 2 * step * FINENESS


@given(positive)
def test_floor_log2(x: float) -> None:
    e = floor_log2(Fraction(x))
    assert power_of_two(e) <= Fraction(x) < power_of_two(e + 1)


@given(totals, st.integers(min_value=0, max_value=2**80), gaps, st.integers(-40, 40))
def test_sensitivity_survives_rounding(total: int, move: int, gap: int, base: int) -> None:
    data, noise = Resolution(base), Resolution(base + gap)
    sensitivity = move * data.step
    allowed = noise.steps(sensitivity) if move else 0
    for moved in (total + move, total - move):
        there = noise.round_total(moved, data=data)
        assert abs(there - noise.round_total(total, data=data)) <= allowed


@given(totals, gaps, st.integers(-40, 40))
def test_rounding_is_the_formula_and_errs_by_at_most_half(total: int, gap: int, base: int) -> None:
    data, noise = Resolution(base), Resolution(base + gap)
    y, r = total * data.step, noise.step
    rounded = noise.round_total(total, data=data)
    assert rounded == math.floor((2 * y + r) / (2 * r))
    assert abs(rounded * r - y) <= r / 2


@pytest.mark.parametrize(
    "rounding", [round, lambda x: math.floor(abs(x) + Fraction(1, 2)) * (1 if x >= 0 else -1)]
)
def test_control_other_roundings_break_the_sensitivity(rounding) -> None:  # type: ignore[no-untyped-def]
    """Half-even sends .5 and 1.5 to 0 and 2; half-away sends -.5 and .5 to -1 and 1."""
    worst = max(abs(rounding(y + 1) - rounding(y)) for y in (Fraction(n, 2) for n in range(-9, 10)))
    assert worst == 2


@given(
    totals,
    gaps,
    st.integers(-40, 40),
    st.fractions(min_value=Fraction(1, 100), max_value=10**6),
    st.fractions(min_value=0, max_value=1),
    st.sampled_from([-1, 1]),
)
def test_within_holds_after_every_rounding(
    total: int, gap: int, base: int, ratio: Fraction, share: Fraction, sign: int
) -> None:
    data, noise = Resolution(base), Resolution(base + gap)
    within = ratio * noise.step
    data_rounding = share * within / 2
    try:
        bound = noise.bound(within, data=data, data_rounding=data_rounding)
    except InvalidInput:
        assert within - data_rounding < noise.step / 2
        return
    truth = total * data.step + sign * data_rounding
    rounded = noise.round_total(total, data=data)
    for steps in (-bound, bound):
        assert abs((rounded + steps) * noise.step - truth) <= within
    # and one step more could break it: the worst total and the worst rounding of the rows
    half = noise.step / 2 if gap else 0
    assert (bound + 1) * noise.step + half + data_rounding > within


def test_counts_are_the_lattice_of_whole_numbers() -> None:
    assert COUNT.step == 1
    assert COUNT.steps(1) == 1
    assert COUNT.bound(3, data=COUNT) == 3
    assert COUNT.bound(3.7, data=COUNT) == 3
    assert COUNT.bound(0.5, data=COUNT) == 0
    assert COUNT.round_total(17, data=COUNT) == 17
    assert COUNT.to_float(-17) == -17.0


@given(st.integers(-(2**53) + 1, 2**53 - 1), st.integers(-1074, 970))
def test_answers_are_exact_floats(steps: int, exponent: int) -> None:
    resolution = Resolution(exponent)
    answer = resolution.to_float(steps)
    assert math.isfinite(answer)
    assert Fraction(answer) == steps * resolution.step


@pytest.mark.parametrize("steps", [2**53, -(2**53), 2**70])
def test_answers_that_no_float_holds_are_refused_without_a_word_of_them(steps: int) -> None:
    with pytest.raises(NotPossible, match=r"2\^53") as caught:
        Resolution(-3).to_float(steps)
    assert str(steps) not in str(caught.value)


def test_totals_do_not_show_in_errors() -> None:
    with pytest.raises(InvalidInput) as caught:
        COUNT.round_total(123456.75, data=COUNT)  # type: ignore[arg-type]
    assert "123456" not in str(caught.value)


@pytest.mark.parametrize("bad", [0, -1, 0.0, math.nan, math.inf, "3", True, Fraction(-1, 3)])
def test_bad_numbers_are_refused(bad: object) -> None:
    with pytest.raises(InvalidInput, match="sensitivity"):
        resolution_for(sensitivity=bad, within=1.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="within"):
        resolution_for(sensitivity=1, within=bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="sensitivity"):
        COUNT.steps(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("exponent", [-1075, 971, 1.0, True])
def test_bad_exponents_are_refused(exponent: object) -> None:
    with pytest.raises(InvalidInput, match="exponent"):
        Resolution(exponent)  # type: ignore[arg-type]


def test_numbers_too_small_for_a_lattice_are_refused() -> None:
    with pytest.raises(InvalidInput, match="sensitivity, within"):
        resolution_for(sensitivity=5e-324, within=1)


def test_a_bound_below_the_rounding_is_refused() -> None:
    with pytest.raises(InvalidInput, match="within"):
        Resolution(0).bound(0.25, data=Resolution(-5))
