"""What Spark says in its own way: which texts are numbers, how an instant is written, and sums that must
not wrap around.

Java reads '1d', '2f' and hexadecimal as numbers; and Spark adds 64-bit integers in 64 bits, which a few
million rows of 2^41 steps can overflow.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from brdp import _extras
from brdp.data.bounding import md5_order
from brdp.data.rewrite import INFINITE, Rule, infinite_by_sign, reads_as_number
from brdp.data.values import double_bits


@cache
def spark_rules() -> Mapping[type, Rule]:
    """For rewrite.rewritten."""
    ibis = _extras.require("ibis", extra="query")
    operations = _extras.require("ibis.expr.operations", extra="query")

    def number(operation: Any) -> Any:
        if not (operation.arg.dtype.is_string() and operation.to.is_float64()):
            raise TypeError("only text to doubles")
        text = operation.arg.to_expr()
        return ibis.cases(
            (text.re_search(INFINITE), infinite_by_sign(text)),
            # Java's $ also matches before a last line break, which the reading of the digits trims
            (
                reads_as_number(text),
                operations.TryCast(text.replace("_", ""), "float64").to_expr(),
            ),
        )

    @ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
    def monotonically_increasing_id() -> int:
        raise NotImplementedError  # Spark's own

    def numbered(operation: Any) -> Any:
        window = operation
        if isinstance(window.func, operations.RowNumber) and not (
            window.group_by or window.order_by
        ):
            # a number for every row, without bringing all rows to one place
            return monotonically_increasing_id()
        return window.to_expr()

    def total(operation: Any) -> Any:
        if not operation.arg.dtype.is_int64():
            return operation.to_expr()
        # 19 digits hold every 64-bit integer, and the sum has 10 more: 10^13 rows of 2^53 steps
        wide = operation.arg.to_expr().cast("decimal(19, 0)")
        where = None if operation.where is None else operation.where.to_expr()
        return operations.Sum(wide, where=where).to_expr()

    def written(operation: Any) -> Any:
        if not (operation.to.is_string() and getattr(operation.arg.dtype, "timezone", None)):
            return operation.to_expr()
        return operation.to_expr() + ibis.literal("+00")  # as DuckDB and PostgreSQL write UTC

    @ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
    def java_method(owner: str, method: str, value: float) -> str:
        raise NotImplementedError  # Spark's own

    @ibis.udf.scalar.builtin(name="hex")  # type: ignore[untyped-decorator]
    def hexadecimal(value: int) -> str:
        raise NotImplementedError  # Spark's own

    def bits(operation: Any) -> Any:
        value = operation.args[0].to_expr()
        # Java cannot be called with NULL
        number = java_method("java.lang.Double", "doubleToLongBits", value.fill_null(0.0))
        digits = hexadecimal(number.cast("int64")).lpad(16, "0").lower()
        return ibis.cases((value.notnull(), digits))

    def order(operation: Any) -> Any:
        return operation.args[0].to_expr().hexdigest("md5")

    return {
        type(md5_order()("").op()): order,
        type(double_bits()(0.0).op()): bits,
        operations.TryCast: number,
        operations.Sum: total,
        operations.Cast: written,
        operations.WindowFunction: numbered,
    }
