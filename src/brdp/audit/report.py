"""What an audit found: numbers, JSON, and a page with plots."""

from __future__ import annotations

import base64
import html
import io
import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from brdp._extras import require
from brdp.audit.promise import Coverage, Promise
from brdp.noise.base import Floats

BARS = 120


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event that one world makes likely, how often each world showed it, and what that proves.

    Its probability is at least `often` in the likely world and at most `seldom` in the other.
    """

    likely_in: int
    threshold: float
    counts: tuple[int, int]
    often: float
    seldom: float
    epsilon_lower: float
    delta_lower: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "likely_in": self.likely_in,
            "threshold": self.threshold,
            "counts": list(self.counts),
            "often": self.often,
            "seldom": self.seldom,
            "epsilon_lower": self.epsilon_lower,
            "delta_lower": self.delta_lower,
        }


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageFinding:
    """The share of answers within the bound, with its confidence interval, beside the claim."""

    claim: Coverage
    share: float
    lower: float
    upper: float

    @property
    def accused(self) -> bool:
        """Whether answers are within the bound less often than claimed."""
        return self.upper < self.claim.acceptance

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        within = self.claim.within
        return {
            "within": list(within) if isinstance(within, tuple) else within,
            "acceptance": self.claim.acceptance,
            "share": self.share,
            "lower": self.lower,
            "upper": self.upper,
            "accused": self.accused,
        }


@final
@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """Histograms of the first column in both worlds."""

    edges: Floats
    zero: Floats
    one: Floats

    @staticmethod
    def of(zero: Floats, one: Floats) -> Picture:
        """Count both over the middle 99.9 % of the draws; ends beyond are left out of the picture."""
        low, high = np.quantile(np.concatenate([zero, one]), [0.0005, 0.9995])
        if high - low < BARS and np.all(zero == np.floor(zero)):
            edges = np.arange(math.floor(low), math.ceil(high) + 2) - 0.5
        else:
            edges = np.linspace(low, high, BARS + 1)
        if not np.all(np.diff(edges) > 0):
            # one value, or so close together that floats hold no bars between
            edges = low + max(1.0, abs(low)) * np.array([-0.5, 0.5])
        shares = [np.histogram(values, edges)[0] / len(values) for values in (zero, one)]
        return Picture(edges, shares[0], shares[1])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The verdict. What it rests on: docs/how-to/audit.md."""

    promise: Promise
    confidence: float
    draws: int
    judged: int
    events: tuple[Event, ...]
    coverage: CoverageFinding | None
    picture: Picture

    @property
    def epsilon_lower(self) -> float:
        """A lower confidence bound on epsilon at the promised delta."""
        return max(event.epsilon_lower for event in self.events)

    @property
    def delta_lower(self) -> float:
        """A lower confidence bound on delta at the promised epsilon."""
        return max(event.delta_lower for event in self.events)

    @property
    def broken(self) -> bool:
        """Whether the promise about privacy is refuted."""
        return self.epsilon_lower > self.promise.epsilon

    @property
    def accused(self) -> bool:
        """Whether any promise is refuted, about privacy or about coverage."""
        return self.broken or (self.coverage is not None and self.coverage.accused)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as `brdp audit --json` prints it."""
        return {
            "accused": self.accused,
            "broken": self.broken,
            "promise": {"epsilon": self.promise.epsilon, "delta": self.promise.delta},
            "epsilon_lower": self.epsilon_lower,
            "delta_lower": self.delta_lower,
            "confidence": self.confidence,
            "draws": self.draws,
            "judged": self.judged,
            "events": [event.to_dict() for event in self.events],
            "coverage": None if self.coverage is None else self.coverage.to_dict(),
        }

    def __str__(self) -> str:
        promise = self.promise
        lines = [
            f"promised  epsilon {promise.epsilon:.6g} at delta {promise.delta:.3g}",
            f"proven    epsilon at least {self.epsilon_lower:.6g} there, delta at least "
            f"{self.delta_lower:.3g} at the promised epsilon",
            f"          (confidence {self.confidence:g}, {self.judged:,} judging draws in each world)",
        ]
        if self.coverage is not None:
            found = self.coverage
            lines.append(
                f"coverage  {found.share:.6f} of answers within {found.claim.within} "
                f"({found.lower:.6f} to {found.upper:.6f}), claimed {found.claim.acceptance:.6f}"
            )
        if self.broken:
            verdict = "the promise about privacy is BROKEN"
        elif self.accused:
            verdict = "the promise about coverage is BROKEN"
        else:
            verdict = "nothing found against the promise; that proves no privacy"
        return "\n".join([*lines, f"verdict   {verdict}"])

    def figure(self) -> Any:
        """Draw both worlds, and every event against the promise."""
        figures = require("matplotlib.figure", extra="plot")
        figure = figures.Figure(figsize=(9.5, 3.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        picture = self.picture
        left.stairs(picture.zero, picture.edges, label="world 0", color="#1b6ca8")
        left.stairs(picture.one, picture.edges, label="world 1", color="#c8553d")
        left.set(xlabel="answer", ylabel="share of draws", title="Answers on neighbouring inputs")
        left.locator_params(axis="x", nbins=6)  # more of them run into each other
        left.legend(frameon=False)
        self._draw_tradeoff(right)
        return figure

    def _draw_tradeoff(self, axes: Any) -> None:
        # no tests of world 0 against world 1 may lie above the promised line
        least = min([self.promise.delta or 1.0, *(e.seldom for e in self.seen), 0.1]) / 10
        seldom = np.logspace(math.log10(least), 0, 400)
        allowed = np.minimum(
            1.0, np.exp(min(700.0, self.promise.epsilon)) * seldom + self.promise.delta
        )
        axes.fill_between(seldom, allowed, 1.0, color="#c8553d", alpha=0.15, lw=0)
        axes.plot(seldom, allowed, color="#c8553d", label="promised limit")
        for index, event in enumerate(self.seen):
            drawn = [event.counts[world] / self.judged for world in (0, 1)]
            rare, common = drawn[1 - event.likely_in], drawn[event.likely_in]
            # from what was seen to what is proven of it
            axes.plot([max(rare, least), event.seldom], [common, event.often], color="#1b6ca8")
            axes.plot(max(rare, least), common, "o", mfc="white", color="#1b6ca8")
            axes.plot(
                event.seldom,
                event.often,
                "o",
                color="#1b6ca8",
                label="" if index else "an event: seen (white), proven (full)",
            )
        axes.set(
            xscale="log",
            yscale="log",
            xlabel="probability in the unlikely world",
            ylabel="probability in the likely world",
            title="Proven above the line: broken",
            xlim=(least, 1.2),
            ylim=(min(float(allowed[0]), *(e.often for e in self.seen), 1.0) / 2, 1.4),
        )
        axes.legend(frameon=False, loc="lower right")

    @property
    def seen(self) -> tuple[Event, ...]:
        """The events that any draw showed, each once."""
        return tuple(dict.fromkeys(event for event in self.events if any(event.counts)))

    def to_html(self) -> str:
        """Return one self-contained page: the verdict, the plots and every number."""
        buffer = io.BytesIO()
        self.figure().savefig(buffer, format="png", dpi=120)
        image = base64.b64encode(buffer.getvalue()).decode()
        rows = "".join(
            f"<tr><td>{e.likely_in}</td><td>{e.counts[0]:,}</td><td>{e.counts[1]:,}</td>"
            f"<td>{e.epsilon_lower:.6g}</td><td>{e.delta_lower:.6g}</td></tr>"
            for e in self.seen
        )
        colour = "#a3201a" if self.accused else "#20603d"
        return (
            "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>brdp audit</title><style>"
            "body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}"
            "td,th{padding:.2rem .8rem;text-align:right}img{max-width:100%}"
            f"pre{{border-left:4px solid {colour};padding:.5rem 1rem;background:#f6f6f4}}</style></head>"
            f"<body><h1>Audit</h1><pre>{html.escape(str(self))}</pre>"
            f"<img alt='both worlds, and events against the promise' src='data:image/png;base64,{image}'>"
            "<h2>Events that draws have shown</h2><table>"
            "<tr><th>likely in world</th><th>count in 0</th><th>count in 1</th>"
            f"<th>epsilon at least</th><th>delta at least</th></tr>{rows}</table></body></html>\n"
        )
