"""The machinery around the figures: resuming, files, data, the command, the report."""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from brdp.cli import reproduce
from brdp.datasets import adult_path
from brdp.errors import InvalidInput
from brdp.paper.figures import style
from brdp.paper.figures.catalogue import all_panels
from brdp.paper.figures.mechanisms import Budget, exact_mechanisms, paper_mechanisms
from brdp.paper.figures.noise import NoisePanel
from brdp.paper.figures.panel import Panel, Report, Rows, as_csv, as_json, rows_of
from brdp.paper.figures.people import read_adult, read_gowalla
from brdp.paper.figures.report import write_report
from brdp.paper.figures.runner import already_there, run_panels

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@dataclass
class Little(Panel):
    """A panel of two rows that counts how often it is computed."""

    value: float = 2.0
    computed: list[int] = field(default_factory=list)
    fails: bool = False

    @property
    def name(self) -> str:
        return "little"

    @property
    def title(self) -> str:
        return "A <little> panel"

    @property
    def settings(self) -> dict[str, object]:
        return {"value": self.value}

    @property
    def choices(self) -> tuple[str, ...]:
        return ("One was chosen.",)

    def compute(self, report: Report) -> Rows:
        self.computed.append(1)
        report("working")
        if self.fails:
            raise RuntimeError("stopped half way")
        return [{"x": 1.0, "y": self.value}, {"x": math.inf, "note": "a, b"}]

    def draw(self, rows: Rows) -> Any:
        figure, axes = style.new_figure(2.0, 1.5)
        axes[0, 0].plot([0, 1], [0, float(rows[0]["y"])])
        return figure

    def sentences(self, rows: Rows) -> tuple[str, ...]:
        return (f"It is {rows[0]['y']} & no more.",)

    def page(self, rows: Rows) -> str | None:
        return "# Title\n\nSome *words* and `code`.\n\n| a | b |\n|---|---|\n| 1 | <2> |\n\n- one\n- two\n"


def run(panels: Sequence[Panel], out: Path) -> list[Any]:
    return list(run_panels(panels, out=out, report=lambda words: None))


def test_a_finished_panel_is_not_done_again(tmp_path: Path) -> None:
    panel = Little()
    first = run([panel], tmp_path)[0]
    again = run([panel], tmp_path)[0]
    assert (first.resumed, again.resumed, len(panel.computed)) == (False, True, 1)
    assert again.rows == first.rows
    other = Little(value=3.0)
    assert run([other], tmp_path)[0].resumed is False


@pytest.mark.parametrize(
    "name", ["little.csv", "little.png", "little.svg", "little.json", "little.md", "done.json"]
)
@pytest.mark.parametrize("harm", ["missing", "cut short"])
def test_a_panel_with_a_harmed_file_is_done_again(tmp_path: Path, name: str, harm: str) -> None:
    panel = Little()
    run([panel], tmp_path)
    path = tmp_path / "panels" / "little" / name
    if harm == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-5])
    assert run([panel], tmp_path)[0].resumed is False
    assert len(panel.computed) == 2
    assert len(already_there([panel], out=tmp_path)) == 1


def test_a_panel_that_stopped_half_way_is_not_finished(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="half way"):
        run([Little(fails=True)], tmp_path)
    assert already_there([Little()], out=tmp_path) == []


def test_a_failed_redo_leaves_no_record_behind(tmp_path: Path) -> None:
    run([Little()], tmp_path)
    with pytest.raises(RuntimeError):
        run([Little(value=3.0, fails=True)], tmp_path)
    assert already_there([Little(), Little(value=3.0)], out=tmp_path) == []


def test_rows_survive_their_file() -> None:
    rows: Rows = [{"a": 1.5, "b": "x"}, {"a": math.inf, "c": -math.inf}]
    assert rows_of(as_json(Little(), rows)) == rows
    assert as_csv(rows) == "a,b,c\n1.5,x,\ninf,,-inf\n"
    nan = rows_of(as_json(Little(), [{"a": math.nan}]))[0]["a"]
    assert math.isnan(float(nan))


def test_the_report_is_one_self_contained_page(tmp_path: Path) -> None:
    page = write_report(run([Little()], tmp_path), out=tmp_path, notes=["A note."]).read_text()
    for wanted in ("A &lt;little&gt; panel", "It is 2.0 &amp; no more.", "data:image/svg+xml;base64,",
                   "<em>words</em>", "<code>code</code>", "<li>two</li>", "&lt;2&gt;", "A note."):  # fmt: skip
        assert wanted in page
    assert "http" not in page.replace("http-equiv", "")


def test_a_real_panel_is_the_same_twice(tmp_path: Path) -> None:
    panel = NoisePanel(draws=2000)
    run([panel], tmp_path / "a")
    run([panel], tmp_path / "b")
    for name in ("noise.csv", "noise.json", "noise.svg", "noise.png"):
        a, b = ((tmp_path / part / "panels" / "noise" / name).read_bytes() for part in "ab")
        assert a == b, name


# --- data ---


def test_adult_without_question_marks() -> None:
    people = read_adult(adult_path())
    assert people.values.size == 45_222
    assert float(people.values.mean()) == pytest.approx(1.10143, abs=1e-5)
    subsets = people.subsets(people=10_000, parts=10, seed=1)
    assert [part.size for part in subsets] == [1000] * 10


SNAP = "7\t2010-10-19T23:55:27Z\t30.2\t-97.7\t22\n"
SNAP += "7\t2010-09-19T11:25:27Z\t30.2\t-97.7\t22\n9\t2010-01-01T00:00:00Z\t1\t2\t3\n"
TABLE = "time,user\n2010-09-19T11:25:27Z,7\n2010-10-19T23:55:27Z,7\n2010-01-01T00:00:00Z,9\n"


@pytest.mark.parametrize("text", [SNAP, TABLE])
@pytest.mark.parametrize("packed", [True, False])
def test_gowalla_reads_the_snap_file_and_tables(tmp_path: Path, text: str, packed: bool) -> None:
    path = tmp_path / "check-ins"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    people = read_gowalla(path)
    assert people.values == pytest.approx([30.520833333 / 30.4375, 0.0])
    assert "3 check-ins of 2 users, not the whole data set" in people.source


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"", "user and time"),
        (b"a,b\n1,2\n", "user and time"),
        (b"user,time\n", "check-ins"),
        (b"user,time\nu1,2010-01-01T00:00:00Z\n", "line 2"),
        (b"user,time\n1,2010-01-01T00:00:00Z\n1,yesterday\n", "line 3"),
        (b"user,time\n1,2010-01-01T00:00:00Z\n1\n", "line 3"),
        (gzip.compress(TABLE.encode())[:-12], "gzip"),
        (b"\x1f\x8bnot gzip", "gzip"),
        (b"\xff\xfe\x00", "text"),
    ],
)
def test_gowalla_refuses_other_files(tmp_path: Path, content: bytes, wanted: str) -> None:
    path = tmp_path / "other.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=rf"--gowalla.*{wanted}"):
        read_gowalla(path)


@pytest.mark.parametrize("zone", ["UTC0", "XXX-9", "YYY+5YYD"])
def test_times_are_read_alike_in_every_time_zone(
    tmp_path: Path, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "check-ins"
    path.write_text("user,time\n1,2010-01-01T00:00:00+02:00\n1,2010-07-01 00:00:00\n")
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        months = read_gowalla(path).values
    finally:
        monkeypatch.undo()
        time.tzset()
    assert months == pytest.approx([(181 + 2 / 24) / 30.4375])


def test_other_check_ins_of_the_same_size_are_another_panel(tmp_path: Path) -> None:
    path = tmp_path / "check-ins"
    settings = []
    for text in (TABLE, TABLE.replace("2010-10-19", "2010-10-18"), TABLE):
        path.write_text(text)
        os.utime(path, ns=(0, len(settings)))
        panels = all_panels(adult=adult_path(), gowalla=path)
        settings.append(next(one.settings for one in panels if one.name == "gowalla-sum"))
    assert settings[0] == settings[2] != settings[1]


# --- mechanisms ---


def test_exact_mechanisms_keep_their_promise_and_paper_ones_need_not() -> None:
    from brdp.paper.figures.mechanisms import cost_of

    budget = Budget(0.5, 1e-5, 1.0, 3.0)
    for mechanism in exact_mechanisms(budget, sampling_rate=0.3):
        assert cost_of(mechanism, budget).delta <= 1e-5 * (1 + 1e-9), mechanism.name
    sampled = paper_mechanisms(budget, sampling_rate=0.3)[-1]
    assert cost_of(sampled, budget).delta > 1e-4  # control: the paper's sampled mechanism does not


def test_sampled_answers_are_unbiased() -> None:
    """The mean of 4,000 errors is within 8 standard errors: false alarms under 1e-14."""
    mechanism = paper_mechanisms(Budget(0.5, 1e-5, 1.0, 3.0), sampling_rate=0.3)[-1]
    values = (np.arange(1000) % 10 == 0).astype(float)
    errors = mechanism.answers(values, count=4000, rng=np.random.default_rng(3))
    assert abs(errors.mean()) < 8 * errors.std() / 4000**0.5
    assert errors.std() > 10


# --- the command ---


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    reproduce.add_parser(parser.add_subparsers())
    return parser.parse_args(["reproduce", *words])


def test_only_takes_names_and_groups(tmp_path: Path) -> None:
    panels = all_panels(adult=adult_path(), gowalla=tmp_path)
    args = parse("--out", "x", "--only", "table1", "noise", "--only", "adult")
    names = [panel.name for panel in reproduce.chosen_panels(panels, args.only)]
    assert names == ["noise", "adult-sum", "adult-average", "adult-count", "table1"]
    assert len(reproduce.chosen_panels(panels, None)) == len(panels) == 13


@pytest.mark.parametrize("name", ["figure9", "gowalla"])
def test_an_unknown_name_is_refused_with_what_to_do(name: str) -> None:
    panels = all_panels(adult=adult_path(), gowalla=None)
    with pytest.raises(InvalidInput, match="PATH" if name == "gowalla" else "Known: acceptance"):
        reproduce.chosen_panels(panels, [name])


@pytest.mark.parametrize("content", [None, b"a,b\n1,2\n"])
def test_a_wrong_gowalla_file_is_refused_before_any_work(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "check-ins"
    if content is not None:
        path.write_bytes(content)
    args = parse("--out", str(tmp_path / "out"), "--gowalla", str(path))
    with pytest.raises(InvalidInput, match="SNAP"):
        reproduce.run(args)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("folder", ["file", "file/deeper"])
def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").write_text("")
    args = parse("--out", str(tmp_path / folder), "--only", "noise")
    with pytest.raises(InvalidInput, match=r"--out: expected a folder .* directory|File exists"):
        reproduce.run(args)


def test_a_stopped_run_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(self: NoisePanel, report: Report) -> Rows:
        raise KeyboardInterrupt

    monkeypatch.setattr(NoisePanel, "compute", stop)
    args = parse("--out", str(tmp_path), "--only", "noise")
    assert reproduce.run(args) == 130
    assert "0 of 1 panels finished; the same command goes on" in capsys.readouterr().err


def test_the_command_writes_a_report_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reproduce.run(parse("--out", str(tmp_path), "--only", "noise", "--json")) == 0
    said = json.loads(capsys.readouterr().out)
    assert Path(said["report"]).is_file()
    assert [panel["name"] for panel in said["panels"]] == ["noise"]
    assert "--gowalla" in said["notes"][0]
    assert reproduce.run(parse("--out", str(tmp_path), "--only", "noise")) == 0
    assert "noise (already there)" in capsys.readouterr().out


def test_without_matplotlib_the_command_names_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    from brdp.errors import MissingExtra

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"brdp\[plot\]"):
        reproduce.run(parse("--out", str(tmp_path / "out")))
    assert not (tmp_path / "out").exists()
