"""What has been spent: budgets, charges and answers, durable and checked."""

from brdp.ledger.entry import Entry, EntryKind
from brdp.ledger.export import dp_events, json_lines
from brdp.ledger.failures import LedgerRefused, LedgerUnavailable
from brdp.ledger.ledger import Ledger
from brdp.ledger.odometer import Odometer, odometer
from brdp.ledger.open import open_ledger
from brdp.ledger.records import BudgetStatus, Granted, Period, Request, Stored
from brdp.ledger.verify import Verified, verify

__all__ = [
    "BudgetStatus",
    "Entry",
    "EntryKind",
    "Granted",
    "Ledger",
    "LedgerRefused",
    "LedgerUnavailable",
    "Odometer",
    "Period",
    "Request",
    "Stored",
    "Verified",
    "dp_events",
    "json_lines",
    "odometer",
    "open_ledger",
    "verify",
]
