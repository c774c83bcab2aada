"""A secret Poisson sample of units, drawn inside the engine: every unit by a coin of its own.

The coin of a unit is a keyed md5 of its name, and it is in the sample if the first 52 bits, read as a
number, are below rate * 2^52. So the sample does not depend on the engine, the order of rows or any other unit,
and the rate is exactly the one that is accounted. That the coins of different units are independent and fair
is an assumption: that md5 under a secret key cannot be told from a random function (docs/theory/sampling.md).
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

from brdp import _extras
from brdp.catalog.table import Table
from brdp.catalog.unit import ColumnUnit
from brdp.errors import InvalidInput
from brdp.query.model import SAMPLE_BITS

KEY_BYTES = 16
ROW = "brdp_row"
DIGITS = 32  # of an md5 in hexadecimal


@final
@dataclass(frozen=True, repr=False)
class Sample:
    """The secret coins of one question: a rate, and a key that lives as long as the question runs.

    *Guarantee:* amplification rests on the key being fresh for every charge and known to nobody: unlike
    BoundingKey, it is never stored.
    """

    rate: Fraction
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(KEY_BYTES))

    def __post_init__(self) -> None:
        if not 0 < self.rate < 1 or (self.rate * (1 << SAMPLE_BITS)).denominator != 1:
            raise InvalidInput(
                "rate",
                expected=f"a multiple of 2^-{SAMPLE_BITS} between 0 and 1",
                got=float(self.rate),
            )
        if not isinstance(self.secret, bytes) or len(self.secret) != KEY_BYTES:
            raise InvalidInput("sample", expected=f"{KEY_BYTES} secret bytes", got="something else")

    @property
    def threshold(self) -> str:
        """The hexadecimal number below which the digest of a unit in the sample lies, as long as a digest."""
        return f"{int(self.rate * (1 << SAMPLE_BITS)):0{SAMPLE_BITS // 4}x}".ljust(DIGITS, "0")

    def __repr__(self) -> str:
        return f"Sample({float(self.rate):g})"


def in_sample(rows: Any, *, table: Table, sample: Sample) -> Any:
    """The rows of the units in the sample.

    Where a row is a unit it gets a number for a name, whichever: rows that look the same must have different
    coins, and numbers that were given before the key is used leave the coins as independent as they are.
    """
    if isinstance(table.unit, ColumnUnit):
        name = rows[table.unit.column].cast("string").fill_null("")
        return rows.filter(_heads(name, sample))
    ibis = _extras.require("ibis", extra="query")
    rows = rows.mutate(**{ROW: ibis.row_number()})
    return rows.filter(_heads(rows[ROW].cast("string"), sample)).drop(ROW)


def _heads(name: Any, sample: Sample) -> Any:
    ibis = _extras.require("ibis", extra="query")
    digest = (ibis.literal(f"{sample.secret.hex()}/") + name).hexdigest("md5")
    # digests are of one length and in lower case: as texts they are ordered as the numbers are
    return digest < ibis.literal(sample.threshold)
