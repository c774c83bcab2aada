"""The many-digit twin of a planned noise."""

from __future__ import annotations

import brdp
from tests.reference import kernels, recycled


def twin_of(noise: brdp.Noise) -> recycled.Recycled:
    match noise.kernel:
        case brdp.Laplace(scale):
            kernel: kernels.Kernel = kernels.Laplace(scale)
        case brdp.Gaussian(sigma):
            kernel = kernels.Gaussian(sigma)
        case brdp.DiscreteLaplace(scale):
            kernel = kernels.DiscreteLaplace(scale)
        case brdp.DiscreteGaussian(sigma):
            kernel = kernels.DiscreteGaussian(sigma)
        case brdp.Staircase() as stairs:
            kernel = kernels.Staircase(stairs.core, stairs.step, stairs.drop, stairs.integer)
        case other:
            raise AssertionError(other)
    return recycled.Recycled(kernel, noise.recycler.edges, noise.recycler.keeps)
