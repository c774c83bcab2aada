"""One self-contained HTML page: every panel with its figure, sentences, choices and tables."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence
from pathlib import Path

from brdp.paper.figures.runner import Finished, write_atomically

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}
h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:3rem;border-top:1px solid #ddd;padding-top:1.5rem}
.panel{display:grid;grid-template-columns:minmax(0,27rem) minmax(0,1fr);gap:1.5rem;align-items:start}
@media(max-width:52rem){.panel{grid-template-columns:minmax(0,1fr)}}
img{width:100%;height:auto}sub,sup{line-height:0}.power{white-space:nowrap}
table{border-collapse:collapse;font-size:12px;display:block;overflow-x:auto;margin:1rem 0}
td,th{border:1px solid #ccc;padding:.25rem .45rem;text-align:left;vertical-align:top}
th{background:#f4f4f4}.choice{color:#555;font-size:13px}nav a{margin-right:1rem;white-space:nowrap}
"""

_INTRODUCTION = (
    "Each figure and table of 'Budget Recycling Differential Privacy' three ways: as printed (with the "
    "objective corrected where the printed one recycles nothing), what the printed settings truly cost, and "
    "this project's exact plan at the same promised budget. 'True' and 'exact' come from exact curves; "
    "under composition and sampling they are upper bounds. The paper's framework diagram holds no numbers "
    "and is left out. Seeds are fixed: the same command gives the same report, apart from times."
)

_INDEX = re.compile(r"(?<![\w.`])([A-Za-zΑ-Ωα-ω])_([A-Za-zα-ωΑ-Ω]{1,6})\b")
_POWER = re.compile(r"\b(\d(?:\.\d+)?)e([-+]\d+)\b")

GOWALLA_MISSING = (
    "The Gowalla panels are left out: the data may not be shipped. Take loc-gowalla_totalCheckins.txt.gz from "
    "the Gowalla page of the SNAP collection and run the same command with --gowalla PATH (any table with "
    "the columns user and time serves)."
)


def write_report(finished: Sequence[Finished], *, out: Path, notes: Sequence[str]) -> Path:
    """Write OUT/report.html from finished panels; nothing in it is fetched from elsewhere."""
    links = "".join(
        f'<a href="#{done.panel.name}">{_typeset(done.panel.title)}</a> ' for done in finished
    )
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width,initial-scale=1'>",
        f"<title>The paper, reproduced and corrected</title><style>{_STYLE}</style>",
        "<h1>The paper, reproduced and corrected</h1>",
        f"<p>{html.escape(_INTRODUCTION)}</p><nav>{links}</nav>",
        *(f"<p><strong>{html.escape(note)}</strong></p>" for note in notes),
        *(_section(done) for done in finished),
        "</html>",
    ]
    path = out / "report.html"
    write_atomically(path, "\n".join(parts))
    return path


def _section(done: Finished) -> str:
    panel = done.panel
    svg = base64.b64encode((done.folder / f"{panel.name}.svg").read_bytes()).decode("ascii")
    said = "".join(f"<p>{_typeset(line)}</p>" for line in panel.sentences(done.rows))
    chosen = "".join(f"<li>{_typeset(line)}</li>" for line in panel.choices)
    title = _typeset(panel.title)
    parts = [
        f"<section><h2 id='{panel.name}'>{title}</h2>",
        f"<div class=panel><img alt='{html.escape(panel.title)}' src='data:image/svg+xml;base64,{svg}'>",
        f"<div>{said}<p class=choice>Chosen where the paper leaves it open, or noted:</p>",
        f"<ul class=choice>{chosen}</ul></div></div>",
    ]
    table = panel.table(done.rows)
    if table is not None:
        parts.append(_table(*table))
    page = panel.page(done.rows)
    if page is not None:
        parts.append(_markdown(page))
    files = f"panels/{panel.name}/{panel.name}"
    parts.append(
        f"<p class=choice>Numbers: <code>{files}.csv</code>, <code>{files}.json</code>; figure: "
        f"<code>{files}.png</code>, <code>{files}.svg</code>. Computed in {done.seconds:.1f} s.</p></section>"
    )
    return "\n".join(parts)


def _table(header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{_typeset(cell)}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{_typeset(cell)}</td>" for cell in row) + "</tr>" for row in cells
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _markdown(text: str) -> str:
    """The little Markdown that the errata page uses: headings, bullets, tables, bold, italics, code."""
    out: list[str] = []
    rows: list[list[str]] = []
    bullets: list[str] = []

    def flush() -> None:
        if rows:
            out.append(_table(rows[0], rows[2:]))
            rows.clear()
        if bullets:
            out.append("<ul>" + "".join(f"<li>{_inline(line)}</li>" for line in bullets) + "</ul>")
            bullets.clear()

    paragraph: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
            continue
        if line.startswith("- "):
            bullets.append(line[2:])
            continue
        flush()
        if line and not line.startswith("#"):
            paragraph.append(line)
            continue
        if paragraph:
            out.append(f"<p>{_inline(' '.join(paragraph))}</p>")
            paragraph.clear()
        if line.startswith("#"):
            level = len(line) - len(line.lstrip("#"))
            out.append(f"<h{level + 2}>{_inline(line[level:].strip())}</h{level + 2}>")
    return "\n".join(out)


def _typeset(text: str) -> str:
    """Plain text as HTML: a letter's index goes below the line, a power of ten above it."""
    done = html.escape(text, quote=False)
    done = _INDEX.sub(r"\1<sub>\2</sub>", done)
    return _POWER.sub(_power, done)


def _power(found: re.Match[str]) -> str:
    digits = "" if found[1] == "1" else f"{found[1]}·"
    exponent = str(int(found[2])).replace("-", "−")
    return f"<span class=power>{digits}10<sup>{exponent}</sup></span>"


def _inline(text: str) -> str:
    done = _typeset(text)
    for mark, tag in (("**", "strong"), ("`", "code"), ("*", "em")):
        pieces = done.split(mark)
        if len(pieces) % 2 == 1:
            opened = [
                piece if i % 2 == 0 else f"<{tag}>{piece}</{tag}>" for i, piece in enumerate(pieces)
            ]
            done = "".join(opened)
    return done
