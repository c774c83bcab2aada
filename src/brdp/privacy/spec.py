"""Releases described as plain data: what `brdp account SPEC.json` reads."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, final

from brdp.errors import InvalidInput
from brdp.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Kernel,
    Laplace,
    Noise,
    Recycled,
    Staircase,
)
from brdp.privacy.base import Curve
from brdp.privacy.compose import ComposedCurve, compose
from brdp.privacy.curve import curve_of
from brdp.privacy.subsample import subsample

SCALED: Mapping[str, Callable[[float], Kernel]] = MappingProxyType(
    {
        "gaussian": Gaussian,
        "laplace": Laplace,
        "discrete_gaussian": DiscreteGaussian,
        "discrete_laplace": DiscreteLaplace,
    }
)
STAIRCASE = ("core", "step", "drop", "integer")
SHARED = ("kernel", "within", "rate", "levels", "sensitivity", "count", "sampling_rate")
# What `brdp plan --json` says of its noise beyond what a release is made of: of no account here.
FROM_A_PLAN = {"acceptance", "asked_within", "epsilon", "delta", "alternatives"}
EXAMPLE = '[{"kernel": "gaussian", "scale": 30.7, "within": 1, "rate": 0.2, "count": 1000}]'


@final
@dataclass(frozen=True, slots=True)
class ReleaseSpec:
    """One line of a SPEC: a noise, and how it is used."""

    noise: Noise
    sensitivity: float
    count: int
    sampling_rate: float

    @property
    def curve(self) -> Curve:
        """What one of these releases costs."""
        if self.sampling_rate == 1:
            return curve_of(self.noise, sensitivity=self.sensitivity)
        return subsample(self.noise, sensitivity=self.sensitivity, sampling_rate=self.sampling_rate)


def read_spec(data: Any) -> tuple[ReleaseSpec, ...]:
    """Read a list of releases (or a single one); an error names the entry and what it lacks."""
    entries = [data] if isinstance(data, Mapping) else data
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise InvalidInput(
            "SPEC", expected="a list of releases", got=data, remedy=f"For example {EXAMPLE}."
        )
    return tuple(read_release(entry, at=f"SPEC[{i}]") for i, entry in enumerate(entries))


def read_release(entry: Any, *, at: str = "SPEC") -> ReleaseSpec:
    """Read one release: kernel with scale (or core, step, drop); the rest may be left out."""
    if not isinstance(entry, Mapping):
        raise InvalidInput(
            at, expected="an object", got=entry, remedy=f"For example {EXAMPLE[1:-1]}."
        )
    name = entry.get("kernel")
    if name not in (*SCALED, "staircase"):
        raise InvalidInput(
            f"{at}.kernel", expected=f"one of {', '.join((*SCALED, 'staircase'))}", got=name
        )
    own = STAIRCASE if name == "staircase" else ("scale",)
    unknown = sorted(set(map(str, entry)) - {*SHARED, *own} - FROM_A_PLAN)
    if unknown:
        raise InvalidInput(at, expected=f"only {', '.join((*own, *SHARED))}", got=unknown)
    noise = _noise(entry, name, at)
    sensitivity = _number(entry, "sensitivity", at, default=1.0)
    sampling_rate = _number(entry, "sampling_rate", at, default=1.0)
    if not 0 < sampling_rate <= 1:
        raise InvalidInput(f"{at}.sampling_rate", expected="a number in (0, 1]", got=sampling_rate)
    count = entry.get("count", 1)
    if isinstance(count, bool) or not isinstance(count, int | float) or count < 1 or count % 1:
        raise InvalidInput(f"{at}.count", expected="a whole number, 1 or above", got=count)
    curve_of(noise, sensitivity=sensitivity)
    return ReleaseSpec(noise, sensitivity, int(count), sampling_rate)


def composed(releases: Sequence[ReleaseSpec]) -> ComposedCurve:
    """The cost of all of them on the same data."""
    parts: dict[Curve, int] = {}
    for release in releases:
        curve = release.curve
        parts[curve] = parts.get(curve, 0) + release.count
    return compose(parts)


def _noise(entry: Mapping[str, Any], name: str, at: str) -> Noise:
    if name == "staircase":
        core, step, drop = (_number(entry, key, at) for key in ("core", "step", "drop"))
        integer = entry.get("integer", False)
        if not isinstance(integer, bool):
            raise InvalidInput(f"{at}.integer", expected="true or false", got=integer)
        kernel: Kernel = Staircase(core=core, step=step, drop=drop, integer=integer)
    else:
        kernel = SCALED[name](_number(entry, "scale", at))
    if "levels" in entry:
        if "within" in entry or "rate" in entry:
            raise InvalidInput(
                at, expected="levels, or within and rate, not both", got=sorted(map(str, entry))
            )
        return Recycled(kernel, levels=_levels(entry["levels"], at))
    if ("within" in entry) != ("rate" in entry):
        raise InvalidInput(at, expected="within and rate together", got=sorted(map(str, entry)))
    if "within" not in entry:
        return kernel
    within = entry["within"]
    if isinstance(within, list):
        within = tuple(within)
    return Recycled(kernel, within=within, rate=_number(entry, "rate", at))


def _levels(levels: Any, at: str) -> list[tuple[float, float]]:
    """Pairs [bound, keep]; JSON has no infinity, so the last bound may be null or "inf"."""
    if not isinstance(levels, list) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in levels
    ):
        raise InvalidInput(
            f"{at}.levels", expected='pairs such as [[1, 1], ["inf", 0.3]]', got=levels
        )
    bounds = [math.inf if bound in (None, "inf", "Infinity") else bound for bound, _ in levels]
    return [(bound, keep) for bound, (_, keep) in zip(bounds, levels, strict=True)]


def _number(entry: Mapping[str, Any], key: str, at: str, *, default: float | None = None) -> float:
    value = entry.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInput(f"{at}.{key}", expected="a finite number", got=value)
    return float(value)
