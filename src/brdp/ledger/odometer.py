"""What was released so far, composed tightly: information, never a reason to grant or refuse."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import final

from brdp import _validate
from brdp.ledger.ledger import Ledger
from brdp.noise.describe import read_noise
from brdp.privacy.base import Curve
from brdp.privacy.compose import LooseBounds, compose


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
    epsilon_elsewhere = delta_elsewhere = 0.0
    releases = 0
    for charge in ledger.history(table=table):
        for release in charge["releases"]:
            if "spend" in release:
                epsilon_elsewhere += release["spend"]["epsilon"]
                delta_elsewhere += release["spend"]["delta"]
                continue
            curve = read_noise(release["noise"]).privacy(sensitivity=release["sensitivity"])
            counts[curve] = counts.get(curve, 0) + int(release["count"])
            releases += int(release["count"])
    if not counts:
        return Odometer((epsilon_elsewhere, epsilon_elsewhere), delta + delta_elsewhere, releases)
    with warnings.catch_warnings():
        # both ends are shown: nobody has to be told that they are apart
        warnings.simplefilter("ignore", LooseBounds)
        lower, upper = compose(counts).epsilon_bounds(delta=delta)
    return Odometer(
        (lower + epsilon_elsewhere, upper + epsilon_elsewhere), delta + delta_elsewhere, releases
    )
