"""The command line: which measurements, how large, and where the figures go."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from pathlib import Path

from bench import plan
from bench.database import Databases
from bench.report import print_report


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="kairos bench", description="How fast Kairos is, as ratios.")
    parser.add_argument("--quick", action="store_true", help="a smaller run, one to two minutes")
    parser.add_argument("--only", default="", help=f"some of: {','.join(plan.PARTS)}")
    parser.add_argument("--rounds", type=int, help="how often each pair is measured")
    parser.add_argument("--peers", default="", help="other projects to measure: pgqueuer")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    chosen = parser.parse_args(arguments)
    parts = [part for part in chosen.only.split(",") if part] or list(plan.PARTS)
    if unknown := set(parts) - set(plan.PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(plan.PARTS)}")
    size = plan.QUICK if chosen.quick else plan.FULL
    if chosen.rounds:
        size = plan.replace(size, rounds=chosen.rounds)
    figures: plan.Figures = {}
    failed = False
    with Databases(size.scale) as databases:
        for part in parts:
            say(part)
            try:
                figures[part] = plan.PARTS[part](databases, size, [p for p in chosen.peers.split(",") if p])
            except Exception:  # noqa: BLE001 (the parts that were measured are worth showing all the same)
                traceback.print_exc()
                failed = True
    print_report(figures)
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n")
    if failed:
        sys.exit(1)


def say(text: str) -> None:
    print(f"bench: {text} …", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
