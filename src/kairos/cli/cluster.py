"""`kairos cluster`: break a Postgres cluster under load, from a clone, and measure how long work pauses."""

from __future__ import annotations

from typing import NoReturn

import typer

from kairos.cli.source_checkout import run_from_checkout


def cluster(ctx: typer.Context) -> NoReturn:
    """Run the faults in `cluster/` of a clone with the given arguments: failovers, partitions, lost quorums."""
    run_from_checkout("cluster", "a cluster runs", ctx.args)
