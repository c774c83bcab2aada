"""The nearest thing that exists, for the end of an error message."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The known name most like `name`, or None where nothing is like it."""
    by_folded = {known.casefold(): known for known in names}
    # difflib is quadratic in the length, and a name may come from a stranger
    found = difflib.get_close_matches(
        name[:100].casefold(), list(by_folded)[:1000], n=1, cutoff=0.5
    )
    return by_folded[found[0]] if found else None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A remedy that names the nearest thing, or nothing."""
    found = nearest(name, names)
    return f"Did you mean {found!r}?" if found else ""
