"""The figures as tables for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

COLUMNS = ("kairos", "floor", "ratio", "limit", "own statements")


def print_report(figures: dict[str, Any]) -> None:
    console = Console(width=150) if not Console().is_terminal else Console()
    for table in (
        _main(figures),
        *(make(figures) for make in (_backlog, _http, _stream, _schedules, _cost, _growth)),
    ):
        if table is not None and table.row_count:
            console.print(table)
    if machine := figures.get("machine"):
        load, flushes = machine["load"], machine["flush ms"]
        console.print(
            f"{machine['cores']} cores, {machine['seconds']:.0f} s; load {min(load):.1f} to {max(load):.1f}; "
            f"a flush of the disk took {min(flushes):.2f} to {max(flushes):.2f} ms.\n"
            "In parentheses: the least and the greatest ratio of the rounds. A ratio whose range holds 1 says "
            "nothing; one without a range has not even that check."
        )


def _main(figures: dict[str, Any]) -> Table:
    rows = _rows(figures)
    peers = sorted(
        {
            name.removeprefix("ratio to ")
            for _, row in rows
            for name in row
            if name.startswith("ratio to ") and not name.endswith("spread")
        }
    )
    if len(peers) > 2:
        peers = []  # the comparison has them, one row for each
    columns = [*COLUMNS, *(column for peer in peers for column in (peer, f"ratio to {peer}"))]
    table = Table("", *columns, title="Kairos beside the floor and the database's own limit")
    for column in table.columns[1:]:
        column.justify = "right"
    for label, row in rows:
        table.add_row(label, *(_cell(row, column) for column in columns))
    return table


def _rows(figures: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    rows: list[tuple[str, dict[str, Any]]] = []
    for kind, label in (("one", "one by one"), ("bulk", "1,000 a statement")):
        if "enqueue" in figures:
            rows.append((f"enqueue {label}, jobs/s", figures["enqueue"][kind]))
    for processes, each in figures.get("drain", {}).items():
        rows.append((f"drain, {processes} worker{'s' * (processes != '1')}, jobs/s", each["rate"]))
        rows.append(("  CPU µs a job, worker", each["worker_us"]))
        rows.append(("  CPU µs a job, Postgres", each["postgres_us"]))
        rows.append(("  bytes of WAL a job", each["wal_bytes"]))
        rows.append(("  commits a job", each["commits"]))
    rows += [(f"pick-up {name}, ms", each) for name, each in figures.get("latency", {}).items()]
    if "steps" in figures:
        rows.append(("ten-step machine, steps/s", figures["steps"]))
    return rows


def _backlog(figures: dict[str, Any]) -> Table | None:
    if "backlog" not in figures:
        return None
    columns = ("without", "backlog", "ratio", "postgres µs without", "postgres µs", "line, jobs/s")
    table = Table("", "backlog", "without", "with", "with ÷ without", *columns[3:], title="With a backlog")
    for column in table.columns[2:]:
        column.justify = "right"
    for measure, kinds in figures["backlog"].items():
        for kind, row in kinds.items():
            table.add_row(measure, kind, *(_cell(row, column) for column in columns))
    return table


def _stream(figures: dict[str, Any]) -> Table | None:
    if "stream" not in figures:
        return None
    table = Table("", "p50", "p95", "p99", title="A line from a step to a reader, ms")
    for name, row in figures["stream"].items():
        table.add_row(name, *(_number(row[share]) for share in ("p50", "p95", "p99")))
    return table


def _http(figures: dict[str, Any]) -> Table | None:
    if "http" not in figures:
        return None
    found = figures["http"]
    table = Table("", "p50", "p95", "p99", title="Over HTTP, one process of the service")
    table.add_row("POST /api/jobs, 300 a second, ms", *map(_number, found["post"].values()))
    table.add_row("POST /api/jobs/batch of 100, jobs/s", _number(found["batch"]), "", "")
    for name, wait in found["lists"].items():
        table.add_row(f"GET /api/jobs by {name}, ms", "", _number(wait), "")
    return table


def _schedules(figures: dict[str, Any]) -> Table | None:
    if "schedules" not in figures:
        return None
    reading, firing = figures["schedules"]["reading"], figures["schedules"]["firing"]
    table = Table("", "", title="Schedules")
    table.add_row("reading a phrase, µs", _number(reading["read µs"]))
    table.add_row("its next ten ticks, µs", _number(reading["next ten ticks µs"]))
    due = f"{firing['schedules']:,} due at one instant, one worker"
    table.add_row(f"{due}: all fired after, s", _number(firing["fired after s"]))
    table.add_row("  fired a second", _number(firing["fired a second"]))
    table.add_row("  all run after, s", _number(firing["all run after s"]))
    return table


def _growth(figures: dict[str, Any]) -> Table | None:
    if "rows" not in figures:
        return None
    sizes = list(next(iter(figures["rows"].values())))
    table = Table(
        "", *sizes, title="Buffers that a statement touches, by the number of ended jobs in the table"
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for statement, found in figures["rows"].items():
        table.add_row(statement, *(f"{found[size]:,}" for size in sizes))
    return table


def _cost(figures: dict[str, Any]) -> Table | None:
    if "cost" not in figures:
        return None
    table = Table("", "", title="Cost")
    for name, megabytes in figures["cost"]["memory MB"].items():
        table.add_row(f"{name}, MB resident", _number(megabytes))
    statements = figures["cost"]["statements"]
    table.add_row("statements a job", f"{statements['per job']:.4f}")
    for name, count in sorted(statements["by job"].items(), key=lambda item: -item[1]):
        table.add_row(f"  {name}", f"{count:.4f} × {statements['ms each'][name]:.2f} ms")
    table.add_row("statements a second, idle", _number(statements["idle per second"]))
    for name, count in sorted(statements["idle by second"].items(), key=lambda item: -item[1]):
        table.add_row(f"  {name}", f"{count:.2f}")
    return table


def _cell(row: dict[str, Any], column: str) -> str:
    low, high = row.get(f"{column}, spread", (0, 0))
    return _number(row.get(column)) + (f" ({low:.2f}–{high:.2f})" if high > low else "")


def _number(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"
