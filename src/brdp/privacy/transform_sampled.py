"""Transforms of subsampled releases: sums over nodes whose error is proven."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import final

import numpy as np

from brdp.noise.base import Floats
from brdp.privacy.loss_sampled import SampledLoss
from brdp.privacy.majorant import Fading
from brdp.privacy.majorant_of_nodes import NodeMajorant
from brdp.privacy.nodes import Nodes
from brdp.privacy.nodes_on_line import lay_on_line, log_fading, on_line
from brdp.privacy.nodes_on_pieces import lay_on_pieces, piece_peaks
from brdp.privacy.transform import Complexes, Transform, sum_of_exponentials


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
            tilts, place = np.unique(orders.real, return_inverse=True)
            nodes = lay(law, tilts, float(np.abs(orders.imag).max()), len(orders))
            if nodes is None:
                values.append(np.full(len(orders), complex(math.nan)))
                errors.append(np.full(len(orders), math.inf))
                continue
            value, error = sum_of_exponentials(
                nodes.losses, nodes.log_masses, orders, loss_errors=nodes.loss_errors
            )
            # the moment of real order bounds what is missing at every frequency
            if orders.imag.any():
                real = np.logaddexp.reduce(
                    nodes.log_masses + tilts[:, None] * nodes.losses, axis=-1
                )
                missing = nodes.log_missing[place] + real[place] - value.real
            else:
                missing = nodes.log_missing[place]
            share = np.exp(np.minimum(missing, 50.0))
            values.append(value)
            errors.append(np.where(share < 0.25, error + 2 * share, np.inf))
        return np.array(values), np.array(errors)

    def tails(self, tilt: float, frequency: Floats) -> Floats:
        rows = [
            _peaks(law, tilt, frequency[min(row, len(frequency) - 1)])
            for row, law in enumerate(self.laws)
        ]
        return np.array(rows) * (1 + 1e-9)

    def fading(self, counts: Floats, tilt: float) -> Fading:
        tilts = np.array([tilt])
        nodes = [functools.partial(lay, law, tilts) for law in self.laws]
        return NodeMajorant(nodes, lambda t: self.tails(tilt, t[None]), counts, tilt)


def lay(law: SampledLoss, tilts: Floats, frequency: float, width: int = 1) -> Nodes | None:
    """Nodes that stand for the law at s = tilt + i t, |t| <= frequency; `width` values of s are meant."""
    if on_line(law):
        return lay_on_line(law, tilts, frequency, width)
    return lay_on_pieces(law, tilts, frequency, width)


def _peaks(law: SampledLoss, tilt: float, frequency: Floats) -> Floats:
    if not on_line(law):
        return piece_peaks(law, tilt, frequency)
    with np.errstate(divide="ignore"):
        return np.asarray(math.exp(min(log_fading(law, tilt), 600.0)) / frequency)
