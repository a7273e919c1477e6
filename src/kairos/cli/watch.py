"""Notices when a file of the app is changed, by asking for its time of change now and then."""

from __future__ import annotations

import asyncio
import sys
import sysconfig
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_INTERVAL = 0.3
_INSTALLED = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))


class Watch:
    """The modules that are loaded and not installed, and whatever else is named."""

    def __init__(self, since: float, more: Iterable[Path] = ()) -> None:
        self._since = since
        self._more = tuple(more)
        self._times: dict[str, float] = {}

    async def changed(self) -> Path:
        """Wait for the first change, and say which file it was."""
        while (path := self.look()) is None:
            await asyncio.sleep(_INTERVAL)
        return path

    def look(self) -> Path | None:
        """A file that is not as it was at the last look or, seen for the first time, was changed `since`."""
        for name in {*map(str, self._more), *_module_files()}:
            time = 0.0  # gone, for a moment or for good
            with suppress(OSError):
                time = Path(name).stat().st_mtime
            before = self._times.setdefault(name, min(time, self._since))
            if before != time:
                return Path(name)
        return None


def _module_files() -> set[str]:
    named = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return {name for name in named if name is not None and not name.startswith(_INSTALLED)}
