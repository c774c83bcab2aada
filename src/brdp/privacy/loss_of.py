"""From a curve to the laws of its privacy loss."""

from __future__ import annotations

import functools

from brdp.errors import NotPossible
from brdp.noise import Gaussian, Laplace
from brdp.privacy import lattice
from brdp.privacy.lattice import CellCurve
from brdp.privacy.loss import AtomicLoss, LossLaw
from brdp.privacy.loss_general import GeneralLoss
from brdp.privacy.loss_pieces import GaussianLoss, LaplaceLoss
from brdp.privacy.real import RealCurve, log_release_probability, pieces_of
from brdp.privacy.release import ReleaseCurve


@functools.lru_cache(maxsize=4096)
def losses_of(curve: ReleaseCurve) -> tuple[LossLaw, ...]:
    """Return the loss of every direction and shift that must be looked at."""
    if isinstance(curve, CellCurve):
        return tuple(AtomicLoss(law) for law in lattice.laws_of(curve.noise, curve.sensitivity))
    if not isinstance(curve, RealCurve):
        raise NotPossible(f"{curve!r} is of a kind whose losses are not known.")
    log_total, shift = log_release_probability(curve.noise), curve.sensitivity
    kernel = curve.noise.kernel
    losses: list[LossLaw] = []
    for pieces in pieces_of(curve.noise, curve.sensitivity):
        if isinstance(kernel, Gaussian):
            losses.append(GaussianLoss(pieces, log_total, shift, kernel.sigma))
        elif isinstance(kernel, Laplace):
            losses.append(LaplaceLoss(pieces, log_total, shift, kernel.scale))
        else:
            losses.append(GeneralLoss(pieces, log_total, shift, kernel))
    return tuple(losses)
