"""Find the place in the user's own code where an error was raised."""

from __future__ import annotations

import sysconfig
import traceback
from functools import cache
from pathlib import Path

# An error that was raised in another process has lost its traceback; its frame travels beside it.
CARRIED = "__kairos_frame__"
_LONGEST = 300
_OURS = str(Path(__file__).parent.parent)
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})


def own_frame(error: BaseException) -> tuple[str, str | None]:
    """Return the last frame of the user's own code in a traceback, without and with its line number, or "".

    `app/orders.py in charge` stays the same when lines above it are added: errors are grouped by it.
    """
    carried: tuple[str, str | None] | None = getattr(error, CARRIED, None)
    if carried is not None:
        return carried
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        code = frame.f_code
        if _is_own(code.co_filename):
            place = "/".join(Path(code.co_filename).parts[-2:]).lstrip("/")
            return f"{place} in {code.co_qualname}"[:_LONGEST], f"{place}:{line} in {code.co_qualname}"[
                :_LONGEST
            ]
    return "", None


@cache
def _is_own(filename: str) -> bool:
    """Whether a file is neither Kairos', nor Python's, nor an installed package's."""
    if filename.startswith("<") or {"site-packages", "dist-packages"} & set(Path(filename).parts):
        return False
    return not any(Path(filename).is_relative_to(folder) for folder in (_OURS, *_LIBRARIES))
