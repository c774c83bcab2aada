"""Differential privacy that starts from the error you can accept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brdp.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Kernel,
    Laplace,
    Noise,
    Recycled,
    Recycler,
    Staircase,
)
from brdp.planning import Plan, plan
from brdp.privacy import Curve, compose, parallel, subsample

if TYPE_CHECKING:
    from brdp.curator import Session
    from brdp.curator import open_curator as open
    from brdp.query import column, table

__version__ = "0.1.0"

__all__ = [
    "Curve",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Gaussian",
    "Kernel",
    "Laplace",
    "Noise",
    "Plan",
    "Recycled",
    "Recycler",
    "Session",
    "Staircase",
    "column",
    "compose",
    "open",
    "parallel",
    "plan",
    "subsample",
    "table",
]

# What asks questions of data is loaded when it is first used: planning and accounting do without it.
_LATER = {
    "Session": ("brdp.curator", "Session"),
    "open": ("brdp.curator", "open_curator"),
    "column": ("brdp.query", "column"),
    "table": ("brdp.query", "table"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'brdp' has no attribute {name!r}")
    import importlib

    module, attribute = _LATER[name]
    return getattr(importlib.import_module(module), attribute)
