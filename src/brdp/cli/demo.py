"""`brdp demo`: plan a count of the bundled table, draw its noise, and show what it cost."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "demo",
        help="plan a count of the bundled Adult table and draw it",
        description="Count the people in the bundled Adult census table who are over 60, with noise "
        "within 20 in 95 of 100 draws.",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Plan a count, draw it, and print answer, bound, acceptance and cost."""
    import csv
    import gzip

    from brdp import datasets
    from brdp.planning import plan
    from brdp.planning.result import percent

    within = 20
    found = plan(sensitivity=1, within=within, confidence=0.95, delta=1e-6, integer=True)
    with gzip.open(datasets.adult_path(), "rt", newline="") as file:
        truth = sum(int(row["age"]) > 60 for row in csv.DictReader(file))
    # a demonstration on public data: `sample` is not for releases
    answer = truth + int(found.noise.sample(1)[0])
    print("How many people in the Adult census table are over 60?\n")
    print(f"  answer      {answer:,}")
    print(f"  bound       within ±{within} with probability {percent(found.acceptance)}")
    print(f"  noise       {found.noise}")
    print(f"  cost        epsilon {found.epsilon:.4f} at delta {found.delta:g}")
    print("\nThis table is public; noise for your own data will come from a secure sampler.")
    return 0
