"""Notice changes of the app's files by polling their modification times."""

from __future__ import annotations

import asyncio
import sys
import sysconfig
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_INTERVAL = 0.3
_INSTALLED = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))


class FileWatcher:
    """Watches the loaded modules that are not installed packages, and the given paths."""

    def __init__(self, since: float, more: Iterable[Path] = ()) -> None:
        self._since = since
        self._more = tuple(more)
        self._times: dict[str, float] = {}

    async def changed(self) -> Path:
        """Wait for the first change; return the file."""
        while (path := self.poll()) is None:
            await asyncio.sleep(_INTERVAL)
        return path

    def poll(self) -> Path | None:
        """Return a file that changed since the last poll or, if seen for the first time, after the start."""
        for name in {*map(str, self._more), *_module_files()}:
            time = 0.0  # the file is missing, perhaps only for a moment
            with suppress(OSError):
                time = Path(name).stat().st_mtime
            before = self._times.setdefault(name, min(time, self._since))
            if before != time:
                return Path(name)
        return None


def _module_files() -> set[str]:
    named = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return {name for name in named if name is not None and not name.startswith(_INSTALLED)}
