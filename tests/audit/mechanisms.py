"""Mechanisms that break promises, and the settings of honest ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

import brdp
from brdp.noise.sampler import sampler_for

Function = Callable[[float, int], NDArray[np.float64]]


def laplace(scale: float) -> Function:
    rng = np.random.default_rng()
    return lambda x, size: x + rng.laplace(scale=scale, size=size)


def recycles_the_answer(kernel: brdp.Kernel, *, within: float, rate: float) -> Function:
    """The recycler applied to the noisy answer instead of the noise: bounds around 0, not around the truth."""
    rng = np.random.default_rng()

    def answers(x: float, size: int) -> NDArray[np.float64]:
        kept = np.empty(0)
        while len(kept) < size:
            noisy = x + kernel.sample(2 * size, rng)
            keep = np.where(np.abs(noisy) <= within, 1.0, 1.0 - rate)
            kept = np.concatenate([kept, noisy[rng.random(2 * size) < keep]])
        return kept[:size]

    return answers


def publishes_inside(noise: brdp.Noise, *, within: float) -> Function:
    """The honest answer, and beside it whether its noise was inside the bounds."""

    def answers(x: float, size: int) -> NDArray[np.float64]:
        drawn = sampler_for(noise).draw(size)
        return np.column_stack([x + drawn, np.abs(drawn) <= within])

    return answers


def publishes_rounds(kernel: brdp.Kernel, *, within: float, rate: float) -> Function:
    """The honest answer, and how many rounds it took: independent of the answer, hence harmless."""
    rng = np.random.default_rng()

    def answers(x: float, size: int) -> NDArray[np.float64]:
        rows = np.empty((size, 2))
        left = np.arange(size)
        rounds = 0
        while len(left):
            rounds += 1
            drawn = kernel.sample(len(left), rng)
            keep = np.where(np.abs(drawn) <= within, 1.0, 1.0 - rate)
            kept = rng.random(len(left)) < keep
            rows[left[kept], 0] = x + drawn[kept]
            rows[left[kept], 1] = rounds
            left = left[~kept]
        return rows

    return answers


def honest(limit: int) -> Iterator[tuple[brdp.Noise, int]]:
    """brdp's own noises with a sensitivity: kernels, scales, recyclers, one level and several."""
    made = 0
    kernels: list[tuple[brdp.Kernel, float]] = []
    for scale in (0.6, 1.5, 4.0, 25.0, 3000.0):
        kernels.append((brdp.DiscreteLaplace(scale), scale))
        kernels.append((brdp.DiscreteGaussian(scale), scale))
    for step in (1, 7):
        kernels.append(
            (brdp.Staircase(core=step // 2, step=step, drop=0.7, integer=True), 2.0 * step)
        )
    while True:
        for kernel, scale in kernels:
            for recycler in range(9):
                sensitivity = max(1, round(scale / 4)) if recycler % 2 else 1
                bound = max(1, round(scale))
                noises: list[brdp.Noise] = [
                    kernel,
                    brdp.Recycled(kernel, within=bound, rate=0.5),
                    brdp.Recycled(kernel, within=bound, rate=0.99),
                    brdp.Recycled(kernel, within=(-bound, 2 * bound), rate=0.7),
                    brdp.Recycled(kernel, within=2 * bound, rate=1 - 1e-6),
                    brdp.Recycled(kernel, levels=[(bound, 1.0), (3 * bound, 0.4), (math.inf, 0.1)]),
                    brdp.Recycled(kernel, within=0, rate=0.3),
                    brdp.Recycled(kernel, within=5 * bound, rate=0.9),
                    brdp.Recycled(kernel, within=bound, rate=0.05),
                ]
                yield noises[recycler], sensitivity
                made += 1
                if made == limit:
                    return
