"""`kairos bench`: run the benchmark of a clone."""

from __future__ import annotations

from typing import NoReturn

import typer

from kairos.cli.source_checkout import run_from_checkout


def bench(ctx: typer.Context) -> NoReturn:
    """Run the benchmark in `bench/` of a clone with the given arguments."""
    run_from_checkout("bench", "the benchmark runs", ctx.args)
