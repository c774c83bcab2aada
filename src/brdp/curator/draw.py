"""The one place where data meet noise: exact totals, rounded to the lattice, plus what the sampler draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brdp.catalog.table import Table
from brdp.curator.prepare import sampler_of
from brdp.curator.release import Release, name_of
from brdp.data.bounding import BoundingKey
from brdp.data.engine import Engine
from brdp.data.sampling import Sample
from brdp.data.totals import exact_totals
from brdp.errors import BrdpError
from brdp.privacy.filters import Filter
from brdp.query.model import Query


def noisy_totals(
    query: Query,
    releases: Sequence[Release],
    *,
    table: Table,
    engine: Engine,
    key: BoundingKey,
    filter: Filter,
) -> dict[str, Any]:
    """Noisy integers for every public group, as plain data; the only thing here that may be stored.

    *Guarantee:* a function of the exact totals and fresh noise alone, with the releases' privacy. Nothing
    is clamped, rounded to whole people or left out, and no exact total outlives this call. Of a sample, nobody
    learns who was in it: its key is drawn here, for this call, and kept nowhere. Whoever completes an interrupted
    charge draws another sample, as he draws other noise: of the first one nothing has left.
    """
    rate = query.sampling_rate
    sample = None if rate is None else Sample(rate)
    exact = exact_totals(query, table=table, engine=engine, key=key, sample=sample)
    found: dict[str, list[list[int]]] = {}
    for release in releases:
        cells = exact.of(release.total)
        width = len(cells[0]) if cells else 0
        if len(cells) * width != release.cells:
            raise BrdpError("expected as many cells as were charged; got others. Ask again.")
        noise = iter(sampler_of(release, filter).draw(release.cells).tolist())
        lattice = release.lattice
        found[name_of(release.total)] = [
            [lattice.noise.round_total(value, data=lattice.data) + next(noise) for value in cell]
            for cell in cells
        ]
    return {
        "group_by": [group.column for group in query.group_by],
        "keys": [list(keys) for keys in exact.keys],
        "totals": found,
    }
