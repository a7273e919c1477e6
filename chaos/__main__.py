"""The command `./kairos chaos [--seed N] [--minutes M]`; its exit code is 0 for VALID, 1 for INVALID, 2 for VACUOUS."""

from __future__ import annotations

import argparse
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
from kairos.cli.worker_process import run as run_fast

MOST_CHECKED = 100.0  # jobs a second that can be checked one by one; above, a run measures growth
BESIDE_LOAD = 5.0  # checked jobs a second beside the load: each takes many times as long as one of the load


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="kairos chaos", description="Break everything under load, then check."
    )
    parser.add_argument("--seed", type=int, default=random.randrange(10_000), help="repeats a run")
    parser.add_argument("--minutes", type=float, default=1.5, help="how long faults are injected")
    parser.add_argument("--rate", type=float, default=45.0, help="jobs that the clients enqueue a second")
    parser.add_argument("--mutant", choices=MUTANTS, help="break the engine: the checker must report it")
    parser.add_argument("--only", default="", help=f"inject only these faults: {','.join(WEIGHTS)}")
    parser.add_argument("--no-standby", action="store_true", help="one server, and no failover")
    parser.add_argument("--report", type=Path, help="where to write chaos-report.json and chaos-report.md")
    given = parser.parse_args(arguments)
    names = [name for name in given.only.split(",") if name]
    if unknown := [name for name in names if name not in WEIGHTS]:
        parser.error(f"no such fault: {', '.join(unknown)}; there are {', '.join(WEIGHTS)}")
    is_load = given.rate > MOST_CHECKED
    # By an exception, so that everything is cleaned up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = given.report or Path(tempfile.mkdtemp(prefix="kairos-chaos-"))
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "journal").exists():
        parser.error(f"{folder} holds the journal of another run: name an empty folder")
    folder.chmod(0o755)
    cluster = Cluster(folder, standby=not given.no_standby)
    try:
        cluster.start()
        SyncKairos(cluster.primary.url()).migrate()
        with Display() as display:
            report = run_fast(
                run(
                    cluster.primary.url(),
                    folder,
                    cluster=cluster,
                    seconds=given.minutes * 60,
                    seed=given.seed,
                    rate=BESIDE_LOAD if is_load else given.rate,
                    load=given.rate if is_load else 0.0,
                    backlog=round((20 if is_load else 4) * given.rate),
                    mutant=given.mutant,
                    faults={name: WEIGHTS[name] for name in names} or WEIGHTS,
                    watch=display.show,
                )
            )
    finally:
        cluster.stop()
    report.write(folder)
    show(report, folder)
    return report.exit_code


def show(report: Report, folder: Path) -> None:
    for name, count in sorted(report.counts.items()):
        print(f"{count:7} {name}")
    for message in report.notes:
        print(f"note: {message}")
    for message in report.missing:
        print(f"too little of {message}")
    for message in report.violations[:50]:
        print(f"VIOLATION {message}")
    print(
        f"{report.verdict}: {len(report.violations)} violations, seed {report.seed}, report and journal in {folder}"
    )


if __name__ == "__main__":
    sys.exit(main())
