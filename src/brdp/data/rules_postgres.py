"""What PostgreSQL says in its own way: md5, and text that may be a number but must not fail as one.

PostgreSQL has no cast that yields NULL where it cannot read a text: it raises, and for numbers that are
too large or too small for a double as well. So each cast stands in a CASE behind a condition under
which it cannot fail. (PostgreSQL computes a branch of CASE only where its condition holds, constants
apart, and columns are none.)
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

from brdp import _extras
from brdp.data.bounding import md5_order
from brdp.data.rewrite import INFINITE, Rule, infinite_by_sign, reads_as_number
from brdp.data.values import double_bits

# digits, no exponent and at most so many of them: certainly within the range of doubles
PLAIN = r"^[^eE]*$"
LONGEST_PLAIN = 300
NOT_ZERO = "^[^eE]*[1-9]"
# an exponent of five digits or more decides by itself: the text has at most 1000 characters
HUGE = "[eE][+]?0*[1-9][0-9]{4}"
TINY = "[eE][-]0*[1-9][0-9]{4}"


def _text(number: Decimal) -> str:
    return format(number, "f")


with localcontext() as context:
    context.prec = 2000
    # from here on upwards the nearest double is infinite; up to there it is 0 (ties go to the even)
    OVERFLOW = _text(Decimal(2) ** 1024 - Decimal(2) ** 970)
    UNDERFLOW = _text(Decimal(2) ** -1075)


@cache
def postgres_rules() -> Mapping[type, Rule]:
    """For rewrite.rewritten."""
    ibis = _extras.require("ibis", extra="query")
    operations = _extras.require("ibis.expr.operations", extra="query")

    @ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
    def md5(text: str) -> str:
        raise NotImplementedError  # the server's own

    @ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
    def name(text: str) -> str:
        raise NotImplementedError  # a type of the server's, whose texts are compared byte by byte

    def digest(operation: Any) -> Any:
        if operation.how != "md5":
            raise TypeError(f"only md5, not {operation.how}")
        return digest_of(operation.arg.to_expr())

    def order(operation: Any) -> Any:
        return digest_of(operation.args[0].to_expr())

    def digest_of(text: Any) -> Any:
        # In the order of its digits whatever the database's language: to Danish, "aa" comes after "f". A text with a
        # name in it is compared as names are; a name made of a text would be compared as texts are.
        return md5(text + name(""))

    def number(operation: Any) -> Any:
        if not (operation.arg.dtype.is_string() and operation.to.is_float64()):
            raise TypeError("only text to doubles")
        return number_in_text(operation.arg.to_expr())

    @ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
    def float8send(value: float) -> bytes:
        raise NotImplementedError  # the server's own

    @ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
    def encode(value: bytes, form: str) -> str:
        raise NotImplementedError  # the server's own

    def bits(operation: Any) -> Any:
        (value,) = operation.args
        return encode(float8send(value.to_expr()), "hex")

    return {
        operations.HexDigest: digest,
        operations.TryCast: number,
        type(double_bits()(0.0).op()): bits,
        type(md5_order()("").op()): order,
    }


def number_in_text(text: Any) -> Any:
    """The double nearest to what a text says, NULL where it is none; never an error."""
    ibis = _extras.require("ibis", extra="query")
    digits = text.replace("_", "")
    numeric = digits.cast("decimal")
    zero = ibis.literal(0.0, "float64")
    return ibis.cases(
        (text.re_search(INFINITE), infinite_by_sign(text)),
        (~reads_as_number(text), ibis.null("float64")),
        (~text.re_search(NOT_ZERO), zero),
        (text.re_search(PLAIN) & (text.length() <= LONGEST_PLAIN), digits.cast("float64")),
        (digits.re_search(HUGE), infinite_by_sign(text)),
        (digits.re_search(TINY), zero),
        (numeric.abs() >= ibis.literal(OVERFLOW).cast("decimal"), infinite_by_sign(text)),
        (numeric.abs() <= ibis.literal(UNDERFLOW).cast("decimal"), zero),
        else_=digits.cast("float64"),
    )


def double_of_numeric(column: str) -> str:
    """SQL for a numeric column of any size as doubles; NaN stays NaN."""
    return (
        f"CASE WHEN {column} = 'NaN' THEN 'NaN'::float8 "
        f"WHEN {column} >= {OVERFLOW} THEN 'Infinity'::float8 "
        f"WHEN {column} <= -{OVERFLOW} THEN '-Infinity'::float8 "
        f"WHEN abs({column}) <= {UNDERFLOW} THEN 0::float8 ELSE {column}::float8 END"
    )
