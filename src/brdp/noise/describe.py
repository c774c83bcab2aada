"""Noise on the integers or the reals as plain data that gives back exactly the same noise.

The ledger keeps this for every charge, so that what was released can be accounted for anew years later.
Floats are written so that they read back as themselves; nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from brdp.errors import InvalidInput
from brdp.noise.base import Kernel, Noise
from brdp.noise.discrete_gaussian import DiscreteGaussian
from brdp.noise.discrete_laplace import DiscreteLaplace
from brdp.noise.gaussian import Gaussian
from brdp.noise.laplace import Laplace
from brdp.noise.recycled import Recycled
from brdp.noise.recycler import Recycler
from brdp.noise.staircase import Staircase

# name -> (class, the parameters that make it)
KERNELS: Mapping[str, tuple[Callable[..., Kernel], tuple[str, ...]]] = MappingProxyType(
    {
        "laplace": (Laplace, ("scale",)),
        "gaussian": (Gaussian, ("sigma",)),
        "discrete_laplace": (DiscreteLaplace, ("scale",)),
        "discrete_gaussian": (DiscreteGaussian, ("sigma",)),
        "staircase": (Staircase, ("core", "step", "drop", "integer")),
    }
)


def describe_noise(noise: Noise) -> dict[str, Any]:
    """The noise as plain data: its kernel, and the edges and weights of its recycler if it has one."""
    kernel = noise.kernel
    for name, (made_by, parameters) in KERNELS.items():
        if type(kernel) is made_by:
            described: dict[str, Any] = {"kernel": name}
            described |= {parameter: getattr(kernel, parameter) for parameter in parameters}
            break
    else:
        raise InvalidInput(
            "kernel", expected=f"one of {', '.join(KERNELS)}", got=type(kernel).__name__
        )
    if noise is not kernel:
        described["edges"] = list(noise.recycler.edges)
        described["keeps"] = list(noise.recycler.keeps)
    return described


def read_noise(data: Any) -> Noise:
    """The noise that `describe_noise` gave this for.

    Guarantee: equal to the noise described, so that its curve and its law are the same to the last bit.
    """
    known = {"kernel", "edges", "keeps"}
    if not isinstance(data, Mapping) or data.get("kernel") not in KERNELS:
        raise InvalidInput("noise", expected=f"a kernel among {', '.join(KERNELS)}", got=data)
    made_by, parameters = KERNELS[data["kernel"]]
    if set(data) - known != set(parameters):
        raise InvalidInput(
            "noise", expected=f"the parameters {', '.join(parameters)}", got=sorted(data)
        )
    kernel = made_by(**{name: data[name] for name in parameters})
    if "edges" not in data:
        return kernel
    recycler = Recycler(edges=tuple(data["edges"]), keeps=tuple(data["keeps"]))
    return Recycled.under(kernel, recycler)
