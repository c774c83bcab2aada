"""Files that commands read and write."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def read_json(path: str) -> Any:
    """Read a SPEC (- is standard input); errors say where the file is not JSON, and never what is in it."""
    from brdp.errors import InvalidInput

    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
        return json.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput("SPEC.json", expected="a file that can be read", got=path) from error
    except json.JSONDecodeError as error:
        raise InvalidInput(
            "SPEC.json",
            expected="JSON",
            got=path,
            remedy=f"Line {error.lineno}, column {error.colno}: {error.msg}.",
        ) from error


def require_picture(option: str, path: str | None, *, endings: tuple[str, ...] = (".png",)) -> None:
    """Refuse, before any work, a picture that could not be written in the end."""
    from brdp._extras import require
    from brdp.errors import InvalidInput

    if path is None:
        return
    if not path.endswith(endings):
        raise InvalidInput(option, expected=f"a name that ends in {' or '.join(endings)}", got=path)
    if not Path(path).parent.is_dir():
        raise InvalidInput(option, expected="a file in a folder that exists", got=path)
    require("matplotlib", extra="plot")
