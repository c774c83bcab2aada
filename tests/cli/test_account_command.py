"""`brdp account`: the contract's JSON, both questions, a plot, and errors that say where."""

from __future__ import annotations

import json

import pytest

import brdp
from brdp.cli import main

SPEC = [
    {"kernel": "gaussian", "scale": 2.5, "within": 1, "rate": 0.5, "count": 10},
    {"kernel": "laplace", "scale": 10, "sampling_rate": 0.1},
    {"kernel": "staircase", "core": 1, "step": 2, "drop": 0.5, "integer": True, "sensitivity": 2},
]


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(SPEC))
    return path


def total():
    return brdp.compose(
        {
            brdp.Recycled(brdp.Gaussian(2.5), within=1, rate=0.5).privacy(): 10,
            brdp.subsample(brdp.Laplace(10.0), sampling_rate=0.1): 1,
            brdp.Staircase(core=1, step=2, drop=0.5, integer=True).privacy(sensitivity=2): 1,
        }
    )


def test_epsilon_at_a_delta(spec, capsys):
    assert main(["account", str(spec), "--delta", "1e-5", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    lower, upper = total().epsilon_bounds(delta=1e-5)
    assert answer == {"epsilon": {"lower": lower, "upper": upper}, "delta": 1e-5}


def test_delta_at_an_epsilon(spec, capsys):
    assert main(["account", str(spec), "--epsilon", "9", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    lower, upper = (float(x) for x in total().delta_bounds(epsilon=9))
    assert answer == {"delta": {"lower": lower, "upper": upper}, "epsilon": 9.0}
    assert 0 < lower <= upper < 1e-3


def test_an_infinite_epsilon_is_said(tmp_path, capsys):
    path = tmp_path / "spec.json"
    path.write_text('[{"kernel": "gaussian", "scale": 1, "within": 2, "rate": 1}]')
    assert main(["account", str(path), "--delta", "1e-5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"]["upper"] == "inf"


def test_a_plot_is_drawn(spec, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path = tmp_path / "plot.png"
    assert main(["account", str(spec), "--delta", "1e-5", "--plot", str(path)]) == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    assert "12 releases: epsilon between" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kernel", "count"), [("laplace", "5"), ("gaussian", "1"), ("staircase", "1")]
)
def test_what_a_plan_prints_can_be_accounted(kernel, count, tmp_path, capsys):
    asked = ["--sensitivity", "2", "--within", "3", "--epsilon", "1.5", "--delta", "1e-5"]
    assert main(["plan", *asked, "--integer", "--kernel", kernel, "--count", count, "--json"]) == 0
    path = tmp_path / "plan.json"
    path.write_text(capsys.readouterr().out)
    assert main(["account", str(path), "--delta", "1e-5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["epsilon"]
    assert 1.49 < found["lower"] <= found["upper"] <= 1.5 * (1 + 1e-12)


@pytest.mark.parametrize("name", ["plot.xyz", "no/such/folder/plot.png"])
def test_a_plot_that_cannot_be_written_is_refused_at_once(name, spec, capsys):
    assert main(["account", str(spec), "--delta", "1e-5", "--plot", name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "--plot: expected" in err


@pytest.mark.parametrize(
    "entry, said",
    [
        ({"kernel": "cauchy", "scale": 1}, "SPEC[0].kernel"),
        ({"kernel": "gaussian"}, "SPEC[0].scale"),
        ({"kernel": "gaussian", "scale": 1, "sigma": 2}, "sigma"),
        ({"kernel": "gaussian", "scale": 1, "count": -1}, "SPEC[0].count"),
        ({"kernel": "gaussian", "scale": 1, "count": 1.5}, "SPEC[0].count"),
        ({"kernel": "gaussian", "scale": 1, "sampling_rate": 0}, "SPEC[0].sampling_rate"),
        ({"kernel": "gaussian", "scale": 1, "sampling_rate": 1.1}, "SPEC[0].sampling_rate"),
        ({"kernel": "gaussian", "scale": 1, "within": 2}, "within and rate"),
        ({"kernel": "gaussian", "scale": 1, "levels": [1, 2]}, "levels"),
        ({"kernel": "staircase", "scale": 1}, "core"),
        ("gaussian", "SPEC[0]"),
    ],
)
def test_bad_input_is_named_in_one_line(entry, said, tmp_path, capsys):
    path = tmp_path / "spec.json"
    path.write_text(json.dumps([entry]))
    assert main(["account", str(path), "--delta", "1e-5"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


def test_what_is_not_json_is_refused(tmp_path, capsys):
    path = tmp_path / "spec.json"
    path.write_text("{")
    assert main(["account", str(path), "--delta", "1e-5"]) == 2
    assert main(["account", str(tmp_path / "absent.json"), "--delta", "1e-5"]) == 2


def test_delta_0_is_refused_where_losses_have_no_bound(tmp_path, capsys):
    path = tmp_path / "spec.json"
    path.write_text('[{"kernel": "gaussian", "scale": 2}]')
    assert main(["account", str(path), "--delta", "0"]) == 2
    assert "above 0" in capsys.readouterr().err
    path.write_text('[{"kernel": "laplace", "scale": 2, "count": 4}]')
    assert main(["account", str(path), "--delta", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"]["upper"] == pytest.approx(2.0, rel=1e-12)


def test_an_infinite_epsilon_is_said_to_be_infinite(tmp_path, capsys):
    path = tmp_path / "spec.json"
    path.write_text('[{"kernel": "gaussian", "scale": 1, "within": 1, "rate": 1, "count": 5}]')
    assert main(["account", str(path), "--delta", "1e-3"]) == 0
    assert "infinite" in capsys.readouterr().out


def test_what_is_printed_is_rounded_outwards(spec, capsys):
    assert main(["account", str(spec), "--delta", "1e-5"]) == 0
    words = capsys.readouterr().out.split()
    shown = float(words[words.index("between") + 1]), float(words[words.index("and") + 1])
    lower, upper = total().epsilon_bounds(delta=1e-5)
    assert shown[0] <= lower
    assert upper <= shown[1]


def test_loose_bounds_are_said_in_one_line(tmp_path, capsys):
    path = tmp_path / "spec.json"
    entry = {
        "kernel": "discrete_gaussian",
        "scale": 2,
        "within": [-4, 1],
        "rate": 0.8,
        "count": 2,
    }
    path.write_text(json.dumps([entry]))
    for _ in range(2):  # whether or not the answer is remembered
        assert main(["account", str(path), "--delta", "1e-3"]) == 0
        err = capsys.readouterr().err
        assert "warning" in err
        assert "relative gap" in err
        assert err.count("\n") == 1
