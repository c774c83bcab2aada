"""What an audit says: plain data, a page, and the command line."""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import brdp
from brdp.audit import Additive, Black, Coverage, Promise, Release, Report, audit, read_spec
from brdp.cli import audit as command
from brdp.cli import main
from brdp.errors import InvalidInput
from tests.audit.mechanisms import laplace


@pytest.fixture(scope="module")
def broken() -> Report:
    return audit(
        Black(laplace(0.5)),
        Promise(epsilon=1.0),
        draws=50_000,
        coverage=Coverage(within=1.0, acceptance=0.5),
    )


def test_the_report_is_plain_data(broken: Report) -> None:
    data = json.loads(json.dumps(broken.to_dict()))
    assert data["accused"] is True
    assert data["broken"] is True
    assert data["epsilon_lower"] == broken.epsilon_lower > 1
    assert data["coverage"]["accused"] is False
    assert data["promise"] == {"epsilon": 1.0, "delta": 0.0}
    assert len(data["events"]) == 4


def test_the_report_says_what_it_means(broken: Report) -> None:
    assert "BROKEN" in str(broken)
    fine = audit(Black(laplace(1.0)), Promise(epsilon=3.0), draws=5000)
    assert "proves no privacy" in str(fine)


def test_the_page_is_whole_and_reaches_for_nothing(broken: Report) -> None:
    page = broken.to_html()
    assert page.startswith("<!doctype html>")
    assert "data:image/png;base64,iVBOR" in page
    assert "http" not in page
    assert "BROKEN" in page


def run(arguments: list[str]) -> tuple[int, argparse.Namespace]:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    args = parser.parse_args(["audit", *arguments])
    return args.run(args), args


SPEC = [{"kernel": "discrete_laplace", "scale": 4.0, "within": 3, "rate": 0.4}]


def test_a_spec_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(SPEC))
    status, _ = run([str(spec), "--draws", "20000", "--within", "3", "--json"])
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert status == 0
    noise = brdp.Recycled(brdp.DiscreteLaplace(4.0), within=3, rate=0.4)
    assert found["promise"]["epsilon"] == noise.privacy(sensitivity=1).epsilon(delta=0)
    assert found["coverage"]["acceptance"] == noise.acceptance(within=3)
    assert captured.err == ""  # progress is for terminals


def test_a_broken_promise_is_exit_status_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, page = tmp_path / "spec.json", tmp_path / "page.html"
    spec.write_text(json.dumps(SPEC))
    status, _ = run([str(spec), "--draws", "50000", "--epsilon", "0.3", "--report", str(page)])
    assert status == command.BROKEN == 1
    assert "BROKEN" in capsys.readouterr().out
    assert "BROKEN" in page.read_text()


def test_a_function_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my_mechanism.py").write_text(
        "import numpy as np\n"
        "def answers(x, size):\n    return x + np.random.default_rng().laplace(size=size)\n"
    )
    monkeypatch.chdir(tmp_path)
    arguments = ["--mechanism", "my_mechanism:answers", "--inputs", "0", "3", "--draws", "20000"]
    assert run([*arguments, "--epsilon", "3", "--json"])[0] == 0
    assert run([*arguments, "--epsilon", "1", "--json"])[0] == 1
    assert run([*arguments, "--epsilon", "1", "--report", "plots.png", "--json"])[0] == 1
    assert (tmp_path / "plots.png").read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["nowhere.json"], "can be read"),
        (["--mechanism", "os:nothing", "--epsilon", "1"], "can be imported"),
        (["--mechanism", "os:sep", "--epsilon", "1"], "a function"),
        (["--mechanism", "os:getcwd"], "--epsilon"),
        (["--mechanism", "numpy:zeros", "--epsilon", "1", "--within", "1"], "acceptance"),
        (["--mechanism", "numpy:zeros", "--epsilon", "1", "--within", "1", "2", "3"], "within"),
        (["--mechanism", "numpy:zeros", "--epsilon", "1", "--report", "page.pdf"], "--report"),
    ],
)
def test_bad_input_from_the_command_line(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=says):
        run(arguments)


BROKEN_MODULE = """
import numpy as np
def answers(x, size): return np.zeros(size)
def fails(x, size): raise RuntimeError("no table of that name")
def takes_one(x): return x
def says(x, size): return ["much"] * size
def ragged(x, size): return [[1.0], [1.0, 2.0]]
"""


@pytest.mark.parametrize(
    "name, says",
    [
        ("fails", r"RuntimeError: no table of that name \(broken_one.py, line 4\)"),
        ("takes_one", "takes 1 positional argument"),
        ("says", "could not convert string"),
        ("ragged", "inhomogeneous"),
        ("nothing", "has no attribute"),
    ],
)
def test_a_function_that_fails_is_not_a_broken_promise(
    name: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Status 1 is the verdict; what went wrong with the function is an error, with its own words and place."""
    (tmp_path / "broken_one.py").write_text(BROKEN_MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "broken_one", raising=False)
    status = main(["audit", "--mechanism", f"broken_one:{name}", "--epsilon", "1"])
    assert status == 2
    assert re.search(says, capsys.readouterr().err)


@pytest.mark.parametrize("text", ["1 / 0", "def (", "import not_a_module_of_anybody"])
def test_a_module_that_fails_is_not_a_broken_promise(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_module.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "broken_module", raising=False)
    with pytest.raises(InvalidInput, match=r"can be imported.*Error"):
        run(["--mechanism", "broken_module:answers", "--epsilon", "1"])


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["--acceptance", "0.9"], "--within"),
        (["--inputs", "0", "2"], "only with --mechanism"),
        (["--within", "3", "--acceptance", "1.5"], "acceptance"),
        (["--within", "-3"], "low <= 0 <= high"),
        (["--draws", "10"], "draws"),
        (["--confidence", "1"], "confidence"),
        (["--delta", "nan"], "delta"),
        (["--epsilon", "inf"], "epsilon"),
    ],
)
def test_bad_input_beside_a_spec(arguments: list[str], says: str, tmp_path: Path) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(SPEC))
    with pytest.raises(InvalidInput, match=says):
        run([str(spec), *arguments])


def test_a_promise_without_a_finite_epsilon_asks_for_a_delta(tmp_path: Path) -> None:
    spec = tmp_path / "spec.json"
    truncated = {"kernel": "laplace", "scale": 4.0, "within": 1, "rate": 1, "count": 5}
    for release in ({"kernel": "gaussian", "scale": 4.0}, truncated):
        spec.write_text(json.dumps([release]))
        with pytest.raises(InvalidInput, match="delta: expected"):
            run([str(spec), "--draws", "2000"])
    spec.write_text(json.dumps([{"kernel": "gaussian", "scale": 4.0}]))
    assert run([str(spec), "--draws", "2000", "--delta", "1e-5"])[0] == 0


def test_inputs_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(InvalidInput, match="finite"):
        run(["--mechanism", "numpy:zeros", "--epsilon", "1", "--inputs", "0", "nan"])


@pytest.mark.parametrize("same", [True, False])
def test_pages_and_plots_of_constant_answers(same: bool) -> None:
    """Nothing to see, or everything: axes and tables have to bear both."""
    report = audit(
        Black(lambda x, size: np.full(size, 0.0 if same else x)), Promise(epsilon=1.0), draws=2000
    )
    assert report.broken is not same
    assert same or len(report.seen) >= 1
    assert "<table>" in report.to_html()


def test_events_hold_the_bounds_they_are_judged_by(broken: Report) -> None:
    for event in broken.events:
        often, seldom = event.counts[event.likely_in], event.counts[1 - event.likely_in]
        assert event.often <= often / broken.judged
        assert event.seldom >= seldom / broken.judged
        if event.epsilon_lower > 0:
            assert event.epsilon_lower == math.log(event.often / event.seldom)


def test_specs() -> None:
    releases = read_spec(
        [
            {"kernel": "gaussian", "scale": 30.7, "within": [-1, 2], "rate": 0.2, "count": 5},
            {"kernel": "laplace", "scale": 2, "levels": [[1, 1], ["inf", 0.5]]},
            {"kernel": "staircase", "core": 1, "step": 2, "drop": 0.5, "sensitivity": 3},
            {"kernel": "discrete_gaussian", "scale": 2, "sampling_rate": 0.1},
        ]
    )
    noise = brdp.Recycled(brdp.Gaussian(30.7), within=(-1, 2), rate=0.2)
    assert releases[0] == Release(noise=noise, count=5)
    levels = brdp.Recycled(brdp.Laplace(2.0), levels=[(1, 1), (math.inf, 0.5)])
    assert releases[1].noise == levels
    assert releases[2].sensitivity == 3
    assert releases[3].sampling_rate == 0.1
    assert Additive(releases).columns == 8
    assert np.all(np.isfinite(Additive(releases).answers(1, 10)))


def test_bad_specs_are_refused_as_by_the_account() -> None:
    for data in ([], "gaussian", [{"kernel": "cauchy", "scale": 1}], [{"kernel": "gaussian"}]):
        with pytest.raises(InvalidInput, match="SPEC"):
            read_spec(data)
