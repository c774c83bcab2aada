"""What was released so far, composed tightly: information, never a reason to grant or refuse."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from brdp import _validate
from brdp.ledger.ledger import Ledger
from brdp.noise.describe import read_noise
from brdp.privacy.base import Curve
from brdp.privacy.compose import LooseBounds, compose
from brdp.privacy.filters.total import epsilon_charged
from brdp.privacy.subsample_together import SampledTogether, sample_together


@final
@dataclass(frozen=True, slots=True)
class Odometer:
    """The epsilon of everything charged, had it all been fixed beforehand.

    It is not a guarantee: questions chosen after seeing answers may cost more than this says, up to the
    filter's own account (docs/theory/filters.md). Spends of other tools are added plainly.
    """

    epsilon: tuple[float, float]
    delta: float
    releases: int


def odometer(ledger: Ledger, table: str, *, delta: float) -> Odometer:
    """Read the odometer of a table at a delta: (lower, upper) bounds of the composed epsilon."""
    delta = _validate.between_zero_and_one(delta=delta)
    counts: dict[Curve, int] = {}
    epsilon_elsewhere = delta_elsewhere = most_of_samples = 0.0
    releases = 0
    for charge in ledger.history(table=table):
        parts: dict[Curve, int] = {}
        rate: str | None = None
        for release in charge["releases"]:
            if "spend" in release:
                epsilon_elsewhere += release["spend"]["epsilon"]
                delta_elsewhere += release["spend"]["delta"]
                continue
            curve = read_noise(release["noise"]).privacy(sensitivity=release["sensitivity"])
            parts[curve] = parts.get(curve, 0) + int(release["count"])
            rate = release.get("sampling_rate")
            releases += int(release["count"])
        if rate is not None:
            joint = sample_together(parts, sampling_rate=float(Fraction(rate)))
            parts = {joint: 1}
            if isinstance(joint, SampledTogether):
                # several releases of one sample: a curve of its own, which composes only as a pair of numbers
                most_of_samples += epsilon_charged(joint, delta)
                delta_elsewhere += delta
                parts = {}
        for curve, count in parts.items():
            counts[curve] = counts.get(curve, 0) + count
    if not counts:
        return Odometer(
            (epsilon_elsewhere, epsilon_elsewhere + most_of_samples),
            delta + delta_elsewhere,
            releases,
        )
    with warnings.catch_warnings():
        # both ends are shown: nobody has to be told that they are apart
        warnings.simplefilter("ignore", LooseBounds)
        lower, upper = compose(counts).epsilon_bounds(delta=delta)
    # the lattice of a composition rounds up: few pure releases are better added plainly
    plainly = math.fsum(curve.largest_loss * count for curve, count in counts.items())
    upper = min(upper, math.nextafter(plainly, math.inf))
    return Odometer(
        (lower + epsilon_elsewhere, upper + epsilon_elsewhere + most_of_samples),
        delta + delta_elsewhere,
        releases,
    )
