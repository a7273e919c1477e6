"""`python -m chaos --seconds 60 --seed 1 [--mutant unfenced]`: exit code 0 only for a run that is VALID."""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
from functools import partial
from pathlib import Path

import psycopg

from chaos import program
from chaos.harness import Report, run
from chaos.nemesis import FAULTS
from kairos.embedded import Server
from kairos.store.migrate import migrate_sync


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--seed", type=int, default=random.randrange(10_000))
    arguments.add_argument("--mutant", choices=program.MUTANTS, help="break the engine, to see it found out")
    arguments.add_argument("--only", choices=FAULTS, help="no other fault than this")
    arguments.add_argument("--url", help="an empty, migrated database; without one, a server of its own")
    given = arguments.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kairos-chaos-"))
    faults = {given.only: 1.0} if given.only else FAULTS

    chosen = {"seconds": given.seconds, "seed": given.seed, "mutant": given.mutant, "faults": faults}
    if given.url:
        report = asyncio.run(run(given.url, folder, **chosen))
    else:
        with Server(folder / "postgres", ephemeral=True) as server:
            with psycopg.connect(server.url(), autocommit=True) as connection:
                migrate_sync(connection)
            report = asyncio.run(run(server.url(), folder, crash=partial(crash, server), **chosen))
    show(report, folder)
    return {"VALID": 0, "INVALID": 1, "VACUOUS": 2}[report.verdict]


async def crash(server: Server) -> None:
    """An immediate stop in the middle of everything; what was committed has to be there afterwards."""
    postmaster = int((server.data / "postgres" / "postmaster.pid").read_text().splitlines()[0])
    os.kill(postmaster, signal.SIGQUIT)
    while server.is_alive():
        await asyncio.sleep(0.01)
    await asyncio.to_thread(server.start)


def show(report: Report, folder: Path) -> None:
    for name, count in sorted(report.counts.items()):
        print(f"{count:7} {name}")
    for said in report.missing:
        print(f"too little of {said}")
    for said in report.violations[:50]:
        print(f"VIOLATION {said}")
    print(
        f"{report.verdict}: {len(report.violations)} violations, seed {report.seed}, journal and log in {folder}"
    )


if __name__ == "__main__":
    sys.exit(main())
