"""Answers and prices on a terminal: bounds are never shown smaller, nor chances larger, than they are."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brdp.curator.display import bound, number, percent


@pytest.mark.parametrize(
    ("within", "shown"),
    [(20.0, "20"), (10_000.0, "10,000"), (0.5, "0.5"), (123456.5, "123,456.5"), (0.808651234, "0.8087"), (0.0, "0"),
     (99999.00000001, "100,000"), (1e100, "1e+100"), (3e-7, "3e-7"), (1234567.891011, "1,235,000")],
)  # fmt: skip
def test_bounds(within: float, shown: str) -> None:
    assert bound(within) == shown


@pytest.mark.parametrize(
    ("chance", "shown"),
    [(0.95, "95 %"), (0.98729, "98.72 %"), (0.999999, "99.9999 %"), (0.99999999, "99.999999 %"), (1.0, "100 %"),
     (0.001, "0.1 %"), (0.0, "0 %")],
)  # fmt: skip
def test_percents(chance: float, shown: str) -> None:
    assert percent(chance) == shown


@pytest.mark.parametrize(
    ("value", "within", "shown"),
    [(3566.0, 20.0, "3,566"), (-3.0, None, "-3"), (36.956312, 0.5, "36.956"), (2543667.28125, 1e4, "2,543,667"),
     (2543667.28125, 0.07, "2,543,667.2812"), (1.23456789, None, "1.23457"), (float("inf"), 1.0, "inf"),
     (1e20, 1.0, "1e+20"), (0.000123456, 1e-6, "0.00012346")],
)  # fmt: skip
def test_numbers(value: float, within: float | None, shown: str) -> None:
    assert number(value, within) == shown


@given(st.floats(1e-30, 1e30))
def test_a_bound_is_never_shown_smaller(within: float) -> None:
    shown = Fraction(bound(within).replace(",", ""))
    assert Fraction(repr(within)) <= shown <= Fraction(repr(within)) * Fraction(1002, 1000)


@given(st.floats(0, 1))
def test_a_chance_is_never_shown_larger(chance: float) -> None:
    shown = Fraction(percent(chance).removesuffix(" %")) / 100
    exact = Fraction(repr(chance))
    assert shown <= exact
    assert chance == 1 or (1 - shown) <= (1 - exact) * 2 + Fraction(1, 10_000)
