"""Which process is at work on a charge, so that a dead one's work can be taken over at once."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from functools import lru_cache
from pathlib import Path


def this_process() -> str:
    """A name for this process that no other will have: machine, its boot, number and start."""
    return _named(os.getpid())


@lru_cache(maxsize=1)
def _named(pid: int) -> str:
    # by number: a fork has another
    return f"{_machine()}/{pid}/{_started(pid)}"


def may_be_alive(holder: str) -> bool:
    """False only where the holder is known to have ended: it ran on this machine, and is gone."""
    machine, _, rest = holder.rpartition("/")[0].rpartition("/")
    started = holder.rpartition("/")[2]
    if machine != _machine() or not rest.isdigit():
        return True
    found = _started(int(rest))
    return found == started if found else _signalled(int(rest))


def _signalled(pid: int) -> bool:
    if Path("/proc/self/stat").exists():
        return False  # had it been there, its start would have been read
    with suppress(PermissionError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    return True


@lru_cache(maxsize=1)
def _machine() -> str:
    boot = ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{socket.gethostname()}/{boot}"


def _started(pid: int) -> str:
    """When a process started, in ticks since boot; empty where that cannot be told."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # the second field is the command in brackets, and may hold spaces
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]
