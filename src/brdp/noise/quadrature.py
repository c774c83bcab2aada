"""Gauss-Legendre nodes on [0, 1], enough for every smooth integrand of this library.

48 nodes integrate exp(-y^2/2) over 19 standard deviations to 1e-14, and exp(-t) over t <= 45 likewise;
no caller asks for a steeper integrand than that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_nodes, _weights = np.polynomial.legendre.leggauss(48)
NODES = 0.5 * (_nodes + 1.0)
WEIGHTS = 0.5 * _weights


def log_integral(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """log of the integral over [0, 1] of exp(logs), given at NODES along the last axis."""
    peak = np.max(logs, axis=-1, keepdims=True)
    peak = np.where(np.isfinite(peak), peak, 0.0)
    with np.errstate(divide="ignore"):
        total: NDArray[np.float64] = np.log(np.exp(logs - peak) @ WEIGHTS) + peak[..., 0]
    return total
