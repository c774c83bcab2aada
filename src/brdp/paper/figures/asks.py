"""What is asked in Figures 7 and 8, and of which people."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np

from brdp.paper.figures.people import People, read_adult, read_gowalla
from brdp.paper.formulas.kernel import Floats
from brdp.paper.formulas.subsampling import AverageQuery, CountQuery, Query, SumQuery


class Ask(ABC):
    """One of the three queries: what each person adds to the total that is released."""

    @abstractmethod
    def amounts(self, values: Floats, sensitivity: float) -> Floats:
        """What each person adds; one person moves the total by at most `sensitivity`."""

    @abstractmethod
    def sampling(self, amounts: Floats) -> Query:
        """Proposition 6's query with its spread estimated from the amounts."""

    @property
    @abstractmethod
    def word(self) -> str:
        """sum, average or count."""


@final
@dataclass(frozen=True)
class AskSum(Ask):
    """The sum of values clipped to [0, sensitivity]."""

    @property
    def word(self) -> str:
        return "sum"

    def amounts(self, values: Floats, sensitivity: float) -> Floats:
        return np.clip(values, 0.0, sensitivity)

    def sampling(self, amounts: Floats) -> Query:
        return SumQuery(float(np.std(amounts)))


@final
@dataclass(frozen=True)
class AskAverage(Ask):
    """The average of values clipped to [0, sensitivity * n]: each person adds value / n."""

    @property
    def word(self) -> str:
        return "average"

    def amounts(self, values: Floats, sensitivity: float) -> Floats:
        return np.asarray(np.clip(values, 0.0, sensitivity * values.size) / values.size)

    def sampling(self, amounts: Floats) -> Query:
        return AverageQuery(float(np.std(amounts) * amounts.size))


@final
@dataclass(frozen=True)
class AskCount(Ask):
    """How many people are above a threshold."""

    above: float

    @property
    def word(self) -> str:
        return "count"

    def amounts(self, values: Floats, sensitivity: float) -> Floats:
        return np.where(values > self.above, sensitivity, 0.0)

    def sampling(self, amounts: Floats) -> Query:
        return CountQuery(float(np.mean(amounts > 0)))


class Source(ABC):
    """Where people come from."""

    @abstractmethod
    def people(self) -> People:
        """Read them."""

    @property
    @abstractmethod
    def name(self) -> str:
        """adult or gowalla."""

    @property
    @abstractmethod
    def unit(self) -> str:
        """What a person's number is counted in."""

    @property
    @abstractmethod
    def path(self) -> Path:
        """The file."""

    @property
    @abstractmethod
    def choices(self) -> tuple[str, ...]:
        """How the paper's words were read."""


@final
@dataclass(frozen=True)
class Adult(Source):
    """UCI Adult; "growth income" is read as capital gain."""

    file: Path

    @property
    def name(self) -> str:
        return "adult"

    @property
    def unit(self) -> str:
        return "thousand dollars"

    @property
    def path(self) -> Path:
        return self.file

    def people(self) -> People:
        return read_adult(self.file)

    @property
    def choices(self) -> tuple[str, ...]:
        return (
            "The paper aggregates 'growth income', which Adult does not have: capital-gain is taken, in "
            "thousand dollars. Data: UCI Adult (Becker and Kohavi 1996), CC BY 4.0.",
            "Counted are people with a capital gain above 0, a share of about 0.08 (the paper's p_c is 0.1).",
        )


@final
@dataclass(frozen=True)
class Gowalla(Source):
    """Gowalla check-ins; a person's duration is from the first check-in to the last."""

    file: Path

    @property
    def name(self) -> str:
        return "gowalla"

    @property
    def unit(self) -> str:
        return "months"

    @property
    def path(self) -> Path:
        return self.file

    def people(self) -> People:
        return read_gowalla(self.file)

    @property
    def choices(self) -> tuple[str, ...]:
        return (
            "The paper's 'total check-in duration' is read as the months between a user's first and last "
            "check-in (the data have no check-out). They span 21 months, which fits the captions' Δ = 22.",
            "Counted are users whose duration is above 6 months.",
        )
