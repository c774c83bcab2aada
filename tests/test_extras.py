"""Optional packages: absent ones are named together with the command that installs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from brdp._extras import require
from brdp.errors import BrdpError, MissingExtra


def test_present_modules_are_returned() -> None:
    assert require("json", extra="query").dumps([1]) == "[1]"
    assert require("json.decoder", extra="query").__name__ == "json.decoder"


@pytest.mark.parametrize("module", ["package_that_is_not_there", "package_that_is_not_there.inner"])
def test_absent_package_names_the_command(module: str) -> None:
    with pytest.raises(MissingExtra, match=r"pip install 'brdp\[query\]'") as caught:
        require(module, extra="query")
    assert "'package_that_is_not_there'" in str(caught.value)
    assert isinstance(caught.value, BrdpError)
    assert isinstance(caught.value, ImportError)


def test_defect_inside_an_installed_package_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "package_with_a_defect.py").write_text("import another_that_is_not_there\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="another_that_is_not_there") as caught:
        require("package_with_a_defect", extra="query")
    assert not isinstance(caught.value, MissingExtra)
