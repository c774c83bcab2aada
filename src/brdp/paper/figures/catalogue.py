"""All panels, in the order of the paper."""

from __future__ import annotations

from pathlib import Path

from brdp.paper.figures.acceptance import AcceptancePanel
from brdp.paper.figures.answers import panels_for
from brdp.paper.figures.asks import Adult, Gowalla
from brdp.paper.figures.composition import CompositionPanel
from brdp.paper.figures.errata import ErrataPanel
from brdp.paper.figures.noise import NoisePanel
from brdp.paper.figures.panel import Panel
from brdp.paper.figures.rate import RatePanel
from brdp.paper.figures.sampling import SamplingPanel
from brdp.paper.figures.table1 import TablePanel

_MONTHS = 6.0


def all_panels(*, adult: Path, gowalla: Path | None) -> list[Panel]:
    """Every panel that the given data allow; without Gowalla its three are left out."""
    panels: list[Panel] = [
        NoisePanel(),
        RatePanel(),
        AcceptancePanel(),
        CompositionPanel(),
        SamplingPanel(),
        *panels_for(Adult(adult), above=0.0),
    ]
    if gowalla is not None:
        panels += panels_for(Gowalla(gowalla), above=_MONTHS)
    return [*panels, TablePanel(), ErrataPanel()]
