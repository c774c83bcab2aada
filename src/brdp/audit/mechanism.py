"""What is audited: a black box that answers on two neighbouring inputs."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brdp import _validate
from brdp.errors import InvalidInput, NotPossible
from brdp.noise.base import Floats, Noise
from brdp.noise.sampler import sampler_for

# More columns than this would need more draws than anyone has.
MOST_COLUMNS = 4096
# Stands for infinity and what is near it, and twice below 0 for NaN, where answers are sorted into cells.
HUGE = 1e300


class Mechanism(abc.ABC):
    """Answers on two inputs, world 0 and world 1, that privacy must keep apart from nobody."""

    __slots__ = ()

    @property
    @abc.abstractmethod
    def columns(self) -> int:
        """How many numbers one answer holds."""

    @abc.abstractmethod
    def answers(self, world: int, size: int) -> Floats:
        """Return `size` independent answers on the input of that world, as rows."""


@final
class Black(Mechanism):
    """A function (input, size) -> array, called on one of two inputs; nothing else is known of it.

    It returns one number or one row of numbers per answer. Whatever it discloses belongs into the row: a
    flag, a count of rounds, the time taken.
    """

    __slots__ = ("_columns", "_function", "_inputs")

    def __init__(
        self, function: Callable[[Any, int], ArrayLike], *, inputs: Sequence[Any] = (0, 1)
    ) -> None:
        if len(inputs) != 2:
            raise InvalidInput("inputs", expected="two neighbouring inputs", got=inputs)
        self._function = function
        self._inputs = tuple(inputs)
        self._columns: int = self._call(0, 2).shape[1]

    @property
    def columns(self) -> int:
        return self._columns

    def answers(self, world: int, size: int) -> Floats:
        return self._call(world, size)

    def _call(self, world: int, size: int) -> Floats:
        answers = self._function(self._inputs[world], size)
        try:
            if np.iscomplexobj(answers):
                raise TypeError("half of a complex number would be left out")
            rows = np.asarray(answers, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(
                "mechanism",
                expected=f"{size} numbers, or {size} rows of numbers",
                got=type(answers),
                remedy=f"As an array of floats: {error}",
            ) from error
        rows = rows[:, None] if rows.ndim == 1 else rows
        if rows.ndim != 2 or rows.shape[0] != size or not 1 <= rows.shape[1] <= MOST_COLUMNS:
            raise InvalidInput(
                "mechanism",
                expected=f"{size} numbers, or {size} rows of the same 1 to {MOST_COLUMNS} numbers",
                got=f"an array of shape {rows.shape}",
                remedy="The function takes (input, size) and returns that many independent answers.",
            )
        # an answer that is no number is an answer too, and one that may tell worlds apart
        return np.where(np.isnan(rows), -2 * HUGE, np.clip(rows, -HUGE, HUGE))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """`count` releases of one noise, on a query that the unit moves by `sensitivity` if sampled."""

    noise: Noise
    sensitivity: float = 1.0
    count: int = 1
    sampling_rate: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", _validate.positive(sensitivity=self.sensitivity))
        object.__setattr__(self, "count", _validate.whole(count=self.count))
        object.__setattr__(
            self, "sampling_rate", _validate.probability(sampling_rate=self.sampling_rate)
        )

    @property
    def shift(self) -> float:
        """By how much the answer moves: on the integers by whole steps only."""
        return float(np.floor(self.sensitivity)) if self.noise.lattice else self.sensitivity

    def draw(self, size: int) -> NDArray[Any]:
        """Draw the noise: integers as a release draws them, reals by the literal loop."""
        return sampler_for(self.noise).draw(size) if self.noise.lattice else self.noise.sample(size)


@final
class Additive(Mechanism):
    """Noise added to 0 in world 0, and in world 1 to the most that one unit can add."""

    __slots__ = ("releases",)

    def __init__(self, releases: Sequence[Release]) -> None:
        self.releases = tuple(releases)
        if not self.releases:
            raise InvalidInput("releases", expected="at least one", got=releases)
        if self.columns > MOST_COLUMNS:
            raise NotPossible(
                f"expected at most {MOST_COLUMNS} releases to audit together, got {self.columns}. "
                "Audit fewer: what holds for each release is what the account composes."
            )

    @property
    def columns(self) -> int:
        return sum(release.count for release in self.releases)

    def answers(self, world: int, size: int) -> Floats:
        rows = np.empty((size, self.columns))
        column = 0
        coins = np.random.default_rng()
        for release in self.releases:
            for _ in range(release.count):
                rows[:, column] = release.draw(size)
                if world == 1:
                    # a fresh coin per unit and query (theory: sampling units)
                    sampled = coins.random(size) < release.sampling_rate
                    rows[:, column] += release.shift * sampled
                column += 1
        return rows
