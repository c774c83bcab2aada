"""From noise to its exact privacy curve."""

from __future__ import annotations

from brdp import _validate
from brdp.errors import InvalidInput
from brdp.noise import Staircase
from brdp.noise.base import Noise
from brdp.privacy.lattice import CellCurve
from brdp.privacy.real import RealCurve
from brdp.privacy.release import ReleaseCurve


def curve_of(noise: Noise, *, sensitivity: float = 1.0) -> ReleaseCurve:
    """Return the exact privacy curve of one release.

    Guarantee: see `RealCurve` and `CellCurve`; docs/theory/curve.md holds the proofs.
    """
    if not isinstance(noise, Noise):
        raise InvalidInput("noise", expected="a kernel or Recycled noise", got=noise)
    sensitivity = _validate.length(
        sensitivity=sensitivity, remedy="A query that no one can move needs no noise."
    )
    if noise.lattice or isinstance(noise.kernel, Staircase):
        return CellCurve(noise, sensitivity)
    if not noise.kernel.log_concave:
        raise InvalidInput(
            "kernel",
            expected="a log-concave kernel on the reals",
            got=noise.kernel,
            remedy="Put it on the integers, where no shape is asked for.",
        )
    return RealCurve(noise, sensitivity)
