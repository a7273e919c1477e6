"""Run `kairos bench`, `kairos chaos` and `kairos cluster`, which a clone of the repository has and the package not."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

import kairos
from kairos.errors import ConfigError

CHECKOUT = Path(kairos.__file__).parents[2]


def run_from_checkout(folder: str, what: str, arguments: list[str]) -> NoReturn:
    """Replace this process by the program in `folder` of the clone; raise `ConfigError` if it has none."""
    if not (CHECKOUT / folder).is_dir():
        raise ConfigError(f"There is no {folder} folder: {what} from a clone of the repository.")
    sys.stdout.flush()
    os.chdir(CHECKOUT)
    os.execv(sys.executable, [sys.executable, "-m", folder, *arguments])  # noqa: S606 - as we are
