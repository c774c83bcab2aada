"""How fast noise for releases is drawn: secure, certified, on the integers.

Claims, all measured in this run on this machine, each the best of several runs:
1. drawing 10 million secure values takes at most 2 times as long as numpy's insecure `Generator.laplace`
   (ratio of rates at least 0.5), for narrow and for recycled noise;
2. its rate is at least 50 times that of OpenDP's vectorised exact discrete Laplace and discrete Gaussian;
3. one single draw with a warm table takes at most 50 microseconds (median).

Also printed, without a limit: wide laws, building a table, the exact loop. Peers come from
requirements/bench.lock; a peer that is absent is named in capitals, and its claim counts as NOT MEASURED.
Exits 1 if a claim is missed. `--full` repeats more often and draws 10 million with the peers' slower sizes.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

import brdp
from brdp.noise.release import bits
from brdp.noise.sampler import TableSampler, exact_sampler_for, sampler_for

SIZE = 10_000_000
FULL = "--full" in sys.argv
REPEATS = 7 if FULL else 3
PEER_SIZE = 1_000_000 if FULL else 200_000
SINGLES = 20_000

USUAL: list[tuple[str, brdp.Noise]] = [
    ("discrete Laplace 4", brdp.DiscreteLaplace(4.0)),
    (
        "recycled discrete Laplace 4, within 3, q .4",
        brdp.Recycled(brdp.DiscreteLaplace(4.0), within=3, rate=0.4),
    ),
    ("discrete Gaussian 10", brdp.DiscreteGaussian(10.0)),
    (
        "recycled discrete Gaussian 1024",
        brdp.Recycled(brdp.DiscreteGaussian(1024.0), within=1024, rate=0.8),
    ),
]
WIDE: list[tuple[str, brdp.Noise]] = [
    ("discrete Laplace 1e4", brdp.DiscreteLaplace(1e4)),
    ("discrete Gaussian 1e5", brdp.DiscreteGaussian(1e5)),
    ("discrete Laplace 1e6", brdp.DiscreteLaplace(1e6)),
]


def best(call: Callable[[], object], repeats: int = REPEATS) -> float:
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)


def verdict(name: str, ratio: float, *, least: float) -> bool:
    held = ratio >= least
    print(f"  {name}: {ratio:.3g} (at least {least:g}: {'held' if held else 'MISSED'})")
    return held


def against_numpy() -> bool:
    print(f"{SIZE:,} draws, seconds (best of {REPEATS})")
    rng = np.random.default_rng()
    reference = best(lambda: rng.laplace(size=SIZE))
    print(f"  numpy Generator.laplace, insecure: {reference:.3f}")
    held = True
    for name, noise in USUAL:
        sampler = sampler_for(noise)
        taken = best(lambda sampler=sampler: sampler.draw(SIZE))
        print(f"  {name}: {taken:.3f}, {SIZE / taken / 1e6:.0f} million a second")
        held &= verdict("rate / numpy's", reference / taken, least=0.5)
    print("wide laws, in two stages (no limit)")
    for name, noise in WIDE:
        sampler = sampler_for(noise)
        taken = best(lambda sampler=sampler: sampler.draw(SIZE), 2)
        print(f"  {name}: {taken:.3f}, rate / numpy's {reference / taken:.2f}")
    return held


def against_opendp() -> bool | None:
    try:
        import opendp.prelude as dp
    except ImportError:
        print("OPENDP IS NOT INSTALLED: ITS CLAIM IS NOT MEASURED (make bench installs it)")
        return None
    dp.enable_features("contrib")
    print(
        f"OpenDP {dp.__version__ if hasattr(dp, '__version__') else ''} on a vector of {PEER_SIZE:,}"
    )
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    square = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    zeros = [0] * PEER_SIZE
    pairs = [
        ("discrete Laplace 4", dp.m.make_laplace(*space, scale=4.0), brdp.DiscreteLaplace(4.0)),
        (
            "discrete Gaussian 10",
            dp.m.make_gaussian(*square, scale=10.0),
            brdp.DiscreteGaussian(10.0),
        ),
    ]
    held = True
    for name, peer, noise in pairs:
        theirs = best(lambda peer=peer: peer(zeros), 2) / PEER_SIZE
        sampler = sampler_for(noise)
        ours = best(lambda sampler=sampler: sampler.draw(SIZE)) / SIZE
        print(f"  {name}: theirs {theirs * 1e9:.0f} ns a draw, ours {ours * 1e9:.1f}")
        held &= verdict("rate / OpenDP's", theirs / ours, least=50)
    return held


def single_draws() -> bool:
    print("one draw, warm table, microseconds (median)")
    held = True
    for name, noise in (USUAL[1], WIDE[1]):
        sampler = sampler_for(noise)
        sampler.draw(1)
        taken = []
        for _ in range(SINGLES):
            start = time.perf_counter()
            sampler.draw(1)
            taken.append(time.perf_counter() - start)
        median = statistics.median(taken) * 1e6
        print(f"  {name}: {median:.1f}")
        held &= verdict("limit 50 / median", 50 / median, least=1)
    return held


def other_costs() -> None:
    print("building a table, seconds (no limit)")
    for name, noise in (*USUAL, *WIDE):
        print(f"  {name}: {best(lambda noise=noise: TableSampler(noise), 1):.3f}")
    print("the exact loop, microseconds a draw (no limit)")
    for name, noise in USUAL:
        exact = exact_sampler_for(noise)
        print(f"  {name}: {best(lambda exact=exact: exact.draw(5000), 1) / 5000 * 1e6:.1f}")


def main() -> int:
    if isinstance(bits.new_source(), bits.OperatingSystem):
        print("CRYPTOGRAPHY IS NOT INSTALLED: BITS COME FROM os.urandom, WHICH IS SLOWER")
    held = [against_numpy(), single_draws()]
    other_costs()
    peer = against_opendp()
    missed = held.count(False) + (peer is False)
    print("all that was measured held" if not missed else f"{missed} MISSED")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
