"""brdp init: a first brdp.toml from names and types alone."""

from __future__ import annotations

import pytest

from brdp.catalog import ColumnUnit, RowUnit, init_text, parse_catalog
from brdp.datasets import adult_path
from brdp.errors import InvalidInput


def test_it_loads_and_shows_no_value(tmp_path):
    file = tmp_path / "my data.csv"
    file.write_text('user_id,"odd ""name""",plain\nSECRET,4711,x\n')
    text = init_text(file)
    assert "SECRET" not in text
    assert "4711" not in text
    table = parse_catalog(text).table("my_data")
    assert table.unit == ColumnUnit("user_id")  # the safer guess
    assert table.columns == ()
    assert '\n# unit = "row"' in text
    # uncommented, its hints load too, for the first of the alternatives
    for line in ("# [tables.my_data.columns.plain]", '# [tables.my_data.columns."odd \\"name\\""]'):
        assert line in text
        declared = text.replace(line, line[2:] + "\nclip = [0, 100]\ninteger = true")
        assert len(parse_catalog(declared).table("my_data").columns) == 1


def test_types_come_from_parquet_metadata(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("duckdb")
    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.table({"n": [1], "x": [1.5], "b": [True], "l": [[1]]}), path)
    text = init_text(path)
    assert "# [tables.t.columns.n]\n# clip = [0, 100]" in text
    assert "# [tables.t.columns.x]\n# clip = [0.0, 1.0]" in text
    assert "# [tables.t.columns.b]\n# categories = [true, false]" in text
    assert '"l" holds values of another kind' in text


@pytest.mark.parametrize(
    ("header", "unit"),
    [("a,customer_id,user_id", ColumnUnit("customer_id")), ("event_id,a", RowUnit()), ("a,b", RowUnit()),
     ("event_id,Patient", ColumnUnit("Patient")), ("username,users", RowUnit())],
)  # fmt: skip
def test_a_column_that_seems_to_name_people_is_the_unit(tmp_path, header, unit):
    file = tmp_path / "t.csv"
    file.write_text(header + "\n")
    text = init_text(file)
    table = parse_catalog(text).table("t")
    assert table.unit == unit
    assert table.rows_per_unit == (1 if unit == RowUnit() else 5)


def test_the_bundled_table():
    text = init_text(adult_path(), name="adult")
    assert "tables.adult.columns.education_num" in text
    assert parse_catalog(text).table("adult").budget is not None


@pytest.mark.parametrize("path", ["table.xlsx", "nowhere.csv", "nothing"])
def test_refusals(path):
    with pytest.raises(InvalidInput):
        init_text(path)


def test_the_path_starts_from_the_folder_of_the_brdp_toml(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "t.csv").write_text("a\n1\n")
    for folder in (".", "config", "data", str(tmp_path / "config")):
        text = init_text("data/t.csv", folder=folder)
        (path,) = parse_catalog(text, folder=folder).table("t").source.paths
        assert (tmp_path / path).resolve() == tmp_path / "data" / "t.csv"
