"""The table that comes with brdp: the UCI Adult census income data (CC BY 4.0; see ATTRIBUTION.md
beside this file).
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["adult_attribution", "adult_path"]


def adult_path() -> Path:
    """The Adult table: a gzip CSV of 48,842 rows with a line of column names; `?` marks a missing
    value.
    """
    return Path(__file__).with_name("adult.csv.gz")


def adult_attribution() -> str:
    """Whose data it is, under which licence, and what was changed."""
    return Path(__file__).with_name("ATTRIBUTION.md").read_text(encoding="utf-8")
