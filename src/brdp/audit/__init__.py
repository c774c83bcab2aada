"""The promise tested from outside: draws on neighbouring inputs, and what they prove about epsilon."""

from brdp.audit.mechanism import Additive, Black, Mechanism, Release
from brdp.audit.promise import Coverage, Promise
from brdp.audit.report import CoverageFinding, Event, Report
from brdp.audit.run import audit
from brdp.audit.spec import promise_of, read_spec

__all__ = [
    "Additive",
    "Black",
    "Coverage",
    "CoverageFinding",
    "Event",
    "Mechanism",
    "Promise",
    "Release",
    "Report",
    "audit",
    "promise_of",
    "read_spec",
]
