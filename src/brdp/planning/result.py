"""A plan, and what else could have been chosen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from brdp.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Kernel,
    Laplace,
    Staircase,
)
from brdp.noise.base import Noise


@final
@dataclass(frozen=True, slots=True)
class Alternative:
    """What one kernel would have given, plain or recycled."""

    kernel: str
    recycled: bool
    noise: Noise
    acceptance: float
    epsilon: float


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """Noise for a stated bound, its acceptance, and the budget it is certified to fit."""

    noise: Noise
    sensitivity: float
    within: float
    acceptance: float
    epsilon: float
    delta: float
    integer: bool
    alternatives: tuple[Alternative, ...]
    count: int = 1

    @property
    def recycles(self) -> bool:
        """Whether the plan recycles; where that does not help, it does not."""
        return self.noise.kernel is not self.noise

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data, in the form that `brdp account` reads back."""
        return {
            **describe(self.noise, within=self.within),
            "acceptance": self.acceptance,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "sensitivity": self.sensitivity,
            "asked_within": self.within,
            "count": self.count,
            "alternatives": [
                {
                    **describe(a.noise, within=self.within),
                    "acceptance": a.acceptance,
                    "epsilon": a.epsilon,
                }
                for a in self.alternatives
            ],
        }

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the noise beside the best plain one, the bound shaded; save it if a path is given."""
        from brdp.planning.plot import plot

        return plot(self, path)

    def __str__(self) -> str:
        lines = [
            repr(self.noise),
            f"within {_number(self.within)} with probability {percent(self.acceptance)}",
            f"costs epsilon {_number(self.epsilon)} at delta {_number(self.delta)} "
            f"for sensitivity {_number(self.sensitivity)}"
            + (f", {self.count} releases together" if self.count > 1 else ""),
        ]
        if not self.recycles:
            lines.append("recycling does not help here: the plain kernel is as good")
        return "\n".join(lines)


def describe(noise: Noise, *, within: float) -> dict[str, Any]:
    """Return noise as plain data: kernel, its parameters, and the recycler's bound and rate or levels."""
    described = _describe_kernel(noise.kernel)
    edges, keeps = noise.recycler.edges, noise.recycler.keeps
    half = 0.5 if noise.lattice else 0.0
    if not edges:
        return described | {"within": within, "rate": 0.0}
    if len(edges) == 2 and keeps[1] == 1 and keeps[0] == keeps[2]:
        low, high = edges[0] + half, edges[1] - half
        return described | {"within": high if low == -high else [low, high], "rate": 1 - keeps[0]}
    middle = len(edges) // 2
    bounds = [edge - half for edge in edges[middle:]]
    levels = [*zip(bounds, keeps[middle:], strict=False), (math.inf, keeps[-1])]
    return described | {"levels": [[bound, keep] for bound, keep in levels]}


def _describe_kernel(kernel: Kernel) -> dict[str, Any]:
    if isinstance(kernel, Laplace):
        return {"kernel": "laplace", "scale": kernel.scale}
    if isinstance(kernel, Gaussian):
        return {"kernel": "gaussian", "scale": kernel.sigma}
    if isinstance(kernel, DiscreteLaplace):
        return {"kernel": "discrete_laplace", "scale": kernel.scale}
    if isinstance(kernel, DiscreteGaussian):
        return {"kernel": "discrete_gaussian", "scale": kernel.sigma}
    if isinstance(kernel, Staircase):
        stairs = {"core": kernel.core, "step": kernel.step, "drop": kernel.drop}
        return {"kernel": "staircase", **stairs, "integer": kernel.integer}
    return {"kernel": repr(kernel)}


def percent(probability: float, *, more: int = 0) -> str:
    """Write a probability as a percentage, with enough digits to tell it from 0 % and from 100 %."""
    if probability in (0, 1):
        return f"{100 * probability:.0f} %"
    if probability < 1e-3:
        return f"{100 * probability:.{2 + more}g} %"
    rarest = min(probability, 1 - probability)
    digits = max(2, 1 + math.ceil(-math.log10(100 * rarest))) + more
    return f"{100 * probability:.{digits}f} %"


def _number(value: float) -> str:
    return f"{value:.6g}"
