"""`brdp plan` as its contract says: JSON on stdout alone, exit status, one line for an error."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import brdp
from brdp.cli import COMMANDS, main

PLAN = ["plan", "--sensitivity", "1", "--within", "3", "--delta", "1e-5"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "brdp.cli", *arguments], capture_output=True, text=True, check=False
    )


def test_json_is_one_object_with_the_keys_of_the_contract(capsys):
    assert main([*PLAN, "--epsilon", "1", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {"kernel", "within", "acceptance", "epsilon", "delta", "count", "alternatives"} <= set(
        printed
    )
    assert "rate" in printed or "levels" in printed
    plan = brdp.plan(sensitivity=1, within=3, epsilon=1, delta=1e-5)
    assert printed["acceptance"] == plan.acceptance
    assert len(printed["alternatives"]) == len(plan.alternatives)


def test_the_printed_noise_is_the_planned_noise(capsys):
    """What is printed must describe the noise to the last bit."""
    assert main([*PLAN, "--epsilon", "2", "--kernel", "gaussian", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    again = brdp.Recycled(
        brdp.Gaussian(printed["scale"]), within=printed["within"], rate=printed["rate"]
    )
    plan = brdp.plan(sensitivity=1, within=3, epsilon=2, delta=1e-5, kernel="gaussian")
    assert again == plan.noise


def test_people_get_a_table_that_fits_a_terminal(capsys):
    assert main([*PLAN, "--confidence", "0.95"]) == 0
    printed = capsys.readouterr().out
    assert "probability 95.00 %" in printed
    assert all(len(line) <= 100 for line in printed.splitlines())


def test_plot_writes_a_picture(tmp_path, capsys):
    target = tmp_path / "noise.png"
    assert (
        main([*PLAN, "--epsilon", "1", "--kernel", "gaussian", "--plot", str(target), "--json"])
        == 0
    )
    assert target.read_bytes().startswith(b"\x89PNG")
    json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", "--sensitivity", "0", "--within", "3", "--epsilon", "1"],
        ["plan", "--sensitivity", "1", "--within", "3", "--epsilon", "1", "--kernel", "gaussian"],
        ["plan", "--sensitivity", "1", "--within", "nan", "--epsilon", "1"],
        ["plan", "--sensitivity", "1", "--within", "1", "--epsilon", "1", "--delta", "-1e-5"],
        ["plan", "--sensitivity", "1", "--within", "1", "--confidence", "1"],
        ["plan", "--sensitivity", "1", "--within", "0.5", "--epsilon", "1", "--integer"],
        ["plan", "--sensitivity", "1", "--within", "1", "--epsilon", "1", "--plot", "noise.xyz"],
        [
            "plan",
            "--sensitivity",
            "1",
            "--within",
            "1",
            "--epsilon",
            "1",
            "--plot",
            "no/such/a.png",
        ],
    ],
)
def test_bad_input_is_one_line_on_stderr_and_status_2(arguments):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert "expected" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan"],
        ["bogus"],
        ["plan", "--sensitivity", "one", "--within", "1", "--epsilon", "1"],
        ["plan", "--sensitivity", "1", "--within", "1", "--epsilon", "1", "--confidence", "0.9"],
        ["plan", "--sensitivity", "1", "--within", "1", "--epsilon", "1", "--kernel", "cauchy"],
    ],
)
def test_arguments_that_cannot_be_read_are_one_line_too(arguments):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert "--help" in done.stderr


def test_the_table_tells_what_recycling_gains_and_marks_the_plan(capsys):
    """Plain and recycled agree to two decimals here, and differ in the third."""
    assert main([*PLAN, "--epsilon", "1"]) == 0
    printed = capsys.readouterr().out
    (row,) = [line for line in printed.splitlines() if "*" in line and not line.startswith("*")]
    assert row.startswith("staircase")
    _, plain, _, recycled, _ = row.split()
    assert float(recycled) > float(plain)


def test_help_lists_every_command():
    done = run("--help")
    assert done.returncode == 0
    assert all(command in done.stdout for command in COMMANDS)
