"""`./kairos chaos [--seed N] [--minutes M]`: exit code 0 only for a run that is VALID, 1 INVALID, 2 VACUOUS."""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import sys
import tempfile
from pathlib import Path

from chaos.display import Display
from chaos.harness import WEIGHTS, run
from chaos.mutants import MUTANTS
from chaos.postgres import Cluster
from chaos.report import Report
from kairos import SyncKairos

JUDGED = 100.0  # jobs a second that can be judged one by one; above, a run is about growth
BESIDE_LOAD = 5.0  # of the same jobs beside the load: they take many times as long as its own


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="kairos chaos", description="Break everything under load, then check."
    )
    parser.add_argument("--seed", type=int, default=random.randrange(10_000), help="the same faults again")
    parser.add_argument("--minutes", type=float, default=1.5, help="how long there are faults")
    parser.add_argument("--rate", type=float, default=15.0, help="jobs asked for in a second")
    parser.add_argument("--mutant", choices=MUTANTS, help="break the engine, to see it found out")
    parser.add_argument("--only", default="", help=f"no other faults than these: {','.join(WEIGHTS)}")
    parser.add_argument("--no-standby", action="store_true", help="one server, and no failover")
    parser.add_argument("--report", type=Path, help="where to write chaos-report.json and chaos-report.md")
    given = parser.parse_args(arguments)
    names = [name for name in given.only.split(",") if name]
    if unknown := [name for name in names if name not in WEIGHTS]:
        parser.error(f"no such fault: {', '.join(unknown)}; there are {', '.join(WEIGHTS)}")
    is_load = given.rate > JUDGED
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left behind
    folder = Path(tempfile.mkdtemp(prefix="kairos-chaos-"))
    cluster = Cluster(folder, standby=not given.no_standby)
    try:
        cluster.start()
        SyncKairos(cluster.primary.url()).migrate()
        with Display() as display:
            report = asyncio.run(
                run(
                    cluster.primary.url(),
                    folder,
                    cluster=cluster,
                    seconds=given.minutes * 60,
                    seed=given.seed,
                    rate=BESIDE_LOAD if is_load else given.rate,
                    load=given.rate if is_load else 0.0,
                    backlog=round(20 * given.rate) if is_load else 60,
                    mutant=given.mutant,
                    faults={name: WEIGHTS[name] for name in names} or WEIGHTS,
                    watch=display.show,
                )
            )
    finally:
        cluster.stop()
    report.write(given.report or folder)
    show(report, given.report or folder)
    return report.exit_code


def show(report: Report, folder: Path) -> None:
    for name, count in sorted(report.counts.items()):
        print(f"{count:7} {name}")
    for said in report.notes:
        print(f"note: {said}")
    for said in report.missing:
        print(f"too little of {said}")
    for said in report.violations[:50]:
        print(f"VIOLATION {said}")
    print(
        f"{report.verdict}: {len(report.violations)} violations, seed {report.seed}, report and journal in {folder}"
    )


if __name__ == "__main__":
    sys.exit(main())
