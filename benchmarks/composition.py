"""What many releases cost together: how fast and how tightly it is known, beside the peers, in one run.

Claims (issue: composition), for 1,000 and 10,000 releases of each noise, at delta 1e-5, on the same cases:
1. brdp is at least 10 times faster than every peer that can run the case, and the interval it states for
   epsilon is at least 10 times narrower than the peer's error: than the interval that the peer states, or than
   the distance of its one number from brdp's interval.
2. Its cost does not grow with the number of equal releases: 1,000,000 take at most twice as long as 1,000.
3. No case needs more than 100 MB over what the imports took (peak resident memory, a fresh process each; Linux).

Peers: the privacy loss distributions of dp-accounting in steps of 1e-4 (recycled noise enters through its
connect-the-dots constructor, which is given the exact curve: it has no such noise of its own),
prv-accountant with eps_error .01 (plain noise and subsampled Gaussian, which it knows), and the PRV accountant
of Opacus with its eps_error of .01 (subsampled Gaussian, which is all it knows). Opacus comes without torch:
its accountant needs numpy and scipy only, so its package is entered beside its own __init__ (opacus_prv).

Prints every ratio and exits 1 if a claim is missed or a peer is absent. `--full` repeats more often. Guide
figures for a machine of its own (5 ms for 1,000 recycled, 150 ms for 200 kinds, 20 ms for a million) are
printed beside what was measured, without a limit. Nothing is remembered from one repetition to the next: each
has slightly different parameters, and brdp's answer to the unchanged case is what is compared.
"""

from __future__ import annotations

import importlib.util
import math
import statistics
import subprocess
import sys
import time
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np

import brdp

DELTA, STEP, EPS_ERROR = 1e-5, 1e-4, 0.01
COUNTS = (1_000, 10_000)
LEAST_RATIO, MOST_GROWTH, MOST_MEGABYTES = 10.0, 2.0, 100.0
FULL = "--full" in sys.argv[1:]
REPEATS, PEER_REPEATS = (15, 5) if FULL else (5, 1)
SIGMA = 30.7495661320  # one release costs (0.1, 1e-5)
KINDS = 200


@dataclass(frozen=True)
class Case:
    """Releases that are composed: how brdp says it, and whoever else can; each takes a nudge of its scale."""

    name: str
    ours: Callable[[float], dict[brdp.Curve, int]]
    peers: dict[str, Callable[[float], tuple[float, float]]]
    guide: float | None = None


# ---- peers: each returns the bounds it states; a single number stands for both -----------------------------


def recycled_pld(curve: brdp.Curve) -> object:
    """dp-accounting's privacy loss distribution of a symmetric release, from its exact curve."""
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    most = curve.largest_loss if math.isfinite(curve.largest_loss) else curve.epsilon(delta=1e-15)
    reach = math.ceil(most / STEP)
    above = curve.delta(epsilon=STEP * np.arange(reach + 1))
    # at -e delta is 1 - exp(-e) + exp(-e) delta(e): P and Q change places
    shrunk = np.exp(-STEP * np.arange(reach, 0, -1))
    deltas = np.concatenate([1 - shrunk + shrunk * above[:0:-1], above])
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(STEP, -reach, reach, deltas)
    return privacy_loss_distribution.PrivacyLossDistribution(pmf)


def by_plds(*releases: tuple[object, int]) -> tuple[float, float]:
    composed = [pld if count == 1 else pld.self_compose(count) for pld, count in releases]  # type: ignore[attr-defined]
    epsilon = reduce(lambda one, other: one.compose(other), composed).get_epsilon_for_delta(DELTA)
    return epsilon, epsilon


def plain_pld(kind: str, scale: float, count: int, **options: float) -> tuple[float, float]:
    from dp_accounting.pld import privacy_loss_distribution

    make = getattr(privacy_loss_distribution, f"from_{kind}_mechanism")
    return by_plds((make(scale, value_discretization_interval=STEP, **options), count))


def by_prv_accountant(prv: object, count: int) -> tuple[float, float]:
    from prv_accountant import PRVAccountant

    accountant = PRVAccountant(
        prvs=prv, max_self_compositions=count, eps_error=EPS_ERROR, delta_error=DELTA / 1000
    )
    lower, _, upper = accountant.compute_epsilon(DELTA, [count])
    return lower, upper


def opacus_prv() -> types.ModuleType:
    """opacus.accountants.prv, without opacus/__init__.py, which imports torch."""
    if "opacus" not in sys.modules:
        found = importlib.util.find_spec("opacus")
        if found is None or not found.submodule_search_locations:
            raise ImportError("opacus is not installed")
        root = Path(found.submodule_search_locations[0])
        for name in ("opacus", "opacus.accountants", "opacus.accountants.analysis"):
            package = types.ModuleType(name)
            package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
            sys.modules[name] = package
        # the accountant's base class names optimizers in a type only
        optimizers = types.ModuleType("opacus.optimizers")
        optimizers.DPOptimizer = object
        sys.modules["opacus.optimizers"] = optimizers
    return importlib.import_module("opacus.accountants.prv")


def by_opacus(sigma: float, rate: float, count: int) -> tuple[float, float]:
    accountant = opacus_prv().PRVAccountant()
    accountant.history = [(sigma, rate, count)]
    epsilon = float(accountant.get_epsilon(DELTA, eps_error=EPS_ERROR))
    return epsilon, epsilon


# ---- cases ------------------------------------------------------------------------------------------------


def plain_cases(count: int) -> list[Case]:
    import prv_accountant

    return [
        Case(
            f"Gaussian {SIGMA:.4f}, {count:,}",
            lambda nudge: {brdp.Gaussian(SIGMA * nudge).privacy(): count},
            {
                "dp-accounting": lambda nudge: plain_pld("gaussian", SIGMA * nudge, count),
                "prv-accountant": lambda nudge: by_prv_accountant(
                    prv_accountant.GaussianMechanism(SIGMA * nudge), count
                ),
            },
        ),
        Case(
            f"Laplace 10, {count:,}",
            lambda nudge: {brdp.Laplace(10 * nudge).privacy(): count},
            {
                "dp-accounting": lambda nudge: plain_pld("laplace", 10 * nudge, count),
                "prv-accountant": lambda nudge: by_prv_accountant(
                    prv_accountant.LaplaceMechanism(1 / (10 * nudge)), count
                ),
            },
        ),
        Case(
            f"subsampled Gaussian 1, rate .01, {count:,}",
            lambda nudge: {brdp.subsample(brdp.Gaussian(nudge), sampling_rate=0.01): count},
            {
                "dp-accounting": lambda nudge: plain_pld(
                    "gaussian", nudge, count, sampling_prob=0.01
                ),
                "prv-accountant": lambda nudge: by_prv_accountant(
                    prv_accountant.PoissonSubsampledGaussianMechanism(
                        sampling_probability=0.01, noise_multiplier=nudge
                    ),
                    count,
                ),
                "Opacus": lambda nudge: by_opacus(nudge, 0.01, count),
            },
        ),
    ]


def recycled(kernel: type[brdp.Gaussian] | type[brdp.Laplace], scale: float) -> brdp.Curve:
    return brdp.Recycled(kernel(scale), within=1.0, rate=0.5).privacy()


def kinds(nudge: float) -> list[brdp.Curve]:
    """Distinct recycled Gaussians and Laplaces, every scale, bound and rate another."""
    return [
        brdp.Recycled(
            (brdp.Gaussian, brdp.Laplace)[k % 2]((8 + 0.05 * k) * nudge),
            within=0.5 + 0.01 * k,
            rate=0.2 + 0.003 * k,
        ).privacy()
        for k in range(KINDS)
    ]


def recycled_cases(count: int) -> list[Case]:
    return [
        Case(
            f"recycled {kernel.__name__} {scale}, {count:,}",
            lambda nudge, kernel=kernel, scale=scale: {recycled(kernel, scale * nudge): count},
            {
                "dp-accounting": lambda nudge, kernel=kernel, scale=scale: by_plds(
                    (recycled_pld(recycled(kernel, scale * nudge)), count)
                )
            },
            guide=5.0 if count == COUNTS[0] else None,
        )
        for kernel, scale in ((brdp.Gaussian, 2.5), (brdp.Laplace, 1.2))
    ]


def distinct_case() -> Case:
    return Case(
        f"{KINDS} distinct recycled mechanisms",
        lambda nudge: dict.fromkeys(kinds(nudge), 1),
        {"dp-accounting": lambda nudge: by_plds(*((recycled_pld(c), 1) for c in kinds(nudge)))},
        guide=150.0,
    )


def cases() -> list[Case]:
    found = [case for count in COUNTS for case in (*plain_cases(count), *recycled_cases(count))]
    return [*found, distinct_case()]


# ---- measuring --------------------------------------------------------------------------------------------


def milliseconds(run: Callable[[float], object], repeats: int) -> float:
    """The median time of calls that have nothing in common but the work."""
    taken = []
    for i in range(1, repeats + 1):
        start = time.perf_counter()
        run(1 + 1e-7 * i)
        taken.append(1e3 * (time.perf_counter() - start))
    return statistics.median(taken)


def epsilon_of(case: Case) -> Callable[[float], tuple[float, float]]:
    return lambda nudge: brdp.compose(case.ours(nudge)).epsilon_bounds(delta=DELTA)


def compare(case: Case) -> bool:
    lower, upper = epsilon_of(case)(1.0)  # first, so that what is imported lazily is there
    fast, gap = milliseconds(epsilon_of(case), REPEATS), upper - lower
    guide = f" (guide {case.guide:g} ms)" if case.guide else ""
    print(f"{case.name}: {fast:.1f} ms{guide}, epsilon {upper:.10g}, gap {gap:.1e}")
    held = True
    for peer, run in case.peers.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the peers divide by zero on the way
                low, high = run(1.0)
                slow = milliseconds(run, PEER_REPEATS)
        except ImportError as absent:
            print(f"  {peer.upper()} IS ABSENT ({absent}): NOT MEASURED; `make bench` installs it")
            held = False
            continue
        error = high - low if high > low else max(high - upper, lower - high, 0.0)
        faster, tighter = slow / fast, error / gap
        good = faster >= LEAST_RATIO and tighter >= LEAST_RATIO
        below = "; BELOW THE TRUTH" if high < lower else ""
        print(
            f"  {peer}: {slow:.0f} ms, epsilon {high:.10g}{below}: {faster:.1f} times faster, "
            f"{tighter:.3g} times tighter (at least {LEAST_RATIO:g} each: {'held' if good else 'MISSED'})"
        )
        held &= good
    return held


def growth() -> bool:
    """Equal releases, ever more of them: the time of one answer."""
    held = True
    for kernel, scale in ((brdp.Gaussian, 2.5), (brdp.Laplace, 1.2)):
        taken = {}
        for count in (1_000, 30_000, 1_000_000):

            def run(
                nudge: float, kernel: type = kernel, scale: float = scale, count: int = count
            ) -> object:
                return recycled(kernel, scale * nudge).compose(count).epsilon_bounds(delta=DELTA)

            run(1.0)
            taken[count] = milliseconds(run, 3 * REPEATS)
        ratio = taken[1_000_000] / taken[1_000]
        held &= ratio <= MOST_GROWTH
        said = ", ".join(f"{count:,} in {took:.1f} ms" for count, took in taken.items())
        print(
            f"recycled {kernel.__name__}: {said} (guide for a million 20 ms); the most over the fewest "
            f"{ratio:.2f} (at most {MOST_GROWTH:g}: {'held' if ratio <= MOST_GROWTH else 'MISSED'})"
        )
    return held


CHILD = """
import sys
sys.path.insert(0, sys.argv[2])
import composition

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))

before = peak()
composition.epsilon_of(composition.cases()[int(sys.argv[1])])(1.0)
print((peak() - before) * 1024)
"""


def memory() -> bool:
    """The peak over the imports, each case in a process of its own."""
    if not sys.platform.startswith("linux"):
        print("memory: NOT MEASURED, for the peak of a process is read from Linux's /proc")
        return False
    most = {}
    for place, case in enumerate(cases()):
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(place), str(Path(__file__).parent)],
            capture_output=True,
            text=True,
            check=True,
        )
        most[case.name] = int(done.stdout) / 1e6
    name = max(most, key=lambda key: most[key])
    held = most[name] <= MOST_MEGABYTES
    print(
        f"memory over the imports: at most {most[name]:.0f} MB ({name}) "
        f"(at most {MOST_MEGABYTES:g}: {'held' if held else 'MISSED'})"
    )
    return held


if __name__ == "__main__":
    results = [*map(compare, cases()), growth(), memory()]
    sys.exit(0 if all(results) else 1)
