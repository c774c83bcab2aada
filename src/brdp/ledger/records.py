"""What goes into a ledger and what comes out of it: frozen values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, final

from brdp.errors import InvalidInput
from brdp.privacy.filters import Amounts, Filter, FilterState

Json = Mapping[str, Any]
# Whether what was promised with an earlier charge serves whoever asks now.
Serves = Callable[[Json], bool]
LONGEST_TEXT = 1_000_000
LONGEST_NAME = 1_000


@final
@dataclass(frozen=True, slots=True)
class Period:
    """From `start` to before `end`, both with a time zone."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        for name, value in (("start", self.start), ("end", self.end)):
            if not isinstance(value, datetime) or value.tzinfo is None:
                raise InvalidInput(name, expected="a date and time with a time zone", got=value)
            # one zone for all: two times of one zone compare by the clock on the wall, which summer time sets back
            object.__setattr__(self, name, value.astimezone(UTC))
        if not self.start < self.end:
            raise InvalidInput(
                "period", expected="a start before the end", got=(str(self.start), str(self.end))
            )

    def holds(self, time: float) -> bool:
        """Whether a moment (seconds since 1970) lies in it."""
        return self.start <= datetime.fromtimestamp(time, tz=UTC) < self.end

    def to_list(self) -> list[str]:
        """Plain data."""
        return [self.start.isoformat(), self.end.isoformat()]

    def __str__(self) -> str:
        midnights = all(
            time.hour == time.minute == time.second == time.microsecond == 0
            for time in (self.start, self.end)
        )
        if midnights:
            return f"{self.start:%Y-%m-%d} to {self.end:%Y-%m-%d} UTC"
        if (
            self.start.second
            == self.end.second
            == self.start.microsecond
            == self.end.microsecond
            == 0
        ):
            return f"{self.start:%Y-%m-%d %H:%M} to {self.end:%Y-%m-%d %H:%M} UTC"
        return f"{self.start:%Y-%m-%d %H:%M:%S} to {self.end:%Y-%m-%d %H:%M:%S} UTC"


@final
@dataclass(frozen=True, slots=True)
class Request:
    """A charge asked for: who, what, what it costs and what would be released.

    `releases` describes the noise in full, `promise` how exact the answer will be; both are public.
    """

    table: str
    analyst: str
    question: str
    digest: str
    version: str
    price: Amounts
    tau: Fraction
    releases: tuple[Json, ...]
    promise: Json = field(default_factory=dict)
    note: str = ""

    def __post_init__(self) -> None:
        for name in ("table", "analyst", "digest"):
            named(name, getattr(self, name))
        for name in ("question", "version", "note"):
            _text(name, getattr(self, name), longest=LONGEST_TEXT)
        if not isinstance(self.tau, Fraction) or self.tau < 0:
            raise InvalidInput("tau", expected="a fraction, 0 or above", got=self.tau)


def named(argument: str, name: object) -> str:
    """Refuse what is no name: not text, empty, overlong, or not to be stored as it is."""
    _text(argument, name, longest=LONGEST_NAME)
    if not name:
        raise InvalidInput(argument, expected="some text", got="")
    return str(name)


def _text(argument: str, value: object, *, longest: int) -> None:
    if (
        not isinstance(value, str)
        or "\x00" in value
        or len(value) > longest
        or any("\ud800" <= letter <= "\udfff" for letter in value)
    ):
        raise InvalidInput(
            argument,
            expected=f"at most {longest:,} characters of text, without NUL and halves of pairs",
            got=value,
        )


@final
@dataclass(frozen=True, slots=True)
class Granted:
    """A durable charge that this caller alone is to complete: compute, then `Ledger.answer`.

    With `fresh` False it was charged before and interrupted: completing it costs nothing more. What must be
    released is what `charge` describes.
    """

    seq: int
    token: str
    text: str = field(repr=False)
    fresh: bool

    @property
    def charge(self) -> Json:
        """The charge as it is written down."""
        found: Json = json.loads(self.text)
        return found


@final
@dataclass(frozen=True, slots=True)
class Stored:
    """An answer released before: it may be given again, for ever, at no cost."""

    seq: int
    charge: Json
    answer: Json


@final
@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """One budget and what is spent of it."""

    seq: int
    table: str
    analyst: str | None
    period: Period | None
    state: FilterState
    protects: str = ""  # whom it was granted for: a sum of costs speaks of one kind of neighbours
    secret: str = field(
        default="", repr=False
    )  # chosen when it was granted: the same for all who share the ledger

    @property
    def filter(self) -> Filter:
        """The rule of this budget."""
        return self.state.filter

    @property
    def name(self) -> str:
        """Which budget it is, for messages."""
        return ", ".join([f"table {self.table}", *self.name_parts])

    @property
    def name_parts(self) -> tuple[str, ...]:
        """Which part of its table's budget it is; empty for the whole."""
        analyst = () if self.analyst is None else (f"analyst {self.analyst}",)
        return (*analyst, *(() if self.period is None else (str(self.period),)))

    def covers(self, *, analyst: str, time: float) -> bool:
        """Whether a charge of this analyst at this time counts here."""
        return (self.analyst in (None, analyst)) and (
            self.period is None or self.period.holds(time)
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for people and programs."""
        epsilon, delta = self.filter.epsilon, self.filter.delta
        return {
            "table": self.table,
            "analyst": self.analyst,
            "period": None if self.period is None else self.period.to_list(),
            "filter": self.filter.to_dict()["filter"],
            "epsilon": _spent(epsilon, self.state.epsilon),
            "delta": _spent(delta, self.state.delta),
        }


def _spent(total: float, spent: float) -> dict[str, float]:
    return {"total": total, "spent": spent, "left": max(0.0, total - spent)}
