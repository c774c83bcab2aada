"""Transforms of subsampled releases: sums over nodes whose error is proven."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import final

import numpy as np

from brdp.noise.base import Floats
from brdp.privacy.circle import Exponentials, Moments, around
from brdp.privacy.loss_sampled import SampledLoss
from brdp.privacy.majorant import Fading
from brdp.privacy.majorant_of_nodes import NodeMajorant
from brdp.privacy.nodes import Nodes
from brdp.privacy.nodes_on_line import lay_on_line, log_fading, on_line
from brdp.privacy.nodes_on_pieces import lay_on_pieces, piece_peaks
from brdp.privacy.transform import Complexes, Transform, sum_of_exponentials

# As many nodes as would be laid for a sum over so many frequencies.
FEWER = 8
# Nodes for a few orders need not be more than for so many.
FEWEST = 64


@final
class SampledTransform(Transform):
    """Mixtures over Gaussian and Laplace kernels."""

    __slots__ = ("laws",)

    def __init__(self, laws: Sequence[SampledLoss]) -> None:
        self.laws = laws

    def log_moments(self, s: Complexes) -> tuple[Complexes, Floats]:
        values, errors = [], []
        for row, law in enumerate(self.laws):
            orders = s[min(row, len(s) - 1)]
            value, error = _log_moments(law, orders)
            values.append(value)
            errors.append(error)
        return np.array(values), np.array(errors)

    def along(self, tilt: float, frequencies: Floats) -> Moments | None:
        nodes = lay(self.laws[0], np.array([tilt]), float(frequencies[-1]), FEWER)
        if nodes is None:
            return None
        missing = float(nodes.log_missing[0])
        law = Exponentials(nodes.losses, nodes.log_masses, nodes.loss_errors, missing)
        return around(law, tilt, frequencies)

    def tails(self, tilt: float, frequency: Floats) -> Floats:
        rows = [
            _tails(law, tilt, frequency[min(row, len(frequency) - 1)])
            for row, law in enumerate(self.laws)
        ]
        return np.array(rows)

    def fading(self, counts: Floats, tilt: float) -> Fading:
        tilts = np.array([tilt])
        rows = [
            (functools.partial(lay, law, tilts), functools.partial(_tails, law, tilt))
            for law in self.laws
        ]
        return NodeMajorant(rows, counts, tilt)


def _log_moments(law: SampledLoss, orders: Complexes) -> tuple[Complexes, Floats]:
    tilts, place = np.unique(orders.real, return_inverse=True)
    width = max(len(orders), FEWEST)
    nodes = lay(law, tilts, float(np.abs(orders.imag).max()), width)
    if nodes is None:
        return np.full(len(orders), complex(math.nan)), np.full(len(orders), math.inf)
    value, error = sum_of_exponentials(
        nodes.losses, nodes.log_masses, orders, loss_errors=nodes.loss_errors
    )
    # the moment of real order bounds what is missing at every frequency
    if orders.imag.any():
        real = np.logaddexp.reduce(nodes.log_masses + tilts[:, None] * nodes.losses, axis=-1)
        missing = nodes.log_missing[place] + real[place] - value.real
    else:
        missing = nodes.log_missing[place]
    share = np.exp(np.minimum(missing, 50.0))
    return value, np.where(share < 0.25, error + 2 * share, np.inf)


def lay(law: SampledLoss, tilts: Floats, frequency: float, width: int = 1) -> Nodes | None:
    """Nodes that stand for the law at s = tilt + i t, |t| <= frequency; `width` values of s are meant."""
    if on_line(law):
        return lay_on_line(law, tilts, frequency, width)
    return lay_on_pieces(law, tilts, frequency, width)


def _tails(law: SampledLoss, tilt: float, frequency: Floats) -> Floats:
    """Upper bounds of |M(tilt + i t)| / M(tilt) for all t from each frequency on."""
    if on_line(law):
        constant, fading = 0.0, math.exp(min(log_fading(law, tilt), 600.0))
    else:
        constant, fading = piece_peaks(law, tilt)
    with np.errstate(divide="ignore"):
        return np.asarray((constant + fading / frequency) * (1 + 1e-9))
