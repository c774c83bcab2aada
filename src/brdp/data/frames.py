"""Frames in memory, in a form whose types do not depend on their values."""

from __future__ import annotations

from typing import Any

from brdp import _extras
from brdp.errors import InvalidInput


def registrable(frame: object) -> object:
    """What DuckDB reads: the frame itself, an Arrow table of it, or one without mixed columns."""
    known: Any = frame
    module = type(frame).__module__.partition(".")[0]
    if module == "pandas" and hasattr(frame, "columns"):
        _require_columns(known.columns)
        return _typed(known)
    if module == "polars" and hasattr(frame, "lazy"):
        return _checked(_arrow(known.lazy().collect()))
    # a reader of Arrow batches can be read once, and what a dataset holds cannot be checked beforehand
    if module == "pyarrow" and hasattr(frame, "schema") and hasattr(frame, "validate"):
        _require_valid(known)
        return _checked(known)
    raise InvalidInput(
        "frame",
        expected="a pandas, Polars or Arrow table",
        got=type(frame).__name__,
        remedy="Convert it, or save it as Parquet and give the path.",
    )


def _checked(table: Any) -> Any:
    """An Arrow table that DuckDB can read to its end."""
    _require_columns(table.columns)
    for column in table.columns:
        _require_moments(column)
    return table


def _require_columns(columns: Any) -> None:
    if len(columns) == 0:
        raise InvalidInput("frame", expected="columns", got="none")


def _require_valid(values: Any) -> None:
    """Refuse Arrow values that are not what their type says, such as text that is not UTF-8.

    Arrow does not check them by itself, nor does DuckDB: it sorts such text by a key that text cannot have, and
    what it then adds up is not what is in the table, nor held to any bound.
    """
    try:
        values.validate(full=True)
    except Exception:  # Arrow's own, which quotes values
        raise InvalidInput(
            "frame",
            expected="valid Arrow values, text in UTF-8 among them",
            got="others",
            remedy="Find them with .validate(full=True), and read the data again from where they came.",
        ) from None


def _require_moments(column: Any) -> None:
    """Refuse timestamps of seconds or milliseconds that microseconds cannot hold.

    DuckDB fails where it compares one, or writes it as text, so one row would decide whether a question fails.
    """
    arrow = _extras.require("pyarrow", extra="query")
    kind = column.type
    if not arrow.types.is_timestamp(kind) or kind.unit not in ("s", "ms"):
        return
    try:
        column.cast(arrow.timestamp("us", kind.tz))
    except arrow.ArrowInvalid:  # quotes the value
        raise InvalidInput(
            "frame",
            expected="timestamps that microseconds hold, up to the year 294,247",
            got="others",
            remedy="Make them missing: they are no moments.",
        ) from None


def _arrow(frame: Any) -> Any:
    try:
        return frame.to_arrow()
    except Exception:  # Arrow's or Polars's own; which columns there are decides it, no value does
        raise InvalidInput(
            "frame",
            expected="columns of types that Arrow has",
            got=", ".join(str(kind) for kind in frame.dtypes),
        ) from None


def _typed(frame: Any) -> Any:
    """A pandas frame with every column of objects or categories as text.

    Else the first values would decide the type of such a column, and so one row whether a question fails.
    """
    pandas = _extras.require("pandas", extra="frames")
    for place, kind in enumerate(frame.dtypes):
        if hasattr(kind, "pyarrow_dtype") or getattr(kind, "storage", None) == "pyarrow":
            arrow = _extras.require("pyarrow", extra="query")
            _require_valid(arrow.array(frame.iloc[:, place].array))
        if getattr(kind, "kind", "") == "M":
            arrow = _extras.require("pyarrow", extra="query")
            _require_moments(arrow.array(frame.iloc[:, place]))
    mixed = [
        place
        for place, kind in enumerate(frame.dtypes)
        if kind == object or isinstance(kind, pandas.CategoricalDtype)  # noqa: E721 - a dtype
    ]
    if not mixed:
        return frame
    frame = frame.copy(deep=False)
    for place in mixed:
        column = frame.iloc[:, place].astype(object)
        texts = [
            None if missing else str(value).encode("utf-8", "replace").decode()
            for value, missing in zip(column, column.isna(), strict=True)
        ]
        frame.isetitem(place, pandas.array(texts, dtype="string"))
    return frame
