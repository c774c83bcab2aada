"""A mechanism as data: the SPEC of `brdp account`, and what it promises."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from brdp.audit.mechanism import Release
from brdp.audit.promise import Coverage, Promise
from brdp.errors import InvalidInput
from brdp.privacy import spec
from brdp.privacy.base import Curve
from brdp.privacy.compose import compose


def read_spec(data: Any) -> tuple[Release, ...]:
    """Read a list of releases (or a single one), as `brdp account` does."""
    return tuple(
        Release(
            noise=entry.noise,
            sensitivity=entry.sensitivity,
            count=entry.count,
            sampling_rate=entry.sampling_rate,
        )
        for entry in spec.read_spec(data)
    )


def promise_of(releases: Sequence[Release], *, delta: float) -> Promise:
    """Return the epsilon that brdp's own account states for these releases at delta."""
    curves: dict[Curve, int] = {}
    for release in releases:
        curve = spec.ReleaseSpec(
            release.noise, release.sensitivity, release.count, release.sampling_rate
        ).curve
        curves[curve] = curves.get(curve, 0) + release.count
    (first, count), *others = curves.items()
    total = first if count == 1 and not others else compose(curves)
    epsilon = total.epsilon(delta=delta)
    if not math.isfinite(epsilon):
        raise InvalidInput(
            "delta",
            expected="a delta at which these releases have a finite epsilon",
            got=delta,
            remedy="State a larger delta, or give noise with rates below 1.",
        )
    return Promise(epsilon=epsilon, delta=delta)


def coverage_of(
    release: Release, *, within: float | tuple[float, float], acceptance: float | None = None
) -> Coverage:
    """Return the claim about coverage: the noise's own acceptance unless another is stated."""
    stated = release.noise.acceptance(within=within) if acceptance is None else acceptance
    return Coverage(within=within, acceptance=stated)
