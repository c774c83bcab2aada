"""Whether noise rises to 0 and falls after it: what every single-shift argument stands on."""

from __future__ import annotations

import math

import numpy as np

from brdp.errors import NotPossible
from brdp.noise.base import Noise
from brdp.privacy.protocol import falls


def unimodal(noise: Noise) -> bool:
    """Whether the density never rises on the way out from 0.

    Where the kernel falls, weights are constant between edges, so only the edges matter. Rounding
    may call a level edge a rise; that errs on the safe side.
    """
    if not falls(noise.kernel):
        return False
    if noise.recycler.falling:
        return True
    for edge in noise.recycler.edges:
        outward = math.copysign(math.inf, edge)
        if noise.lattice:
            inside, outside = edge - math.copysign(0.5, edge), edge + math.copysign(0.5, edge)
        else:
            inside, outside = math.nextafter(edge, 0.0), math.nextafter(edge, outward)
        before, after = noise.log_pdf(np.array([inside, outside]))
        if after > before:
            return False
    return True


def require_unimodal(noise: Noise) -> None:
    """Refuse noise whose worst shift would have to be searched for on the line."""
    if not unimodal(noise):
        raise NotPossible(
            f"{noise!r} rises on the way out from 0, so its worst shift is not the whole sensitivity. "
            "Let the weights fall outwards, or use noise on the integers, where all shifts are looked at."
        )
