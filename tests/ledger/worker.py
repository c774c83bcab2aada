"""A process that asks question after question, as the curator does, and tells every answer that leaves.

Run as `python -m tests.ledger.worker PLACE NAME COUNT`; it prints one line `NAME value` per answer.
"""

from __future__ import annotations

import secrets
import sys

from brdp.errors import BudgetExceeded
from brdp.ledger import Granted, LedgerUnavailable, open_ledger
from tests.ledger.asking import request, serves


def life(place: str, first: str, count: int) -> None:
    with open_ledger(place) as ledger:
        print("ready", flush=True)
        for index in range(count):
            name = f"{first}{index}"
            try:
                granted = ledger.ask(request(name), serves=serves(1))
                if isinstance(granted, Granted):
                    # the noisy answer: no two computations give the same one
                    answer = ledger.answer(granted, {"n": secrets.token_hex(8)})
                else:
                    answer = granted.answer
            except BudgetExceeded:
                print(f"refused {name}", flush=True)
                continue
            except LedgerUnavailable:
                print(f"unavailable {name}", flush=True)
                continue
            print(f"{name} {answer['n']}", flush=True)


if __name__ == "__main__":
    life(sys.argv[1], sys.argv[2], int(sys.argv[3]))
