"""A word on the terminal while something takes longer than two seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

PATIENCE = 2.0  # seconds


@contextmanager
def waiting(stream: TextIO, what: str) -> Iterator[None]:
    """Count the seconds on a terminal, once there are two of them, and wipe the line at the end."""
    if not stream.isatty():
        yield
        return
    done, start = threading.Event(), time.monotonic()

    def tell() -> None:
        if done.wait(PATIENCE):
            return
        text = ""
        while not done.wait(1.0 if text else 0.0):
            text = f"{what} ... {time.monotonic() - start:.0f} s"
            stream.write(f"\r{text}")
            stream.flush()
        stream.write("\r" + " " * len(text) + "\r")
        stream.flush()

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()
