"""A bounded grouped sum and count through the curator, beside hand-written SQL and beside the peers.

Claims, on rows of users with at most 5 rows each counted, in 50 groups:
- the curator (charge, exact totals, noise and stored answer included; its plan, which reads no data and is
  kept, is made before) takes at most 1.3 times as long as hand-written DuckDB SQL that does the same bounding
  without noise, and holds at most 200 MB more at its peak than DuckDB alone does with the SQL that the curator sends
  it (the peak of the hand-written SQL stands beside them);
- on 1 million rows it is at least 10 times faster than pipeline-dp's local backend, and faster than OpenDP's
  Polars path.

    python benchmarks/queries.py [--rows N] [--full]      10 million rows; --full: 100 million

Each run of either side is a process of its own; runs alternate. Peers that are not installed are named as
NOT MEASURED (`make bench` installs them).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SLOWER, MEGABYTES, PIPELINE, ROWS_FOR_PEERS = 1.3, 200, 10.0, 1_000_000
POLARS_OF_OPENDP = Path(sys.prefix).resolve() / "opendp"
QUESTION = "SELECT part, COUNT(*) AS n WITHIN 2000, SUM(amount) AS s WITHIN 100000 FROM events GROUP BY part"
CONFIG = """
[tables.events]
source = "events.parquet"
unit = {{ column = "user_id" }}
rows_per_unit = 5
row_key = ["event_id"]
[tables.events.budget]
epsilon = 10.0
delta = 1e-6
[tables.events.columns.part]
categories = {parts}
[tables.events.columns.amount]
clip = [0, 100]
"""
# Two ways to write it: DuckDB turns the first into a heap for each user, and sorts the second. The faster counts.
BY_HAND = tuple(
    f"""
SELECT part, count(*), sum(least(greatest(amount, 0), 100)) FROM (
    SELECT part, amount, row_number() OVER (
        PARTITION BY user_id ORDER BY md5('secret/row/' || user_id || '/' || event_id){tie}) AS place
    FROM read_parquet('events.parquet') WHERE user_id IS NOT NULL AND part BETWEEN 0 AND 49
) WHERE place <= 5 GROUP BY part
"""
    for tie in ("", ", event_id")
)


def make(folder: Path, rows: int) -> None:
    import duckdb

    users = max(1, min(1_000_000, rows // 10))
    duckdb.sql(
        f"COPY (SELECT (hash(i) % {users})::BIGINT AS user_id, (hash(i + 7) % 50)::INTEGER AS part, "
        f"(hash(i * 3) % 1100)::DOUBLE / 10 AS amount, i AS event_id FROM range({rows}) t(i)) "
        f"TO '{folder}/events.parquet'"
    )
    (folder / "brdp.toml").write_text(CONFIG.format(parts=list(range(50))))
    run("compile", folder)


def through_curator() -> float:
    import brdp

    Path("brdp-ledger.sqlite").unlink(missing_ok=True)
    with brdp.open("brdp.toml") as curator:
        curator.price(QUESTION)
        start = time.perf_counter()
        assert len(curator.ask(QUESTION)) == 50
        return time.perf_counter() - start


def write_compiled() -> float:
    """Write what the curator sends DuckDB for the question, as a script; takes no time that counts."""
    from brdp.catalog.load import load_catalog
    from brdp.data import BoundingKey, DuckDBEngine, compile_query, open_source
    from brdp.data.duckdb_engine import HEAPS, SETUP
    from brdp.query import as_query

    table, key = load_catalog("brdp.toml").table("events"), BoundingKey(bytes(32))
    with open_source(table.source) as engine:
        compiled = compile_query(as_query(QUESTION), table=table, source=engine.table, key=key)
        sql = engine.sql(compiled.expression)
    view = f"CREATE VIEW {DuckDBEngine.NAME} AS SELECT * FROM read_parquet('events.parquet')"
    optimizers = f"SET GLOBAL disabled_optimizers = '{HEAPS}'"
    Path("compiled.sql").write_text(";\n".join([*SETUP, optimizers, view, sql]))
    return 0.0


def in_duckdb(text: str) -> float:
    import duckdb

    *before, question = text.split(";\n")
    for statement in before:
        duckdb.execute(statement)
    start = time.perf_counter()
    assert len(duckdb.execute(question).fetchall()) == 50
    return time.perf_counter() - start


def with_pipeline_dp() -> float:
    import duckdb
    import pipeline_dp

    rows = duckdb.sql("SELECT user_id, part, amount FROM 'events.parquet'").fetchall()
    start = time.perf_counter()
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-6)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    parameters = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.SUM],
        max_partitions_contributed=5,
        max_contributions_per_partition=1,
        min_value=0,
        max_value=100,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )
    found = engine.aggregate(rows, parameters, extractors, public_partitions=list(range(50)))
    accountant.compute_budgets()
    assert len(list(found)) == 50
    return time.perf_counter() - start


def with_opendp() -> float:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib", "honest-but-curious")
    frame = pl.scan_parquet("events.parquet")
    start = time.perf_counter()
    context = dp.Context.compositor(
        data=frame,
        privacy_unit=dp.unit_of(contributions=5),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-6),
        split_evenly_over=1,
        margins=[
            dp.polars.Margin(max_length=ROWS_FOR_PEERS),
            dp.polars.Margin(
                by=["part"], max_length=ROWS_FOR_PEERS, max_groups=50, invariant="keys"
            ),
        ],
    )
    query = (
        context.query()
        .group_by("part")
        .agg(dp.len(), pl.col("amount").fill_null(0.0).fill_nan(0.0).dp.sum(bounds=(0.0, 100.0)))
    )
    assert len(query.release().collect()) == 50
    return time.perf_counter() - start


RUNS = {
    "curator": through_curator,
    "by hand": lambda: in_duckdb(BY_HAND[0]),
    "by hand, otherwise": lambda: in_duckdb(BY_HAND[1]),
    "compile": write_compiled,
    "compiled": lambda: in_duckdb(Path("compiled.sql").read_text()),
    "pipeline-dp": with_pipeline_dp,
    "OpenDP": with_opendp,
}


def run(name: str, folder: Path) -> tuple[float, float]:
    """Seconds and peak megabytes of one run, in a process of its own."""
    # OpenDP works with one version of Polars alone, which `make bench` puts beside the other
    beside = {"PYTHONPATH": str(POLARS_OF_OPENDP)} if name == "OpenDP" else {}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), "--run", name],
        check=False,
        cwd=folder,
        env={**os.environ, **beside},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    seconds, megabytes = json.loads(done.stdout.splitlines()[-1])
    return seconds, megabytes


def against_sql(folder: Path, rounds: int) -> bool:
    sides = {name: [] for name in ("curator", "by hand", "by hand, otherwise", "compiled")}
    for _ in range(rounds):
        for name, runs in sides.items():
            runs.append(run(name, folder))
        print(
            "  " + ", ".join(f"{name} {runs[-1][0]:.2f} s" for name, runs in sides.items()),
            flush=True,
        )
    seconds = {name: min(seconds for seconds, _ in runs) for name, runs in sides.items()}
    peak = {name: min(megabytes for _, megabytes in runs) for name, runs in sides.items()}
    ratio = seconds["curator"] / min(seconds["by hand"], seconds["by hand, otherwise"])
    more = peak["curator"] - peak["compiled"]
    good = ratio <= SLOWER and more <= MEGABYTES
    print(
        f"curator / hand-written SQL {ratio:.2f} (at most {SLOWER}), Python {more:.0f} MB beyond DuckDB "
        f"(at most {MEGABYTES}): {'met' if good else 'MISSED'}\n"
        + "peaks: "
        + ", ".join(f"{name} {megabytes:.0f} MB" for name, megabytes in peak.items())
    )
    return good


def against_peers(folder: Path) -> bool:
    good = True
    ours = min(run("curator", folder)[0] for _ in range(3))
    for name, module, least in (
        ("pipeline-dp", "pipeline_dp", PIPELINE),
        ("OpenDP", "opendp", 1.0),
    ):
        installed = importlib.util.find_spec(module) is not None
        if not installed or (name == "OpenDP" and not POLARS_OF_OPENDP.is_dir()):
            print(f"{name}: NOT MEASURED, it is not installed")
            continue
        seconds, _ = run(name, folder)
        ratio = seconds / ours
        good &= ratio >= least
        print(
            f"{name} / curator {ratio:.1f} (at least {least}; {seconds:.2f} s and {ours:.2f} s): "
            f"{'met' if ratio >= least else 'MISSED'}"
        )
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--run", choices=tuple(RUNS), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        seconds = RUNS[args.run]()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps([seconds, peak]))
        return 0
    rows = args.rows or (100_000_000 if args.full else 10_000_000)
    with tempfile.TemporaryDirectory() as name:
        make(Path(name), rows)
        print(f"{rows:,} rows")
        good = against_sql(Path(name), 3)
    with tempfile.TemporaryDirectory() as name:
        make(Path(name), ROWS_FOR_PEERS)
        print(f"{ROWS_FOR_PEERS:,} rows")
        good &= against_peers(Path(name))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
