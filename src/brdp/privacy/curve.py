"""From noise to its exact privacy curve."""

from __future__ import annotations

from brdp import _validate
from brdp.errors import InvalidInput
from brdp.noise import Staircase
from brdp.noise.base import Noise
from brdp.privacy.lattice import CellCurve
from brdp.privacy.protocol import require_protocol
from brdp.privacy.real import RealCurve
from brdp.privacy.release import ReleaseCurve


def curve_of(noise: Noise, *, sensitivity: float = 1.0) -> ReleaseCurve:
    """Return the exact privacy curve of one release.

    Guarantee: see `RealCurve` and `CellCurve`; docs/theory/curve.md holds the proofs.
    """
    if not isinstance(noise, Noise):
        raise InvalidInput("noise", expected="a kernel or Recycled noise", got=noise)
    sensitivity = _validate.length(
        sensitivity=sensitivity, remedy="It is how far one unit can move the answer."
    )
    require_protocol(noise.kernel)
    if noise.lattice or isinstance(noise.kernel, Staircase):
        return CellCurve(noise, sensitivity)
    return RealCurve(noise, sensitivity)
