"""A curator over one small table of any source, and what it charged."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from brdp.catalog import Budget, Catalog, Clip, Column, RowUnit, Table
from brdp.catalog.source import Source
from brdp.curator import Curator
from brdp.data import open_source
from brdp.ledger import open_ledger

WHOLE = Clip(Fraction(0), Fraction(49), integer=True)
GROUPS = 100


def people(source: Source) -> Table:
    """Rows of their own, in public parts, each with a whole number that is held to 0..49."""
    return Table(
        name="people",
        source=source,
        unit=RowUnit(),
        columns=(
            Column("part", categories=tuple(range(GROUPS))),
            Column("v", clip=WHOLE),
        ),
        budget=Budget(epsilon=50.0, delta=1e-6),
    )


def curator_of(source: Source, ledger: Path | str, *, opener=open_source) -> Curator:
    return Curator(
        Catalog((people(source),), origin="a test"), open_ledger(str(ledger)), opener=opener
    )


def spent(curator: Curator) -> float:
    return curator.budget("people").state.epsilon
