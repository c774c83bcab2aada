"""SAMPLE: the same secret sample in every engine and in a twin, drawn at exactly the rate that is accounted."""

from __future__ import annotations

import hashlib
import random
from dataclasses import replace
from fractions import Fraction

import pyarrow
import pytest
import scipy

from brdp.catalog import Clip, Column, ColumnUnit, RowUnit, Table
from brdp.catalog.source import PostgresSource
from brdp.data import BoundingKey, FrameSource, Sample, exact_totals, open_source
from brdp.errors import InvalidInput
from brdp.query import parse, totals_of_query
from tests.data.twin import as_text, twin
from tests.data.worlds import TYPES, world
from tests.engines.places import in_duckdb, in_postgres, opened

FALSE_ALARM = 1e-9
SECRET = bytes(range(16))
WORLDS, TABLES = 3, 20
RATES = ("0.1", *(pytest.param(rate, marks=pytest.mark.slow) for rate in ("0.01", "0.5")))


def sample_at(rate: str, secret: bytes = SECRET) -> Sample:
    asked = parse(f"SELECT COUNT(*) FROM t EPSILON 1 SAMPLE {rate}")
    return Sample(asked.sampling_rate, secret)


def heads(name: object, sample: Sample) -> bool:
    """The coin of a unit, as a number below a number."""
    text = f"{sample.secret.hex()}/{as_text(name)}"
    digits = hashlib.md5(text.encode()).hexdigest()[:13]
    return int(digits, 16) < sample.rate * 2**52


def frame_of(one) -> pyarrow.Table:
    return pyarrow.table(
        {
            name: pyarrow.array([row[name] for row in one.rows], type=kind, from_pandas=False)
            for name, kind in TYPES.items()
        }
    )


def totals_in(place, one, sample):
    with opened(place, frame_of(one)) as engine:
        return exact_totals(one.query, table=one.table, engine=engine, key=one.key, sample=sample)


def by_people(seed: int):
    one = world(seed, TABLES)
    return one if isinstance(one.table.unit, ColumnUnit) else by_people(seed + 100)


def differences(found, expected, one) -> int:
    return sum(
        cell != expected[total].get(tuple(map(as_text, key)), (0,) * len(cell))
        for total in totals_of_query(one.resolved, one.table)
        for key, cell in zip(found.keys, found.of(total), strict=True)
    )


@pytest.mark.parametrize("seed", range(WORLDS))
def test_every_engine_draws_the_twin_s_sample(place, seed):
    one, sample = by_people(7000 + seed), sample_at("0.5")
    found = totals_in(place, one, sample)
    rows = [row for row in one.rows if heads(row["person"], sample)]
    assert 0 < len(rows) < len(one.rows)
    assert differences(found, twin(rows, one.resolved, one.table, one.key.secret), one) == 0
    if place is in_duckdb:
        # control: another key draws other units
        other = sample_at("0.5", b"another 16 bytes")
        rows = [row for row in one.rows if heads(row["person"], other)]
        assert differences(found, twin(rows, one.resolved, one.table, one.key.secret), one) > 0


PEOPLE = 20_000
ROWS = pyarrow.table({"u": [u // 2 for u in range(2 * PEOPLE)], "v": [1] * (2 * PEOPLE)})
ALIKE = pyarrow.table({"u": [7] * (2 * PEOPLE), "v": [1] * (2 * PEOPLE)})
USERS = Table(name="t", source=FrameSource(None), unit=ColumnUnit("u"), rows_per_unit=2)
MANY_ROWS = pyarrow.table({"u": [u // 4 for u in range(8000)], "v": list(range(8000))})
VALUES = Column("v", clip=Clip(Fraction(0), Fraction(8000), integer=True))
SINGLE = Table(name="t", source=FrameSource(None), unit=RowUnit())


def counted(engine, table, sample) -> int:
    query = parse("SELECT COUNT(*) FROM t EPSILON 1")
    found = exact_totals(
        query, table=table, engine=engine, key=BoundingKey(b"0" * 16), sample=sample
    )
    ((count,),) = (found.of(total)[0] for total in totals_of_query(query, table))
    return count


@pytest.mark.parametrize("rate", RATES)
def test_users_come_whole_and_rows_one_by_one_at_the_rate(place, rate):
    """Two-sided binomial at 1e-9 each; a rate off by three tenths must be rejected at 10 % and 50 %: it is 14 standard
    deviations away or more, and missed less than once in 10^14 runs."""
    with opened(place, ROWS) as engine:
        sample = Sample(sample_at(rate).rate)
        users = counted(engine, USERS, sample)
        again = counted(engine, USERS, sample)
    with opened(place, ALIKE) as engine:
        # rows that look the same have coins of their own
        rows = counted(engine, SINGLE, sample)
    assert users == again == 2 * sum(heads(u, sample) for u in range(PEOPLE))
    for taken, units in ((users // 2, PEOPLE), (rows, 2 * PEOPLE)):
        assert scipy.stats.binomtest(taken, units, float(rate)).pvalue > FALSE_ALARM
        if rate != "0.01":
            for off in (0.7, 1.3):
                assert scipy.stats.binomtest(taken, units, off * float(rate)).pvalue < FALSE_ALARM


def test_a_database_in_another_language_draws_the_same(server):
    """To Danish, "aa" is a letter after z: digests must be compared by their digits all the same."""
    import psycopg

    base = f"postgresql://{server.user}@127.0.0.1:{server.port}"
    with psycopg.connect(f"{base}/postgres", autocommit=True) as connection:
        connection.execute(
            "CREATE DATABASE danish TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'da-DK' LOCALE 'C'"
        )
    with psycopg.connect(f"{base}/danish") as connection:
        # control: the database does sort so
        assert connection.execute("SELECT 'aa' < 'f'").fetchone() == (False,)
    source = in_postgres(f"{base}/danish")(ROWS)
    assert isinstance(source, PostgresSource)
    sample = sample_at(
        "0.6875"
    )  # its digits are b0...: digests from aa on lie below, and sort above
    with open_source(source) as engine:
        assert counted(engine, USERS, sample) == 2 * sum(heads(u, sample) for u in range(PEOPLE))
        # and the same rows of a unit stay: three of four, all but the one whose digest sorts last
        few = replace(USERS, rows_per_unit=3, row_key=("v",), columns=(VALUES,))
        query = parse("SELECT SUM(v) FROM t EPSILON 1")
        key = BoundingKey(b"0" * 16)
        found = []
        for put in (in_postgres(f"{base}/danish"), in_duckdb):
            with opened(put, MANY_ROWS) as other:
                totals = exact_totals(query, table=few, engine=other, key=key)
                found.append([totals.of(total) for total in totals_of_query(query, few)])
        assert found[0] == found[1]


def test_the_rate_is_the_one_that_is_accounted():
    rng = random.Random(1)
    for _ in range(200):
        asked = Fraction(rng.randrange(1, 10**6), 10**6)
        query = replace(parse("SELECT COUNT(*) FROM t EPSILON 1"), sample=asked)
        rate = query.sampling_rate
        assert 0 <= asked - rate < Fraction(1, 2**52)
        assert Fraction(float(rate)) == rate
        assert Fraction(int(Sample(rate).threshold, 16), 2**128) == rate


def test_keys_are_fresh_and_never_shown():
    keys = {Sample(Fraction(1, 2)).secret for _ in range(100)}
    assert len(keys) == 100
    assert SECRET.hex() not in repr(Sample(Fraction(1, 2), SECRET))
    for wrong in (Fraction(0), Fraction(1), Fraction(1, 3), Fraction(3, 2)):
        with pytest.raises(InvalidInput):
            Sample(wrong)
    with pytest.raises(InvalidInput):
        Sample(Fraction(1, 2), b"short")
