"""`kairos bench`, `kairos chaos` and `kairos cluster`: programs that only a clone of the repository has."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

import typer

import kairos
from kairos.errors import ConfigError

CHECKOUT = Path(kairos.__file__).parents[2]


def bench(ctx: typer.Context) -> NoReturn:
    """Run the benchmark in `bench/` of a clone with the given arguments."""
    _run("bench", "the benchmark runs", ctx.args)


def chaos(ctx: typer.Context) -> NoReturn:
    """Run the faults in `chaos/` of a clone with the given arguments, and check the result."""
    _run("chaos", "chaos runs", ctx.args)


def cluster(ctx: typer.Context) -> NoReturn:
    """Run the faults in `cluster/` of a clone with the given arguments: failovers, partitions, lost quorums."""
    _run("cluster", "a cluster runs", ctx.args)


def _run(folder: str, what: str, arguments: list[str]) -> NoReturn:
    """Replace this process by the program in `folder` of the clone; raise `ConfigError` if it has none."""
    if not (CHECKOUT / folder).is_dir():
        raise ConfigError(f"There is no {folder} folder: {what} from a clone of the repository.")
    sys.stdout.flush()
    os.chdir(CHECKOUT)
    os.execv(sys.executable, [sys.executable, "-m", folder, *arguments])  # noqa: S606 - as we are
