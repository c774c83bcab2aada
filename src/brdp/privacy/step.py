"""The lattice's step: near a wanted one, and such that atoms of the loss fall on lattice points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brdp.noise.base import Floats
from brdp.privacy.loss import LossLaw

CANDIDATES = 400
MOST_ATOMS = 24
# Splits this small count as none: the lattice is the atoms' own, however coarse.
EXACT = 1e-13


def fitted_step(
    parts: Sequence[tuple[Sequence[LossLaw], int]], *, most: float, tilt: float
) -> float:
    """A step of at most `most` that splits little mass.

    Splitting an atom a share f above a lattice point adds f (1 - f) step^2 to the variance of the loss;
    a step that divides the distances of the heavy atoms adds next to nothing, however coarse it is.
    """
    heavy, gaps = _gaps(parts, tilt)
    if not heavy:
        return most
    exact = exact_step(parts, tilt=tilt)
    if exact > most:
        return exact
    candidates = [np.linspace(0.7, 1.0, CANDIDATES) * most]
    for gap in gaps[:MOST_ATOMS]:
        fewest = max(1, int(np.ceil(gap / most)))
        candidates.append(gap / np.arange(fewest, int(1.5 * fewest) + 2)[:CANDIDATES])
    steps = np.unique(np.concatenate(candidates))
    steps = steps[(steps <= most) & (steps > 0.5 * most)]
    return float(steps[np.argmin(_cost(heavy, steps) * steps**2)])


def exact_step(parts: Sequence[tuple[Sequence[LossLaw], int]], *, tilt: float) -> float:
    """The coarsest lattice on which all losses lie; 0 where there is none."""
    heavy, gaps = _gaps(parts, tilt)
    atoms_alone = all(law.support(-600.0)[0] == np.inf for laws, _ in parts for law in laws)
    if not heavy or not atoms_alone or not len(gaps):
        return 0.0
    coarse = np.unique(np.concatenate([gap / np.arange(1, 65) for gap in gaps[:MOST_ATOMS]]))
    fits = coarse[_cost(heavy, coarse) <= EXACT]
    return float(fits[-1]) if len(fits) else 0.0


def _gaps(
    parts: Sequence[tuple[Sequence[LossLaw], int]], tilt: float
) -> tuple[list[tuple[tuple[Floats, Floats], int]], Floats]:
    """The heavy atoms of every law that has several, and their distances."""
    heavy = [(_heavy_atoms(law, tilt), count) for laws, count in parts for law in laws]
    heavy = [(atoms, count) for atoms, count in heavy if len(atoms[0]) > 1]
    if not heavy:
        return [], np.empty(0)
    gaps = np.unique(np.concatenate([np.abs(atoms[0][1:] - atoms[0][0]) for atoms, _ in heavy[:8]]))
    return heavy, gaps[gaps > 0]


def _cost(heavy: Sequence[tuple[tuple[Floats, Floats], int]], steps: Floats) -> Floats:
    """The variance that splits add, in units of step^2."""
    cost = np.zeros(len(steps))
    for (losses, weights), count in heavy:
        height = (losses[1:] - losses[0])[:, None] / steps
        share = height - np.floor(height)
        cost += count * (weights[1:] @ np.minimum(share * (1 - share), 0.25))
    return cost


def _heavy_atoms(law: LossLaw, tilt: float) -> tuple[Floats, Floats]:
    losses, log_masses = law.atoms
    if not len(losses):
        return losses, log_masses
    logs = log_masses + tilt * losses
    order = np.argsort(logs)[::-1][:MOST_ATOMS]
    weights = np.exp(logs[order] - logs[order[0]])
    return losses[order], weights / weights.sum()


def anchor(law: LossLaw, tilt: float) -> float:
    """Where the law's own lattice begins: at its heaviest atom, or anywhere."""
    losses, _ = _heavy_atoms(law, tilt)
    return float(losses[0]) if len(losses) else 0.0
