"""What leaves by `brdp ledger export` is enough: every figure again, from its lines alone.

Nothing here asks brdp what a noise costs: laws are rebuilt in many digits from their descriptions (tests/reference),
the chain by hashlib, sums by whole numbers. The events are given to dp-accounting itself.
"""

from __future__ import annotations

import hashlib
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import dp_accounting
import mpmath
import pytest
from mpmath import mp, mpf

import brdp
from brdp.cli import main
from brdp.curator import open_curator
from brdp.ledger import dp_events, json_lines, open_ledger
from brdp.privacy.filters import RenyiFilter, SumFilter
from tests.ledger.nursery import CONFIG, write_world
from tests.reference import kernels
from tests.reference.recycled import Recycled
from tests.reference.renyi import renyi

QUESTIONS = (
    "SELECT colour, COUNT(*) AS n WITHIN 40 FROM {} GROUP BY colour CONFIDENCE 0.95",
    "SELECT SUM(age) AS n WITHIN 3000 FROM {} CONFIDENCE 0.9",
    "SELECT COUNT(*) AS n WITHIN 30, SUM(age) AS s WITHIN 3000 FROM {} CONFIDENCE 0.9",
)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], list[Any]]:
    """Every line of a ledger with two tables, one a filter each, and the answers that left."""
    folder = tmp_path_factory.mktemp("world")
    config = write_world(folder)
    text = CONFIG.replace("epsilon = 0.6", "epsilon = 4")
    other = text.replace("tables.people", "tables.others")
    other = other.replace("delta = 1e-6", 'delta = 1e-6\nfilter = "renyi"')
    config.write_text(text + other)
    answers = []
    with open_curator(config) as curator:
        for table in ("people", "others"):
            for question in QUESTIONS:
                answers.append(curator.ask(question.format(table), analyst="ann"))
            curator.ledger.spend(table, epsilon=0.25, delta=0, note="elsewhere")
        lines = [json.loads(line) for line in json_lines(curator.ledger)]
    return lines, answers


def test_the_command_prints_these_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_world(tmp_path)
    with open_curator(config) as curator:
        curator.ask(QUESTIONS[0].format("people"))
        lines = list(json_lines(curator.ledger))
    assert main(["ledger", "export", "--config", str(config)]) == 0
    assert capsys.readouterr().out.splitlines() == lines
    assert len(lines) == 3


def test_the_chain_of_an_export(exported) -> None:
    lines, _ = exported
    before = "0" * 64
    for number, line in enumerate(lines):
        said = {key: value for key, value in line.items() if key != "hash"}
        text = json.dumps(said, sort_keys=True, separators=(",", ":"))
        assert line["seq"] == number + 1
        assert line["hash"] == hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()
        before = line["hash"]


def law(data: dict[str, Any]) -> Recycled:
    """The noise of a line, in many digits."""
    kernel = {
        "staircase": lambda: kernels.Staircase(data["core"], data["step"], data["drop"], True),
        "discrete_laplace": lambda: kernels.DiscreteLaplace(data["scale"]),
        "discrete_gaussian": lambda: kernels.DiscreteGaussian(data["sigma"]),
    }[data["kernel"]]()
    return Recycled(kernel, tuple(data.get("edges", ())), tuple(data.get("keeps", (1,))))


def pure_loss(noise: Recycled, shift: int) -> mpf:
    """The largest |log p(k) - log p(k - shift)|, over all steps up to where the law repeats itself."""
    assert not isinstance(noise.kernel, kernels.DiscreteGaussian)
    step = int(getattr(noise.kernel, "step", 1)) + int(getattr(noise.kernel, "core", 0))
    far = max((int(abs(edge)) for edge in noise.edges), default=0) + 2 * (shift + step) + 2

    def log_mass(k: int) -> mpf:
        return noise.kernel.log_density(k) + mp.log(noise.weight(k))

    return max(abs(log_mass(k) - log_mass(k - shift)) for k in range(-far, far + 1))


def charges(lines: list[dict[str, Any]], table: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["kind"] == "charge" and line["table"] == table]


def amount(units: int) -> mpf:
    return mpf(units) * mpf(2) ** -200


def parts(charge: dict[str, Any]) -> list[tuple[Recycled, int, int]]:
    return [(law(r["noise"]), r["sensitivity"], r["count"]) for r in charge["releases"]]


def close_above(found: mpf, truth: mpf, relative: float = 1e-8) -> bool:
    """A charge is never below the truth, and hardly above it."""
    return bool(truth * (1 - mpf(10) ** -18) <= found <= truth * (1 + mpf(relative)))


def test_the_price_of_a_sum_filter_again(exported) -> None:
    lines, _ = exported
    found = charges(lines, "people")
    assert len(found) == 4
    with mp.workdps(40):
        for charge in found[:3]:
            epsilon, delta, _ = (int(part, 16) for part in charge["price"].split())
            assert delta == 0, "these questions are charged as pure releases"
            truth = mp.fsum(count * pure_loss(noise, s) for noise, s, count in parts(charge))
            assert close_above(amount(epsilon), truth)
        assert int(found[3]["price"].split()[0], 16) == 2**198  # 0.25, by another tool


def test_the_price_of_a_renyi_filter_again(exported) -> None:
    lines, _ = exported
    (budget,) = [line for line in lines if line["kind"] == "budget" and line["table"] == "others"]
    with mp.workdps(30):
        for charge in charges(lines, "others")[:3]:
            prices = [int(part, 16) for part in charge["price"].split()]
            for order, price in zip(budget["filter"]["orders"], prices, strict=False):
                each = (count * renyi(noise, s, order) for noise, s, count in parts(charge))
                assert close_above(amount(price), mp.fsum(each), 1e-6)


def test_sums_and_taus_again(exported) -> None:
    lines, _ = exported
    spent: dict[str, list[int]] = {}
    for line in lines:
        if line["kind"] == "budget":
            width = 3 if line["filter"]["filter"] == "sum" else len(line["filter"]["orders"]) + 3
            spent[str(line["seq"])] = [0] * width
        if line["kind"] == "charge":
            price = [int(part, 16) for part in line["price"].split()]
            taus = sum((Fraction(r.get("tau", 0)) for r in line["releases"]), Fraction(0))
            assert taus == Fraction(line["tau"])
            assert price[-1] == math.ceil(taus * 2**200)
            assert (taus > 0) == (line["note"] == "")
            for number, after in line["after"].items():
                both = zip(spent[number], price, strict=True)
                spent[number] = [min(a + b, 1 << 600) for a, b in both]  # no sum is larger
                assert spent[number] == [int(part, 16) for part in after.split()]


def test_what_was_answered_and_promised_again(exported) -> None:
    lines, answers = exported
    by_charge = {line["charge"]: line["answer"] for line in lines if line["kind"] == "answer"}
    asked = [line for line in lines if line["kind"] == "charge" and not line["note"]]
    assert len(asked) == len(answers) == 6
    for charge, answer in zip(asked, answers, strict=True):
        told = by_charge[charge["seq"]]
        for release in charge["releases"]:
            name = "s" if "sum" in release["total"] and len(charge["releases"]) > 1 else "n"
            kept = [
                cell[0] * Fraction(2) ** release["exponent"]
                for cell in told["totals"][release["total"]]
            ]
            assert kept == [Fraction(row.cells[name].value) for row in answer.rows]
            if release["total"] != '["rows"]':
                continue
            (bound,) = [b for key, b in charge["promise"]["bounds"].items() if "count" in key]
            with mp.workdps(30):
                noise, within = law(release["noise"]), int(Fraction(bound["within"]))
                mass = mp.fsum(
                    keep * noise.kernel.mass(max(low, -within), min(high, within))
                    for low, high, keep in noise.parts()
                    if low <= within and high >= -within
                )
                whole = mp.fsum(k * noise.kernel.mass(lo, hi) for lo, hi, k in noise.parts())
                assert mpmath.almosteq(mass / whole, mpf(bound["confidence"]), rel_eps=mpf(1e-9))


def event(data: dict[str, Any]) -> Any:
    """An event of dp-accounting from its export."""
    data = dict(data)
    made = getattr(dp_accounting, str(data.pop("event")))
    data.pop("charge", None)
    if "events" in data:
        return made([event(inner) for inner in data["events"]])
    return made(**data)


def accountants() -> list[Any]:
    # the relation only names how a randomised response is read: its two buckets are the two neighbours
    relation = dp_accounting.NeighboringRelation.REPLACE_ONE
    return [
        dp_accounting.pld.PLDAccountant(relation),
        dp_accounting.rdp.RdpAccountant(neighboring_relation=relation),
    ]


def ledger_with(noises: list[tuple[brdp.noise.Noise, int, int]], filter) -> Any:
    """A ledger in memory with one charge for each (noise, sensitivity, count)."""
    from brdp.ledger import Request
    from brdp.noise.describe import describe_noise

    ledger = open_ledger(":memory:")
    ledger.grant("people", filter)
    for index, (noise, sensitivity, count) in enumerate(noises):
        curve = brdp.compose({noise.privacy(sensitivity=sensitivity): count})
        release = {"noise": describe_noise(noise), "sensitivity": sensitivity, "count": count}
        request = Request(
            table="people",
            analyst="ann",
            question="",
            digest=str(index),
            version="1",
            price=filter.price(curve),
            tau=Fraction(0),
            releases=(release,),
        )
        ledger.ask(request, serves=lambda promise: True)
    return ledger


def test_dp_accounting_bounds_pure_releases_closely() -> None:
    noises = [
        (brdp.DiscreteLaplace(10.0), 1, 5),
        (brdp.DiscreteLaplace(30.0), 2, 20),
        (brdp.Recycled(brdp.DiscreteLaplace(12.0), within=8, rate=0.3), 1, 3),
    ]
    filter = SumFilter.for_queries(epsilon=50.0, delta=1e-6, queries=10)
    truth = brdp.compose({n.privacy(sensitivity=s): count for n, s, count in noises})
    plainly = sum(n.privacy(sensitivity=s).largest_loss * count for n, s, count in noises)
    with ledger_with(noises, filter) as ledger:
        for accountant in accountants():
            for found in dp_events(ledger):
                accountant.compose(event(found))
            epsilon = accountant.get_epsilon(1e-6)
            assert truth.epsilon_bounds(delta=1e-6)[0] <= epsilon <= plainly * 1.05


def test_dp_accounting_bounds_gaussian_releases_closely() -> None:
    noises = [(brdp.DiscreteGaussian(40.0), 1, 30), (brdp.DiscreteGaussian(100.0), 3, 1)]
    filter = RenyiFilter.for_budget(epsilon=20.0, delta=1e-6)
    truth = brdp.compose({n.privacy(sensitivity=s): count for n, s, count in noises})
    with ledger_with(noises, filter) as ledger:
        accountant = accountants()[1]
        for found in dp_events(ledger):
            accountant.compose(event(found))
        lower, upper = truth.epsilon_bounds(delta=1e-6)
        assert lower <= accountant.get_epsilon(1e-6) <= 1.25 * upper


def test_dp_accounting_refuses_what_it_has_no_event_for() -> None:
    """Rather none than a figure that is too small."""
    noises = [(brdp.Recycled(brdp.DiscreteGaussian(9.0), within=5, rate=0.5), 1, 2)]
    filter = RenyiFilter.for_budget(epsilon=20.0, delta=1e-6)
    with ledger_with(noises, filter) as ledger:
        (found,) = dp_events(ledger)
        for accountant in accountants():
            assert not accountant.supports(event(found))
            with pytest.raises(dp_accounting.UnsupportedEventError):
                accountant.compose(event(found))


def test_events_of_a_curator_are_read_by_dp_accounting(tmp_path: Path) -> None:
    config = write_world(tmp_path)
    with open_curator(config) as curator:
        for question in QUESTIONS[:1]:
            curator.ask(question.format("people"))
        spent = curator.budget("people").state.epsilon
        for accountant in accountants():
            for found in dp_events(curator.ledger, table="people"):
                accountant.compose(event(found))
            # converted from Renyi orders it is hardly more, else what was charged
            assert 0.99 * spent <= accountant.get_epsilon(1e-9) <= 1.25 * spent
