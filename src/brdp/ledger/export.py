"""The ledger for other programs: JSON lines, and the events of dp-accounting."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from brdp.ledger.entry import EntryKind
from brdp.ledger.ledger import Ledger
from brdp.noise import DiscreteGaussian
from brdp.noise.base import Noise
from brdp.noise.describe import read_noise

UNSUPPORTED = {"event": "UnsupportedDpEvent"}
# more than the rounding of a handful of operations
UP = 1 + 1e-12


def json_lines(ledger: Ledger) -> Iterator[str]:
    """Every entry as one line of JSON, with its hash."""
    for entry in ledger.entries():
        yield json.dumps({**entry.body, "hash": entry.hash}, sort_keys=True)


def dp_events(ledger: Ledger, *, table: str | None = None) -> Iterator[Any]:
    """Every charge as plain data for an event of dp-accounting: its class's name and arguments.

    Guarantee: an accountant that composes the events bounds what was released, or refuses. dp-accounting has
    no event for most noise here: pure noise becomes the randomised response of its largest loss, which is
    the worst there is; a discrete Gaussian its zero-concentrated bound; anything else an
    UnsupportedDpEvent. A release of a sample is told as one of everybody, which costs more.

    Give the accountant NeighboringRelation.REPLACE_ONE, which is how dp-accounting reads
    a randomised response, whatever the table's own relation is.
    """
    for entry in ledger.entries():
        if entry.kind is not EntryKind.CHARGE or table not in (None, entry.table):
            continue
        events = [event for release in entry.body["releases"] for event in _events(release)]
        yield {"event": "ComposedDpEvent", "events": events, "charge": entry.seq}


def _events(release: Any) -> list[dict[str, Any]]:
    if "spend" in release:
        epsilon, delta = release["spend"]["epsilon"], release["spend"]["delta"]
        return [UNSUPPORTED if delta > 0 else _pure(epsilon)]
    single = _single(read_noise(release["noise"]), int(release["sensitivity"]))
    # one by one: the PLD accountant of dp-accounting 0.6.0 counts a self-composed randomised response once
    return [single] if single == UNSUPPORTED else [single] * int(release["count"])


def _single(noise: Noise, sensitivity: int) -> dict[str, Any]:
    if isinstance(noise, DiscreteGaussian):
        return {"event": "ZCDpEvent", "rho": (sensitivity / noise.sigma) ** 2 / 2 * UP}
    largest = noise.privacy(sensitivity=sensitivity).largest_loss
    return _pure(largest) if math.isfinite(largest) else UNSUPPORTED


def _pure(epsilon: float) -> dict[str, Any]:
    # answers at random with this probability, else with the truth
    parameter = 2 / (1 + math.exp(epsilon * UP)) if epsilon < 700 else 0.0
    return {"event": "RandomizedResponseDpEvent", "noise_parameter": parameter, "num_buckets": 2}
