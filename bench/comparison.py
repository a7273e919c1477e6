"""Compare Kairos with its peers: a row for each, printed, in the documentation and as plots."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.peer import KNOWN
from bench.processes import ROOT
from bench.run_size import Figures

PAGE = ROOT / "docs" / "operate" / "benchmark.md"
IMAGES = ROOT / "docs" / "images"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"

# The title of a column, how to find its figure, and how to format it.
_Column = tuple[str, Callable[[Figures, str], Any], Callable[[Any], str]]


def _drain(processes: str, field: str) -> Callable[[Figures, str], Any]:
    return lambda figures, name: figures.get("drain", {}).get(processes, {}).get(field, {}).get(name)


def _enqueue(kind: str) -> Callable[[Figures, str], Any]:
    return lambda figures, name: figures.get("enqueue", {}).get(kind, {}).get(name)


def _rate(value: float) -> str:
    return f"{value / 1000:.1f}k" if value >= 1000 else f"{value:.0f}"


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _ratios(figures: Figures, name: str) -> str | None:
    """Return how many times as fast Kairos is: drained by one worker and by two, enqueued in bulk."""
    label = "ratio" if name == "floor" else f"ratio to {name}"
    found = [read(figures, label) for read in (_drain("1", "rate"), _drain("2", "rate"), _enqueue("bulk"))]
    return " · ".join("" if ratio is None else f"{ratio:.2f}" for ratio in found) if any(found) else None


COLUMNS: tuple[_Column, ...] = (
    ("drain/s, 1 worker", _drain("1", "rate"), _rate),
    ("2 workers", _drain("2", "rate"), _rate),
    ("CPU µs a job: worker", _drain("1", "worker_us"), _whole),
    ("server", _drain("1", "postgres_us"), _whole),
    ("WAL bytes", _drain("1", "wal_bytes"), _whole),
    ("commits", _drain("1", "commits"), lambda value: f"{value:.3f}" if value < 1 else f"{value:.1f}"),
    ("enqueue/s, one by one", _enqueue("one"), _rate),
    ("in bulk", _enqueue("bulk"), _rate),
    ("Kairos ÷ it: drain 1 · 2, bulk", _ratios, str),
)


def systems(figures: Figures) -> list[str]:
    """Return the names of the systems: Kairos, then the peers by how fast they drain, and the floor last."""
    found = {
        name for name in ("kairos", *KNOWN) if any(read(figures, name) is not None for _, read, _ in COLUMNS)
    }
    speed = COLUMNS[0][1]
    peers = sorted(found - {"kairos"}, key=lambda name: -(speed(figures, name) or 0))
    return ["kairos", *peers, "floor"]


def cells(figures: Figures, name: str) -> list[str]:
    texts = []
    for _, read, write in COLUMNS:
        value = read(figures, name)
        texts.append(
            "" if value is None or (name == "celery" and write is not _rate and not value) else write(value)
        )
    return texts


def title(name: str) -> str:
    return (
        "Kairos"
        if name == "kairos"
        else KNOWN[name].title
        if name in KNOWN
        else f"{name}, which keeps no promises"
    )


def print_comparison(figures: Figures) -> None:
    table = Table("", *(column for column, _, _ in COLUMNS), title="No-op jobs, medians")
    for column in table.columns[1:]:
        column.justify = "right"
    for name in systems(figures):
        table.add_row(title(name), *cells(figures, name))
    (Console(width=150) if not Console().is_terminal else Console()).print(table)


def write_comparison(figures: Figures) -> None:
    """Put the table into the page of the benchmark and the plots beside the other images."""
    PAGE.write_text(replace_between(PAGE.read_text(), BEGIN, END, markdown(figures)))
    for file, column, heading in (
        ("bench-drain.svg", 0, "No-op jobs a second, one worker"),
        ("bench-enqueue.svg", 7, "Jobs enqueued a second, in bulk"),
    ):
        _, read, write = COLUMNS[column]
        bars = [
            (title(name), value, write(value)) for name in systems(figures) if (value := read(figures, name))
        ]
        (IMAGES / file).write_text(plot(heading, bars))


def replace_between(page: str, begin: str, end: str, text: str) -> str:
    """Return the page with this text between two marks."""
    head, rest = page.split(begin)
    return f"{head}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}"


def markdown(figures: Figures) -> str:
    machine = figures["machine"]
    lines = [
        f"{machine['date']}, {machine['cores']} cores (load {min(machine['load']):.1f} to {max(machine['load']):.1f}), "
        f"`{machine['command']}`, {machine['seconds']:.0f} s. Medians.",
        "",
        "| no-op jobs | " + " | ".join(column for column, _, _ in COLUMNS) + " |",
        "|---|" + "--:|" * len(COLUMNS),
    ]
    lines += [f"| {title(name)} | " + " | ".join(cells(figures, name)) + " |" for name in systems(figures)]
    lines += ["", "![Drain](../images/bench-drain.svg)", "![Enqueue](../images/bench-enqueue.svg)"]
    return "\n".join(lines)


def plot(heading: str, bars: list[tuple[str, float, str]]) -> str:
    """Return horizontal bars as an SVG."""
    longest, height = max((value for _, value, _ in bars), default=1), 24
    rows = [
        f'<text x="206" y="{y + 15}" text-anchor="end">{escape(label)}</text>'
        f'<rect x="214" y="{y + 3}" width="{400 * value / longest:.1f}" height="16" rx="2" '
        f'fill="{"#2563eb" if label == "Kairos" else "#94a3b8"}"/>'
        f'<text x="{220 + 400 * value / longest:.1f}" y="{y + 15}">{escape(text)}</text>'
        for index, (label, value, text) in enumerate(bars)
        if (y := 36 + index * height) is not None
    ]
    tall = 48 + len(bars) * height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 {tall}" font-family="sans-serif" font-size="12" '
        f'fill="#475569" role="img" aria-label="{escape(heading)}">\n'
        f'<text x="8" y="20" font-size="14">{escape(heading)}</text>\n' + "\n".join(rows) + "\n</svg>\n"
    )
