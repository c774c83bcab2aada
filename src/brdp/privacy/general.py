"""Hinge integrals for a kernel of your own: log-concave, given by its density and masses."""

from __future__ import annotations

import numpy as np

from brdp.errors import InvalidInput
from brdp.noise.base import Floats, Kernel
from brdp.noise.quadrature import NODES, WEIGHTS

# How far a difference of two masses may be off, relative to the masses: it is added, never subtracted.
MASS_ERROR = 1e-12
# Where a tail is so light that no delta of this library would see it.
LIGHTEST = -760.0
PANELS = 1024


def general_hinge(
    kernel: Kernel, low: Floats, high: Floats, *, shift: float, threshold: Floats
) -> Floats:
    """Upper bound of the hinge integral over [low, high] for any log-concave kernel.

    Guarantee: at least the true integral if the kernel's masses are right to 1e-12. A wrong crossing
    costs only second order, because the integrand is 0 there; the ends' own rounding is added as mass.
    """
    low, high, threshold = np.broadcast_arrays(low, high, threshold)
    reach = reach_of(kernel) + shift
    left, right = np.clip(low, -reach, reach), np.clip(high, -reach, reach)
    start = left
    # the loss falls, so {loss > threshold} is an initial piece: bisect for its end
    for _ in range(80):
        middle = 0.5 * (left + right)
        with np.errstate(invalid="ignore"):
            loss = kernel.log_pdf(middle) - kernel.log_pdf(middle - shift)
        # where both underflow on the left, the loss is larger still
        above = (loss > threshold) | (np.isnan(loss) & (middle < 0))
        left, right = np.where(above, middle, left), np.where(above, right, middle)
    end = right
    mass = kernel.log_mass(start, end)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        shifted = threshold + kernel.log_mass(start - shift, end - shift)
        # an end off by an ulp moves the mass by density times ulp
        blurred = np.exp(kernel.log_pdf(start) - mass) * np.spacing(np.abs(start))
        blurred += np.exp(kernel.log_pdf(end) - mass) * np.spacing(np.abs(end))
        share = -np.expm1(shifted - mass) + MASS_ERROR + 4 * blurred
        part = mass + np.log(np.maximum(share, 0.0))
        part = np.where(threshold == -np.inf, kernel.log_mass(low, high), part)
    return np.where((end > start) & (mass > -np.inf), part, -np.inf)


def general_tilted(
    kernel: Kernel, order: float, low: Floats, high: Floats, *, shift: float
) -> Floats:
    """log of the integral of f(x)^order f(x - shift)^(1 - order), about: by quadrature, uncertified."""
    reach = reach_of(kernel) + shift
    left, right = np.clip(low, -reach, reach), np.clip(high, -reach, reach)
    grid = np.linspace(0.0, 1.0, PANELS + 1)[:-1, None] + NODES / PANELS
    weights = np.broadcast_to(WEIGHTS / PANELS, grid.shape).ravel()
    x = left[:, None] + (right - left)[:, None] * grid.ravel()
    logs = order * kernel.log_pdf(x) + (1 - order) * kernel.log_pdf(x - shift) + np.log(weights)
    with np.errstate(divide="ignore"):
        total: Floats = np.logaddexp.reduce(logs, axis=-1) + np.log(right - left)
    return total


def reach_of(kernel: Kernel) -> float:
    """Where the kernel's tail is too light to count, to within a factor of 2."""
    reach = max(kernel.std, 1.0) if kernel.lattice else kernel.std
    for _ in range(200):
        if kernel.log_mass(reach, np.inf) < LIGHTEST:
            return reach
        reach *= 2
    raise InvalidInput(
        "kernel", expected="a kernel whose log_mass falls to -inf in the tail", got=kernel
    )
