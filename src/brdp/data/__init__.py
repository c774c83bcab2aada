"""A query as exact integer totals, computed inside an engine. Only the curator may import this."""

from brdp.data.bounding import BoundingKey
from brdp.data.compile import Compiled, compile_query
from brdp.data.duckdb_engine import DuckDBEngine
from brdp.data.engine import Engine, EngineFailed
from brdp.data.postgres_engine import PostgresEngine
from brdp.data.private_groups import PrivateGroups, groups_changed, private_groups
from brdp.data.sampling import Sample
from brdp.data.sources import FrameSource, open_source
from brdp.data.spark_engine import SparkEngine
from brdp.data.totals import ExactTotals, exact_totals
from brdp.data.units import require_declared, require_named_units, require_readable

__all__ = [
    "BoundingKey",
    "Compiled",
    "DuckDBEngine",
    "Engine",
    "EngineFailed",
    "ExactTotals",
    "FrameSource",
    "PostgresEngine",
    "PrivateGroups",
    "Sample",
    "SparkEngine",
    "compile_query",
    "exact_totals",
    "groups_changed",
    "open_source",
    "private_groups",
    "require_declared",
    "require_named_units",
    "require_readable",
]
