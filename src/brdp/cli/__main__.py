"""`python -m brdp.cli` is `brdp`."""

import sys

from brdp.cli import main

sys.exit(main())
