"""The one place where data meet noise: exact totals, rounded to the lattice, plus what the sampler draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from brdp.catalog.table import LARGEST_NUMBER_OF_KEYS, Table
from brdp.curator.prepare import sampler_of
from brdp.curator.release import Release, name_of
from brdp.data.bounding import BoundingKey
from brdp.data.engine import Engine
from brdp.data.private_groups import private_groups
from brdp.data.sampling import Sample
from brdp.data.totals import exact_totals
from brdp.errors import BrdpError
from brdp.privacy.filters import Filter
from brdp.privacy.partition import PartitionSelection
from brdp.query.model import Group, Query
from brdp.query.resolve import MOST_CELLS, cells_of_key


def noisy_totals(
    query: Query,
    releases: Sequence[Release],
    *,
    table: Table,
    engine: Engine,
    key: BoundingKey,
    filter: Filter,
    selection: PartitionSelection | None = None,
) -> dict[str, Any]:
    """Noisy integers for every public group, as plain data; the only thing here that may be stored.

    *Guarantee:* a function of the exact totals and fresh noise alone, with the releases' privacy. Nothing
    is clamped, rounded to whole people or left out, and no exact total outlives this call. Of a sample, nobody
    learns who was in it: its key is drawn here, for this call, and kept nowhere. Whoever completes an interrupted
    charge draws another sample, as he draws other noise: of the first one nothing has left. Groups that are to be
    found are named by `selection` alone, and then asked like listed ones.
    """
    columns = [group.column for group in query.group_by]
    if selection is not None:
        named = _with_named_groups(query, selection, table=table, engine=engine, key=key)
        if named is None:
            nothing: list[list[int]] = []
            totals = {name_of(release.total): nothing for release in releases}
            return {"group_by": columns, "keys": [], "totals": totals}
        query = named
    rate = query.sampling_rate
    sample = None if rate is None else Sample(rate)
    exact = exact_totals(query, table=table, engine=engine, key=key, sample=sample)
    found: dict[str, list[list[int]]] = {}
    for release in releases:
        cells = exact.of(release.total)
        width = len(cells[0]) if cells else 0
        if release.cells not in (None, len(cells) * width):
            raise BrdpError("expected as many cells as were charged; got others. Ask again.")
        noise = iter(sampler_of(release, filter).draw(len(cells) * width).tolist())
        lattice = release.lattice
        found[name_of(release.total)] = [
            [lattice.noise.round_total(value, data=lattice.data) + next(noise) for value in cell]
            for cell in cells
        ]
    return {
        "group_by": columns,
        "keys": [list(keys) for keys in exact.keys],
        "totals": found,
    }


def _with_named_groups(
    query: Query, selection: PartitionSelection, *, table: Table, engine: Engine, key: BoundingKey
) -> Query | None:
    """The query with the keys that may be named; None where there are none."""
    (column,) = (group.column for group in query.group_by if group.keys is None)
    found = private_groups([column], where=query.where, table=table, engine=engine, key=key)
    # more than an answer may have: those that are named already decide it, and no count takes part
    most = min(LARGEST_NUMBER_OF_KEYS, MOST_CELLS // cells_of_key(query.group_by, query.items))
    keys = tuple(key for (key,) in found.named(selection))[:most]
    if not keys:
        return None
    groups = tuple(Group(column, keys) if group.keys is None else group for group in query.group_by)
    return replace(query, group_by=groups, groups_of=None)
