"""An engine that holds a table: where compiled expressions run, and from where only totals return."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self, final

from brdp.catalog.schema import Schema
from brdp.errors import BrdpError


@final
class EngineFailed(BrdpError):
    """The engine gave up for a reason of its own. Says which kind of failure, never what the engine
    said of the data.
    """

    def __init__(
        self,
        engine: str,
        kind: str,
        *,
        expected: str = "totals",
        remedy: str = "Look into the engine's own log on the owner's side; what was charged stays charged, "
        "and asking again completes it.",
    ) -> None:
        self.engine = engine
        self.kind = kind
        super().__init__(f"{engine}: expected {expected}, got {kind}. {remedy}")


def require_same_schema(engine: str, opened: Schema, now: Schema) -> None:
    """Refuse a table whose columns are no longer what the query was compiled for."""
    if dict(opened) != dict(now):
        changed = sorted(name for name in {*opened, *now} if opened.get(name) is not now.get(name))
        raise EngineFailed(
            engine,
            f"a change in {', '.join(changed[:5]) or 'their order'}",
            expected="the columns that the table had when it was opened",
            remedy="Open the table again, and give it a new version if its data changed; what was "
            "charged stays charged.",
        )


class Engine(ABC):
    """An opened source. Abstract: one final class for each engine."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    @abstractmethod
    def table(self) -> Any:
        """The source as an Ibis table."""

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """Names and kinds of its columns."""

    @abstractmethod
    def sql(self, expression: Any) -> str:
        """What the engine would be sent for an Ibis expression."""

    @abstractmethod
    def rows(self, expression: Any) -> list[tuple[Any, ...]]:
        """Run an Ibis expression; integers come back as Python integers, whatever their size.

        A failure becomes EngineFailed: the engine's own message may quote values.
        """

    @abstractmethod
    def close(self) -> None:
        """Let the engine's resources go."""
