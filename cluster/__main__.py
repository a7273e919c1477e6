"""`./kairos cluster [--only names] [--report]`: exit code 0 only if nothing was lost, doubled or overlapped."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from cluster import loss, report
from cluster.faults import FAULTS
from cluster.requirements import missing
from cluster.system import System
from cluster.trial import Result, Trials


def main(arguments: list[str] | None = None) -> int:
    every = ",".join([*FAULTS, *LOSS])
    parser = argparse.ArgumentParser(
        prog="kairos cluster", description="Break a highly available Postgres under load, and measure."
    )
    parser.add_argument("--only", default="", help=f"inject only these faults: {every}")
    parser.add_argument("--keep", action="store_true", help="keep the folder with the logs of every process")
    parser.add_argument("--report", action="store_true", help=f"write the tables into {report.PAGE.name}")
    given = parser.parse_args(arguments)
    names = [name for name in given.only.split(",") if name] or [*FAULTS, *LOSS]
    if unknown := [name for name in names if name not in FAULTS and name not in LOSS]:
        parser.error(f"no such fault: {', '.join(unknown)}; there are {', '.join([*FAULTS, *LOSS])}")
    if given.report and given.only:
        parser.error("--report writes the whole table: leave out --only")
    if (why := missing()) is not None:
        print(f"No cluster can be started here: {why}.", file=sys.stderr)
        return 69
    # By an exception, so that everything is cleaned up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    results = try_faults([name for name in names if name in FAULTS], keep=given.keep)
    losses = measure_losses([name for name in names if name in LOSS], keep=given.keep)
    print("\n".join(report.lines(results, losses)))
    if given.report:
        report.write(results, losses)
    violations = [sentence for result in results for sentence in result.violations]
    for sentence in violations[:50]:
        print(f"VIOLATION {sentence}")
    return 1 if violations else 0


# With asynchronous standbys: how many seconds behind they are when the primary is killed.
LOSS = {"asynchronous": 0.0, "asynchronous_behind": 2.0}


def try_faults(names: Sequence[str], *, keep: bool) -> list[Result]:
    """Try each fault on one system."""
    possible = []
    for name in names:
        if (why := FAULTS[name].impossible) is None:
            possible.append(FAULTS[name])
        else:
            print(f"{name} is left out: {why}.")
    if not possible:
        return []
    with System(etcds=max(fault.etcds for fault in possible), keep=keep) as system:
        trials = Trials(system)
        return [_print_result(trials.run(fault)) for fault in possible]


def measure_losses(names: Sequence[str], *, keep: bool) -> list[loss.Loss]:
    """Measure what is lost with asynchronous standbys, each on a system of its own, without the checker."""
    found = []
    for name in names:
        with System(synchronous=False, keep=keep) as system:
            found.append(loss.measure(system, behind=LOSS[name]))
    return found


def _print_result(result: Result) -> Result:
    print(
        f"{result.title}: the cluster {result.cluster:.1f} s, workers {max(result.work.values()):.1f} s, "
        f"clients {max(result.accept.values()):.1f} s, {len(result.violations)} violations",
        flush=True,
    )
    return result


if __name__ == "__main__":
    sys.exit(main())
