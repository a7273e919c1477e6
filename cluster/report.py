"""Render the results as tables, for a terminal and for the documentation."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from cluster.loss import Loss
from cluster.trial import Result

PAGE = Path(__file__).parents[1] / "docs/operate/cluster.md"
_BEGIN, _END = "<!-- measured by ./kairos cluster --report -->", "<!-- end of what was measured -->"


def lines(results: Sequence[Result], losses: Sequence[Loss]) -> list[str]:
    """Return the tables as Markdown."""
    cores = os.cpu_count() or 1
    found = [
        f"Measured on {date.today():%d %B %Y}, everything on one machine with {cores} cores and, "
        f"with whatever else ran there, a load average of {os.getloadavg()[2]:.0f}. Seconds.",
        "",
        "| fault | cluster itself | workers: through PgBouncer | by hosts in the URL | clients: through the service "
        "| by hosts in the URL | acknowledged meanwhile | lost, doubled or overlapped |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        seconds = [result.cluster, *result.work.values(), *result.accept.values()]
        counts = f"{result.accepted} | {len(result.violations) or 'none'}"
        found.append(f"| {result.title} | {' | '.join(f'{each:.1f}' for each in seconds)} | {counts} |")
    if losses:
        found += ["", "| with asynchronous standbys | acknowledged before | lost |", "|---|---|---|"]
        found += [f"| {loss.title} | {loss.acknowledged} | {loss.lost} |" for loss in losses]
    return found


def write(results: Sequence[Result], losses: Sequence[Loss], page: Path = PAGE) -> None:
    """Put the tables into the page, between the two marks."""
    text = page.read_text()
    tables = "\n".join([_BEGIN, "", *lines(results, losses), "", _END])
    page.write_text(re.sub(f"{_BEGIN}.*{_END}", lambda _: tables, text, flags=re.DOTALL))
