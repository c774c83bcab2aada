"""What noise looks like: kernels, recyclers, and the two together. Knows nothing of privacy."""

from brdp.noise.base import Kernel, Noise
from brdp.noise.discrete_gaussian import DiscreteGaussian
from brdp.noise.discrete_laplace import DiscreteLaplace
from brdp.noise.gaussian import Gaussian
from brdp.noise.laplace import Laplace
from brdp.noise.recycled import Recycled
from brdp.noise.recycler import Recycler
from brdp.noise.staircase import Staircase

__all__ = [
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Gaussian",
    "Kernel",
    "Laplace",
    "Noise",
    "Recycled",
    "Recycler",
    "Staircase",
]
