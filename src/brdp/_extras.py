"""Packages that only some parts of brdp need, imported where they are used.

The core stands on numpy and scipy alone. Everything else belongs to an extra of pyproject.toml, and a
function that needs one asks for it here, so that whoever lacks it reads which command installs it.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from brdp.errors import MissingExtra


def require(module: str, *, extra: str) -> ModuleType:
    """Import `module`, or say which extra of brdp installs it.

    A dotted name returns the inner module. Only the absence of the package itself becomes a
    MissingExtra: an ImportError from inside an installed package is a defect, and is left as it is.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise MissingExtra(
            f"expected the package {package!r}, which is not installed. "
            f"Install it with: pip install 'brdp[{extra}]'"
        ) from error
