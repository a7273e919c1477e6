"""The figures as a table for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

COLUMNS = ("kairos", "floor", "ratio", "limit", "own statements")


def print_report(figures: dict[str, Any]) -> None:
    console = Console(width=120) if not Console().is_terminal else Console()
    main = Table("", *COLUMNS, title="Kairos beside the floor and the database's own limit")
    for column in main.columns[1:]:
        column.justify = "right"
    for label, row in _rows(figures):
        main.add_row(label, *(_number(row.get(column)) for column in COLUMNS))
    if main.row_count:
        console.print(main)
    if backlog := figures.get("backlog"):
        console.print(_backlog(backlog))
    if cost := figures.get("cost"):
        console.print(_cost(cost))


def _rows(figures: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    rows: list[tuple[str, dict[str, Any]]] = []
    for kind, label in (("one", "one by one"), ("bulk", "1,000 a statement")):
        if "enqueue" in figures:
            rows.append((f"enqueue {label}, jobs/s", figures["enqueue"][kind]))
    for processes, each in figures.get("drain", {}).items():
        rows.append((f"drain, {processes} worker, jobs/s", each["rate"]))
        rows.append(("  CPU µs a job, worker", each["worker_us"]))
        rows.append(("  CPU µs a job, Postgres", each["postgres_us"]))
    rows += [(f"pick-up {name}, ms", each) for name, each in figures.get("latency", {}).items()]
    if "steps" in figures:
        rows.append(("ten-step machine, steps/s", figures["steps"]))
    return rows


def _backlog(backlog: dict[str, Any]) -> Table:
    table = Table(
        "backlog", "workers", "without, jobs/s", "with", "with ÷ without", "Postgres µs", title="With backlog"
    )
    for kind, counts in backlog.items():
        for processes, row in counts.items():
            values = (row["without"], row["backlog"], row["ratio"], row["postgres µs"])
            table.add_row(kind, processes, *map(_number, values))
    return table


def _cost(cost: dict[str, Any]) -> Table:
    table = Table("", "", title="Cost")
    for name, megabytes in cost["memory MB"].items():
        table.add_row(f"{name}, MB", _number(megabytes))
    statements = cost["statements"]
    table.add_row("statements a job", f"{statements['per job']:.4f}")
    for name, count in sorted(statements["by job"].items(), key=lambda item: -item[1]):
        table.add_row(f"  {name}", f"{count:.4f} × {statements['ms each'][name]:.2f} ms")
    table.add_row("statements a second, idle", _number(statements["idle per second"]))
    for name, count in sorted(statements["idle by second"].items(), key=lambda item: -item[1]):
        table.add_row(f"  {name}", f"{count:.2f}")
    return table


def _number(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"
