"""On a terminal, whoever waits is told so; elsewhere nothing is written, and nothing stays on the screen."""

from __future__ import annotations

import io
import time

import pytest

from brdp.cli import waiting as module
from brdp.cli.waiting import waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_seconds_are_counted_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    stream = Terminal()
    with waiting(stream, "reading"):
        deadline = time.monotonic() + 10
        while "reading ... 0 s" not in stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    shown = stream.getvalue()
    assert shown.startswith("\rreading ... 0 s")
    assert shown.endswith("\r" + " " * len("reading ... 0 s") + "\r")


def test_what_is_quick_says_nothing() -> None:
    stream = Terminal()
    with waiting(stream, "reading"):
        pass
    assert stream.getvalue() == ""


def test_a_file_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    stream = io.StringIO()
    with waiting(stream, "reading"):
        time.sleep(0.05)
    assert stream.getvalue() == ""


def test_errors_pass_through() -> None:
    with pytest.raises(ValueError, match="mine"), waiting(Terminal(), "reading"):
        raise ValueError("mine")
