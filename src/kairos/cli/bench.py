"""`kairos bench`: run the benchmark of a clone."""

from __future__ import annotations

from typing import NoReturn

import typer

from kairos.cli.clone import run_from_clone


def bench(ctx: typer.Context) -> NoReturn:
    """Run the benchmark in `bench/` of a clone with the given arguments."""
    run_from_clone("bench", "the benchmark runs", ctx.args)
