"""How long it takes until brdp is there: `import brdp` and `brdp --help`.

Claim: on a warm disk `import brdp` takes at most 0.35 s and `brdp --help` at most 0.5 s, each the median of
ten fresh processes, the interpreter's own start included. Prints median / limit; exits 1 if one is above 1.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 10
LIMITS = {
    "import brdp": (0.35, [sys.executable, "-c", "import brdp"]),
    "brdp --help": (0.5, [str(Path(sys.executable).with_name("brdp")), "--help"]),
}


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> int:
    missed = 0
    for name, (limit, command) in LIMITS.items():
        seconds(command)  # warms the disk, and writes byte code if there was none
        taken = statistics.median(seconds(command) for _ in range(RUNS))
        ratio = taken / limit
        missed += ratio > 1
        verdict = "MISSED" if ratio > 1 else "held"
        print(
            f"{name}: median {taken:.3f} s of {RUNS}, limit {limit} s, ratio {ratio:.2f} ({verdict})"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
