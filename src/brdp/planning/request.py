"""What a plan is asked for, and what a search puts forward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from brdp.noise.base import Noise


@final
@dataclass(frozen=True, slots=True)
class Budget:
    """One release that must stay (epsilon, delta)-private, judged by how often it is within a bound."""

    sensitivity: float
    within: float
    epsilon: float
    delta: float


@final
@dataclass(frozen=True, slots=True)
class Candidate:
    """A noise that is certified to fit a budget, with its acceptance."""

    noise: Noise
    acceptance: float

    @classmethod
    def of(cls, noise: Noise, within: float) -> Candidate:
        """Judge a noise by the bound that was asked for."""
        return cls(noise, noise.acceptance(within=within))
