"""A mechanism as data: the SPEC of `brdp account` and `brdp audit`, and what it promises."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from brdp import _validate
from brdp.audit.mechanism import Release
from brdp.audit.promise import Coverage, Promise
from brdp.errors import InvalidInput
from brdp.noise.base import Kernel, Noise
from brdp.noise.discrete_gaussian import DiscreteGaussian
from brdp.noise.discrete_laplace import DiscreteLaplace
from brdp.noise.gaussian import Gaussian
from brdp.noise.laplace import Laplace
from brdp.noise.recycled import Recycled
from brdp.noise.staircase import Staircase

KERNELS: dict[str, type[Gaussian | Laplace | DiscreteGaussian | DiscreteLaplace]] = {
    "gaussian": Gaussian,
    "laplace": Laplace,
    "discrete_gaussian": DiscreteGaussian,
    "discrete_laplace": DiscreteLaplace,
}
COMMON = {"kernel", "within", "rate", "levels", "sensitivity", "count", "sampling_rate"}
REMEDY = 'For example [{"kernel": "gaussian", "scale": 30.7, "within": 1, "rate": 0.2}].'


def read_spec(data: Any) -> tuple[Release, ...]:
    """Read a list of mechanisms, or a single one."""
    entries = [data] if isinstance(data, Mapping) else data
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise InvalidInput(
            "SPEC", expected="a list of mechanisms", got=type(data).__name__, remedy=REMEDY
        )
    return tuple(_release(entry) for entry in entries)


def _release(entry: Any) -> Release:
    if not isinstance(entry, Mapping):
        raise InvalidInput(
            "SPEC", expected="an object for each mechanism", got=entry, remedy=REMEDY
        )
    return Release(
        noise=_noise(entry),
        sensitivity=_validate.positive(sensitivity=entry.get("sensitivity", 1.0)),
        count=_validate.whole(count=entry.get("count", 1)),
        sampling_rate=_validate.probability(sampling_rate=entry.get("sampling_rate", 1.0)),
    )


def _noise(entry: Mapping[str, Any]) -> Noise:
    kernel = _kernel(entry)
    levels = entry.get("levels")
    if levels is not None:
        try:
            # JSON has no infinity
            pairs = [(math.inf if bound == "inf" else bound, keep) for bound, keep in levels]
        except (TypeError, ValueError):
            raise InvalidInput(
                "levels", expected='pairs such as [[1, 1], ["inf", 0.5]]', got=levels
            ) from None
        return Recycled(kernel, levels=pairs, within=entry.get("within"), rate=entry.get("rate"))
    within = entry.get("within")
    rate = entry.get("rate")
    if rate is None:
        # a bound without a rate names what is wanted, not what is recycled
        return kernel
    return Recycled(kernel, within=tuple(within) if isinstance(within, list) else within, rate=rate)


def _kernel(entry: Mapping[str, Any]) -> Kernel:
    name = entry.get("kernel")
    if name == "staircase":
        own = {"core", "step", "drop", "integer"}
        _only(entry, own)
        try:
            return Staircase(
                core=entry["core"],
                step=entry["step"],
                drop=entry["drop"],
                integer=bool(entry.get("integer", False)),
            )
        except KeyError as missing:
            raise InvalidInput(
                str(missing.args[0]), expected="a number", got=None, remedy=REMEDY
            ) from None
    if not isinstance(name, str) or name not in KERNELS:
        raise InvalidInput(
            "kernel", expected=f"one of {', '.join([*KERNELS, 'staircase'])}", got=name
        )
    _only(entry, {"scale"})
    return KERNELS[name](entry.get("scale"))  # type: ignore[arg-type]


def _only(entry: Mapping[str, Any], own: set[str]) -> None:
    unknown = sorted(set(entry) - COMMON - own)
    if unknown:
        raise InvalidInput("SPEC", expected=f"keys among {sorted(COMMON | own)}", got=unknown)


def promise_of(releases: Sequence[Release], *, delta: float) -> Promise:
    """Return the epsilon that brdp's own account states for these releases at delta."""
    from brdp.privacy.compose import compose
    from brdp.privacy.curve import curve_of

    curves: dict[Any, int] = {}
    for release in releases:
        if release.sampling_rate < 1:
            from brdp.privacy.subsample import subsample

            curve: Any = subsample(
                release.noise,
                sensitivity=release.sensitivity,
                sampling_rate=release.sampling_rate,
            )
        else:
            curve = curve_of(release.noise, sensitivity=release.sensitivity)
        curves[curve] = curves.get(curve, 0) + release.count
    (first, count), *others = curves.items()
    total = first if count == 1 and not others else compose(curves)
    return Promise(epsilon=total.epsilon(delta=delta), delta=delta)


def coverage_of(
    release: Release, *, within: float | tuple[float, float], acceptance: float | None = None
) -> Coverage:
    """Return the claim about coverage: the noise's own acceptance unless another is stated."""
    stated = release.noise.acceptance(within=within) if acceptance is None else acceptance
    return Coverage(within=within, acceptance=stated)
