"""What can go wrong with a ledger. No message holds an answer or anything private."""

from __future__ import annotations

from typing import final

from brdp.errors import BrdpError


@final
class LedgerRefused(BrdpError):
    """The ledger is not as it must be (edited, newer, from the future): nothing is read or written."""


@final
class LedgerUnavailable(BrdpError):
    """The ledger could not be read or written: no room, no server, no permission.

    Nothing has been released. A charge may or may not have been recorded; if it was, asking the same
    question again completes it at no further cost.
    """
