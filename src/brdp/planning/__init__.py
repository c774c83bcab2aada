"""Which noise to use: the best plan for a stated error bound."""

from brdp.planning.plan import plan
from brdp.planning.result import Alternative, Plan

__all__ = ["Alternative", "Plan", "plan"]
