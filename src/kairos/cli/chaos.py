"""`kairos chaos`: run the fault injection of a clone under load, and check the result."""

from __future__ import annotations

from typing import NoReturn

import typer

from kairos.cli.source_checkout import run_from_checkout


def chaos(ctx: typer.Context) -> NoReturn:
    """Run the faults in `chaos/` of a clone with the given arguments, and check the result."""
    run_from_checkout("chaos", "chaos runs", ctx.args)
