"""The recycler's secret in a whole answer: what is told, kept and logged beside the values is always the same."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

import brdp

pandas = pytest.importorskip("pandas")

ROWS = pandas.DataFrame({"user": [f"u{i // 2}" for i in range(400)], "age": range(400)})
QUESTION = "SELECT COUNT(*) AS n WITHIN 3, SUM(age) AS total WITHIN 4000 FROM data CONFIDENCE 0.6"
TIMES = 25
# What has to differ: the answer itself, when it was given, the table's secret, and the hashes over them.
OWN = {"value", "totals", "time", "secret", "previous", "hash"}


def without_own(data: Any) -> Any:
    """Plain data without the values of those names."""
    if isinstance(data, dict):
        return {key: without_own(value) for key, value in data.items() if key not in OWN}
    return [without_own(value) for value in data] if isinstance(data, list) else data


def asked() -> tuple[dict[str, Any], list[Any]]:
    """One answer by a session of its own, and its ledger."""
    with brdp.Session(
        ROWS, unit="user", epsilon=4, delta=1e-6, rows_per_unit=2, bounds={"age": [0, 400]}
    ) as session:
        answer = session.sql(QUESTION).to_dict()
        entries = [json.loads(entry.text) for entry in session._curator.ledger.entries()]
    return answer, entries


def test_only_the_values_differ_between_answers(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """25 answers, of which each value is within its bound with probability .6: all alike has odds below 1e-5."""
    seen: set[str] = set()
    values, inside = [], set()
    with caplog.at_level(logging.DEBUG):
        for _ in range(TIMES):
            answer, entries = asked()
            seen.add(json.dumps(without_own([answer, entries]), sort_keys=True))
            (row,) = answer["rows"]
            values.append(row["cells"]["n"]["value"])
            inside.add(abs(values[-1] - len(ROWS)) <= 3)
    assert len(set(values)) > 3
    assert inside == {True, False}
    assert len(seen) == 1
    told = capfd.readouterr().out + capfd.readouterr().err + caplog.text
    assert not any(f"{value:.0f}" in told for value in set(values))
