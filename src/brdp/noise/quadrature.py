"""Gauss-Legendre nodes on [0, 1], enough for every smooth integrand of this library.

48 nodes integrate exp(-y^2/2) over 19 standard deviations to 1e-14, and exp(-t) over t <= 45 likewise;
no caller asks for a steeper integrand than that.
"""

from __future__ import annotations

import numpy as np

_nodes, _weights = np.polynomial.legendre.leggauss(48)
NODES = 0.5 * (_nodes + 1.0)
WEIGHTS = 0.5 * _weights
