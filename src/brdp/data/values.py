"""What becomes of every value inside the engine: rules that cannot fail, whatever the value.

An error that depends on a value tells something about it, and engines fail at different values. So
each rule is an explicit CASE, and no cast sees a value that it could stumble over:

    missing        NULL; NaN; text that is not a number (or longer than 1000), where one is needed
    below, above   the clip bound it lies beyond, minus and plus infinity included
    inside         the nearest step of the resolution, halves upwards

The naive twin in tests/data/twin.py states the same rules in Python.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

from brdp import _extras
from brdp.catalog.clip import Clip
from brdp.catalog.schema import Kind
from brdp.data.kinds import kind_of
from brdp.errors import InvalidInput

DIGITS_OF_DOUBLES = 15  # a decimal of so many digits is one double divided by another, rounded once
LONGEST_NUMBER = 1000  # characters of text that may still be a number


def present(column: Any) -> Any:
    """The column with every NaN made NULL."""
    if not column.type().is_floating():
        return column
    ibis = _extras.require("ibis", extra="query")
    # NaN equals NaN in DuckDB, PostgreSQL and Spark alike
    return column.nullif(ibis.literal(float("nan"), column.type()))


def written(column: Any) -> Any:
    """A column as it is read by a hash: numbers that are no integers by the bits of their doubles, because every
    engine writes them in another way; -0.0 as 0.0, and NaN as missing.
    """
    if kind_of(column.type()) is not Kind.REAL:
        return column
    ibis = _extras.require("ibis", extra="query")
    value = number(column)
    zero = ibis.literal(0.0, "float64")
    return double_bits()(ibis.cases((value == zero, zero), else_=value))


@cache
def double_bits() -> Any:
    """The 64 bits of a double as 16 hexadecimal digits: a macro of ours in DuckDB, put in other terms elsewhere."""
    ibis = _extras.require("ibis", extra="query")

    @ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
    def brdp_double_bits(value: float) -> str:
        raise NotImplementedError  # the engine's

    return brdp_double_bits


def number(column: Any) -> Any:
    """The column as 64-bit integers or doubles; NULL where it is missing or not a number."""
    kind = kind_of(column.type())
    if column.type().is_signed_integer():
        return column.cast("int64")
    if column.type().is_decimal() and (column.type().precision or 38) > DIGITS_OF_DOUBLES:
        # by its digits: DuckDB divides by a power of ten, and rounds twice
        return column.cast("string").cast("float64")
    if kind in (Kind.INTEGER, Kind.REAL):
        return present(column.cast("float64"))
    ibis = _extras.require("ibis", extra="query")
    if kind is Kind.BOOLEAN:
        # not a cast: PostgreSQL has none from booleans to 64 bits
        return ibis.cases((column, ibis.literal(1, "int64")), (~column, ibis.literal(0, "int64")))
    if kind is Kind.TEXT:
        # the length is the same limit in all engines: some read digits without end, some fail at them
        read = present(column.try_cast("float64"))
        return ibis.cases((column.length() <= LONGEST_NUMBER, read))
    raise InvalidInput(
        f"column {column.get_name()}",
        expected="a column of numbers, or of text that can be read as numbers",
        got=f"a column of {kind.value}",
    )


def steps(value: Any, clip: Clip) -> Any:
    """A number (see above), clipped, as an integer number of steps; NULL where it is missing.

    *Guarantee:* never below clip.low_steps, never above clip.high_steps, and never an error.
    """
    ibis = _extras.require("ibis", extra="query")
    low, high = (ibis.literal(bound, "int64") for bound in (clip.low_steps, clip.high_steps))
    if clip.integer and value.type().is_integer():
        return ibis.cases((value <= low, low), (value >= high, high), else_=value)
    value = value.cast("float64")
    below, above = (
        ibis.literal(float(bound * clip.resolution), "float64")
        for bound in (clip.low_steps, clip.high_steps)
    )
    inside = (value > below) & (value < above)
    if clip.resolution > 1:
        # below half a step: nearest to 0 steps, and PostgreSQL fails where a product underflows
        inside &= value.abs() >= 1.0
    # outside of the range the cast sees 0, even in an engine that computes all branches of a CASE
    safe = inside.ifelse(value, ibis.literal(0.0, "float64"))
    nearest = (_scaled(safe, 1 / clip.resolution) + 0.5).floor().cast("int64")
    # the sum with 1/2 is rounded to a double and may end above the range: hold it there again
    held = ibis.least(ibis.greatest(nearest, low), high)
    missing = ibis.null("int64")
    return ibis.cases(
        (value.isnull(), missing), (value <= below, low), (value >= above, high), else_=held
    )


def bin_index(value: Any, edges: tuple[Fraction, ...]) -> Any:
    """The number of a value's bin [e0, e1), [e1, e2), ..., the last with its upper edge; NULL outside of all."""
    ibis = _extras.require("ibis", extra="query")
    value = value.cast("float64")
    first, *inner, last = (ibis.literal(float(edge), "float64") for edge in edges)
    outside = value.isnull() | (value < first) | (value > last)

    def among(low: int, high: int) -> Any:
        # by halves: with thousands of bins, a value meets a dozen comparisons and not thousands
        if low == high:
            return ibis.literal(low, "int64")
        middle = (low + high) // 2
        return (value < inner[middle]).ifelse(among(low, middle), among(middle + 1, high))

    return ibis.cases((outside, ibis.null("int64")), else_=among(0, len(inner)))


def _scaled(value: Any, factor: Fraction) -> Any:
    # a power of two: the product is exact
    return value if factor == 1 else value * float(factor)
