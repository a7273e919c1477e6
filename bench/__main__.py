"""The command line of the benchmark: choose the measurements, their size, and where the figures go."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from contextlib import ExitStack
from dataclasses import replace
from datetime import date
from pathlib import Path

from bench.buffers_page import write_growth
from bench.comparison import print_comparison, write_comparison
from bench.database import Databases
from bench.peer import KNOWN, Peer
from bench.processes import flush_ms
from bench.progress import part as say
from bench.report import print_report
from bench.run_size import BESIDE_PEERS, FULL, QUICK, Figures
from bench.suite import PARTS, WITH_PEERS


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="kairos bench", description="How fast Kairos is, as ratios.")
    parser.add_argument("--quick", action="store_true", help="a smaller run, about two minutes")
    parser.add_argument("--only", default="", help=f"some of: {','.join(PARTS)}")
    parser.add_argument("--rounds", type=int, help="how often each pair is measured")
    parser.add_argument(
        "--peers",
        nargs="?",
        const=",".join(KNOWN),
        default="",
        help=f"other projects to measure, by default all of: {','.join(KNOWN)}",
    )
    parser.add_argument("--rows", help="ended jobs in the table for the part rows, such as 10000,10000000")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    parser.add_argument(
        "--write",
        action="store_true",
        help="with --peers or --only rows: put the table and the plots into docs/",
    )
    chosen = parser.parse_args(arguments)
    names = _named(parser, "peer", chosen.peers, KNOWN)
    parts = _named(parser, "part", chosen.only, PARTS) or list(WITH_PEERS if names else PARTS)
    size = QUICK if chosen.quick else BESIDE_PEERS if names else FULL
    if chosen.rounds:
        size = replace(size, rounds=chosen.rounds, backlog_rounds=chosen.rounds, enqueue_rounds=chosen.rounds)
    if chosen.rows:
        size = replace(size, rows=tuple(int(many) for many in chosen.rows.split(",")))
    figures: Figures = {}
    failed = False
    began, load, flushes = time.monotonic(), [os.getloadavg()[0]], [flush_ms()]
    with ExitStack() as stack:
        databases = stack.enter_context(Databases(size.scale))
        peers = []
        for name in names:
            say(f"an environment for {name}")
            try:
                peers.append(stack.enter_context(Peer(name, databases)))
            except Exception:  # noqa: BLE001 (no network, no peer; Kairos is measured all the same)
                traceback.print_exc()
                failed = True
        for part in parts:
            say(part)
            try:
                figures[part] = PARTS[part](databases, size, peers)
            except Exception:  # noqa: BLE001 (the parts that were measured are worth showing all the same)
                traceback.print_exc()
                failed = True
            load.append(os.getloadavg()[0])
            flushes.append(flush_ms())
    figures["machine"] = {
        "date": f"{date.today():%-d %B %Y}",
        "command": " ".join(["./kairos bench", *(sys.argv[1:] if arguments is None else arguments)]),
        "cores": os.cpu_count(),
        "load": load,
        "flush ms": flushes,
        "seconds": time.monotonic() - began,
    }
    if names:
        print_comparison(figures)
    print_report(figures)
    if chosen.write and names:
        write_comparison(figures)
    if chosen.write and "rows" in figures:
        write_growth(figures)
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n")
    if failed:
        sys.exit(1)


def _named(
    parser: argparse.ArgumentParser, what: str, given: str, known: dict[str, object] | object
) -> list[str]:
    names = [name for name in given.split(",") if name]
    if unknown := [name for name in names if name not in known]:  # type: ignore[operator]
        parser.error(f"no such {what}: {', '.join(unknown)}; there are {', '.join(known)}")  # type: ignore[arg-type]
    return names


if __name__ == "__main__":
    main()
