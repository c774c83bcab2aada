"""Engines as sources of a brdp.toml: how they are written, and that no password is ever shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from brdp.catalog import PostgresSource, SparkSource, parse_catalog
from brdp.errors import InvalidInput


def source(line):
    text = f'[tables.t]\n{line}\nunit = "row"\nbudget = {{ epsilon = 1, delta = 0 }}\n'
    return parse_catalog(text, folder="/data").table("t").source


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('source = "postgresql://me@host/db"\ntable = "a.b"', PostgresSource("postgresql://me@host/db", "a.b")),
        ('source = { postgres = "postgres://host", table = "v" }', PostgresSource("postgres://host", "v")),
        ('source = { postgres = "postgres://h", table = ["a.b", "c"] }', PostgresSource("postgres://h", ("a.b", "c"))),
        ('source = { spark = "local[2]", table = "shop.visits" }', SparkSource("local[2]", table="shop.visits")),
        ('source = { spark = "active", path = "s3a://b/v" }', SparkSource("active", path="s3a://b/v")),
        ('source = { spark = "yarn", path = "v/*.parquet" }', SparkSource("yarn", path=str(Path("/data/v/*.parquet")))),
    ],
)  # fmt: skip
def test_engines_are_written(line, expected):
    assert source(line) == expected


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hunter2@host:5433/db",
        "postgresql://me@host:5433/db?password=hunter2",
        "postgresql://me:hunter2@x@host:5433/db?sslpassword=hunter2",
    ],
)
def test_passwords_are_never_shown(url):
    made = PostgresSource(url, "a.b")
    assert made.description() == "postgresql host:5433/db a.b"
    assert "hunter2" not in repr(made)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PostgresSource("mysql://me:hunter2@host/db", "t"),
        lambda: PostgresSource("postgresql://h", "a.b.c"),
        lambda: PostgresSource("postgresql://h", "a..b"),
        lambda: PostgresSource("postgresql://h", ""),
        lambda: SparkSource("local"),
        lambda: SparkSource("", table="x"),
        lambda: SparkSource("local", table="x", path="y"),
        lambda: SparkSource("local", table=""),
    ],
)
def test_what_is_no_source(make):
    with pytest.raises(InvalidInput) as refusal:
        make()
    assert "hunter2" not in str(refusal.value)
