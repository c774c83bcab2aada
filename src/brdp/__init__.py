"""Differential privacy that starts from the error you can accept."""

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
    "Staircase",
    "compose",
    "parallel",
    "plan",
    "subsample",
]
