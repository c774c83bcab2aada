"""What holds for every test: Hypothesis settings, and an honest word at the end about what was not tested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

# Quick tests draw the same examples on every machine, so that a red build can be repeated at will.
# `--hypothesis-profile=explore` draws new ones, ten times as many. Neither has a deadline: the
# machines that run this are shared, and time is measured in benchmarks/, not in unit tests.
settings.register_profile("repeatable", deadline=None, derandomize=True, print_blob=True)
settings.register_profile(
    "explore",
    deadline=None,
    max_examples=1000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")

if TYPE_CHECKING:
    from tests.ledger.server import Server

NO_POSTGRES = (
    "PostgreSQL is not installed: neither queries in it nor the ledger in it are tested "
    "(make engines installs it)"
)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One PostgreSQL server of our own for the whole run; every test takes a schema of its own."""
    from tests.ledger.server import Server, binaries

    if binaries() is None:
        pytest.skip(NO_POSTGRES)
    pytest.importorskip("psycopg", reason=NO_POSTGRES)
    running = Server()
    yield running
    running.stop()


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Say why a test was skipped; pytest keeps it as the last of (path, line, reason)."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print, in capitals, what this run did not test and why."""
    stats = terminalreporter.stats
    skipped = Counter(_reason(report) for report in stats.get("skipped", []))
    expected = Counter(
        str(getattr(report, "wasxfail", "")) or "no reason given"
        for report in stats.get("xfailed", [])
    )
    slow = sum(1 for item in stats.get("deselected", []) if item.get_closest_marker("slow"))
    lines = [f"{count} SKIPPED: {reason.upper()}" for reason, count in skipped.most_common()]
    lines += [
        f"{count} KNOWN TO FAIL: {reason.upper()}" for reason, count in expected.most_common()
    ]
    if slow:
        lines.append(f"{slow} SLOW TESTS LEFT OUT: `make slow` RUNS THEM")
    if lines:
        terminalreporter.section("NOT TESTED", sep="!", red=True, bold=True)
        for line in lines:
            terminalreporter.write_line(f"NOT TESTED: {line}", red=True)
