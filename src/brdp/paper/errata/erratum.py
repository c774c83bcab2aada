"""What an erratum is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Evidence:
    """One setting where the paper says one number and the truth is another."""

    setting: str
    quantity: str
    stated: float
    true: float


@final
@dataclass(frozen=True)
class Frequency:
    """In how many settings of a stated grid a claim fails."""

    claim: str
    grid: str
    broken: int
    settings: int
    short: str
    """What goes wrong in those settings, in a few words, for the figure."""


@final
@dataclass(frozen=True)
class Erratum:
    """One flaw. Texts are Markdown; evidence and frequency are computed when asked for."""

    label: str
    title: str
    where: str
    says: str
    derivation: str
    replacement: str
    evidence: Callable[[], tuple[Evidence, ...]]
    frequency: Callable[[], tuple[Frequency, ...]]
    points: tuple[str, ...] = ()
    """A list under the derivation."""
