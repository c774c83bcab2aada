"""A run must say what it did not test: skips, expected failures and slow tests, with their reasons."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SAMPLE = """
import pytest

@pytest.mark.skip(reason="no engine here")
def test_skipped(): pass

def test_skipped_inside(): pytest.skip("no engine here")

@pytest.mark.xfail(reason="known defect 7", strict=True)
def test_expected_to_fail(): assert False

@pytest.mark.slow
def test_long(): pass

def test_plain(): pass
"""


def run(directory: Path, sample: str) -> str:
    """The output of a quick run over one sample file, under this suite's own conftest."""
    shutil.copy(HERE / "conftest.py", directory)
    (directory / "test_sample.py").write_text(sample)
    (directory / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow: long\n")
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider"]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True).stdout


def test_what_was_left_out_is_said(tmp_path: Path) -> None:
    output = run(tmp_path, SAMPLE)
    assert "NOT TESTED: 2 SKIPPED: NO ENGINE HERE" in output
    assert "NOT TESTED: 1 KNOWN TO FAIL: KNOWN DEFECT 7" in output
    assert "NOT TESTED: 1 SLOW TESTS LEFT OUT: `make slow` RUNS THEM" in output


def test_nothing_is_said_when_all_was_tested(tmp_path: Path) -> None:
    output = run(tmp_path, "def test_plain(): pass\n")
    assert "1 passed" in output
    assert "NOT TESTED" not in output
