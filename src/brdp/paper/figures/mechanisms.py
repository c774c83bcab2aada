"""The six mechanisms of the paper's experiments, and their exact counterparts, at one budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from brdp.noise import Noise
from brdp.paper.formulas.budget import (
    KernelFor,
    Split,
    gaussian_for,
    laplace_with_delta_for,
    optimal_split,
)
from brdp.paper.formulas.kernel import Floats
from brdp.paper.formulas.noise import acceptance_rate
from brdp.paper.formulas.subsampling import Query, before_amplification, optimal_sampling_rate
from brdp.paper.truth import TrueCost, exact_plan, split_noise, true_cost
from brdp.privacy.subsample import subsample

KERNELS: tuple[tuple[str, str, KernelFor], ...] = (
    ("Lap", "laplace", laplace_with_delta_for),
    ("Gau", "gaussian", gaussian_for),
)


LEAST_SAMPLE = 0.1
"""Where the search for a sampling rate starts: from 0 it ends at samples of a few people (E16)."""


@final
@dataclass(frozen=True)
class Mechanism:
    """Noise, the sample it is added to, and the acceptance its formula claims (nan: none claimed)."""

    name: str
    noise: Noise
    sampling_rate: float
    claimed: float

    def answers(self, values: Floats, *, count: int, rng: np.random.Generator) -> Floats:
        """Errors of `count` answers to the sum of `values` (a Poisson sample, rescaled, when p < 1)."""
        noise = self.noise.sample(count, rng=rng)
        if self.sampling_rate >= 1.0:
            return noise
        kept = rng.random((count, values.size), dtype=np.float32) < self.sampling_rate
        estimate = kept @ values / self.sampling_rate
        return np.asarray(estimate - values.sum() + noise)


@final
@dataclass(frozen=True)
class Budget:
    """A promise for one release of a query."""

    epsilon: float
    delta: float
    sensitivity: float
    within: float


def cost_of(mechanism: Mechanism, budget: Budget) -> TrueCost:
    """What a mechanism costs exactly; a sampled one with the sensitivity its rescaling gives it."""
    p = mechanism.sampling_rate
    if p < 1.0:
        curve = subsample(mechanism.noise, sensitivity=budget.sensitivity / p, sampling_rate=p)
    else:
        curve = mechanism.noise.privacy(sensitivity=budget.sensitivity)
    return true_cost(curve, epsilon=budget.epsilon, delta=budget.delta)


def sampling_rates(budgets: list[Budget], *, query: Query, population: int) -> list[float]:
    """Algorithm 4's sampling rate for each budget, Gaussian kernel."""
    found = optimal_sampling_rate(
        epsilon=np.array([b.epsilon for b in budgets]),
        delta=np.array([b.delta for b in budgets]),
        sensitivity=np.array([b.sensitivity for b in budgets]),
        lower=np.array([-b.within for b in budgets]),
        upper=np.array([b.within for b in budgets]),
        population=np.full(len(budgets), float(population)),
        query=query,
        tolerance=1e-3,
        least=LEAST_SAMPLE,
    )
    return [float(p) for p in np.minimum(found.sampling_rate, 1.0 - 1.0 / (2 * population))]


def paper_mechanisms(budget: Budget, *, sampling_rate: float) -> list[Mechanism]:
    """Lap-DP, Gau-DP, and the recycled and sampled ones by Algorithms 1 and 2 and Theorem 4."""
    plain, recycled, sampled = [], [], []
    for short, _, kernel_for in KERNELS:
        kernel = kernel_for(
            *(np.asarray(x) for x in (budget.epsilon, budget.delta, budget.sensitivity))
        )
        claimed = float(kernel.acceptance(-budget.within, budget.within))
        plain.append(Mechanism(f"{short}-DP", kernel.noise(), 1.0, claimed))
        split = _split(budget, kernel_for)
        recycled.append(_mechanism(f"{short}-BRDP", split, 1.0))
        e1, d1 = before_amplification(
            epsilon=budget.epsilon, delta=budget.delta, sampling_rate=sampling_rate
        )
        inner = Budget(float(e1), min(float(d1), 0.5), budget.sensitivity, budget.within)
        sampled.append(_mechanism(f"SMP-{short}-BRDP", _split(inner, kernel_for), sampling_rate))
    return [*plain, *recycled, *sampled]


def exact_mechanisms(budget: Budget, *, sampling_rate: float) -> list[Mechanism]:
    """The same columns made to keep the promise: exact plans, the sampled ones at Delta/p."""
    plain, recycled, sampled = [], [], []
    e1, d1 = before_amplification(
        epsilon=budget.epsilon, delta=budget.delta, sampling_rate=sampling_rate
    )
    for short, word, kernel_for in KERNELS:
        kernel = kernel_for(
            *(np.asarray(x) for x in (budget.epsilon, budget.delta, budget.sensitivity))
        )
        claimed = float(kernel.acceptance(-budget.within, budget.within))
        plain.append(Mechanism(f"{short}-DP", kernel.noise(), 1.0, claimed))
        found = exact_plan(
            sensitivity=budget.sensitivity,
            within=budget.within,
            epsilon=budget.epsilon,
            delta=budget.delta,
            kernel=word,
        )
        recycled.append(Mechanism(f"{short}-BRDP", found.noise, 1.0, float(found.acceptance)))
        inner = exact_plan(
            sensitivity=budget.sensitivity / sampling_rate,
            within=budget.within,
            epsilon=float(e1),
            delta=min(float(d1), 0.5),
            kernel=word,
        )
        sampled.append(Mechanism(f"SMP-{short}-BRDP", inner.noise, sampling_rate, float("nan")))
    return [*plain, *recycled, *sampled]


def _split(budget: Budget, kernel_for: KernelFor) -> Split:
    return optimal_split(
        epsilon=budget.epsilon,
        delta=budget.delta,
        sensitivity=budget.sensitivity,
        lower=-budget.within,
        upper=budget.within,
        kernel_for=kernel_for,
    )


def _mechanism(name: str, split: Split, sampling_rate: float) -> Mechanism:
    claimed = acceptance_rate(split.kernel, lower=split.lower, upper=split.upper, rate=split.rate)
    return Mechanism(name, split_noise(split), sampling_rate, float(claimed))
