"""The errata page is what the command computes, and every erratum is what it says it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from brdp.paper.errata.catalogue import ERRATA, SURVIVES
from brdp.paper.figures.errata import ErrataPanel

PAGE = Path(__file__).parents[2] / "docs" / "errata.md"

# Errata whose evidence is a number the paper's formula gets wrong by at least this factor either way.
LEAST_GAP = {
    "E1": 2.0,
    "E4": 2.0,
    "E5": 1.3,
    "E8": 100.0,
    "E9": 1.1,
    "E11": 2.0,
    "E14": 1.4,
    "E16": 50.0,
}
QUICK = {"E1", "E2", "E5", "E8", "E9", "E10", "E11", "E12", "E13", "E14", "E17", "E19", "E20"}


def test_the_page_holds_every_erratum_in_words() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for erratum in ERRATA:
        assert f"## {erratum.label}. {erratum.title}\n" in text
        for words in (erratum.says, erratum.derivation, erratum.replacement):
            assert words in text, erratum.label
        for point in erratum.points:
            assert f"\n- {point}\n" in text, erratum.label
    for words in SURVIVES:
        assert words in text
    assert "**344 of 1,440**" in text
    assert "**1,382 of 1,440**" in text


def test_labels_are_in_order_and_no_prose_breaks_a_table() -> None:
    assert [erratum.label for erratum in ERRATA] == [f"E{i}" for i in range(1, len(ERRATA) + 1)]
    for erratum in ERRATA:
        for words in (erratum.says, erratum.derivation, erratum.replacement, erratum.title):
            assert "\n" not in words


@pytest.mark.parametrize("label", sorted(QUICK))
def test_evidence_shows_the_gap_it_claims(label: str) -> None:
    (erratum,) = (one for one in ERRATA if one.label == label)
    found = erratum.evidence()
    assert found
    gaps = [max(one.true / one.stated, one.stated / one.true) for one in found]
    assert max(gaps) >= LEAST_GAP.get(label, 1.05)
    text = PAGE.read_text(encoding="utf-8")
    for one in found:
        row = f"| {one.setting} | {one.quantity} | {one.stated:.5g} | {one.true:.5g} |"
        assert row in text


def test_counts_are_counts() -> None:
    """Quick ones only; some claims hold on the main grid, and the page says so (Theorem 2)."""
    for erratum in ERRATA:
        if erratum.label in {"E5", "E11", "E14", "E19"}:
            for one in erratum.frequency():
                assert 0 <= one.broken <= one.settings
                assert f"**{one.broken:,} of {one.settings:,}**" in PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_is_what_the_command_writes() -> None:
    panel = ErrataPanel()
    page = panel.page(panel.compute(lambda words: None))
    assert page == PAGE.read_text(encoding="utf-8")
