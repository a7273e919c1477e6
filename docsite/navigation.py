"""The order of the pages: sections by what a reader wants, pages in the order in which they are read."""

from __future__ import annotations

from pathlib import Path

# Folder, title, and its first pages in order; the others follow by name.
SECTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("start", "Start", ("first-job",)),
    (
        "learn",
        "Learn",
        (
            "machines-and-steps",
            "retries",
            "signals",
            "when-things-run",
            "schedules",
            "keys-and-limits",
            "uniqueness",
            "cancel-and-ttl",
            "transactions",
            "logs",
            "testing",
        ),
    ),
    ("recipes", "Recipes", ("README",)),
    ("frameworks", "Frameworks", ("README", "fastapi", "django", "flask", "sqlalchemy", "pytest")),
    ("moving-in", "Moving in", ("README", "celery", "apscheduler", "rq", "cron")),
    ("operate", "Operate", ("deploying", "running-workers", "access", "watching", "alarms", "failure-modes")),
    ("reference", "Reference", ("python", "cli", "http", "settings", "errors", "lifecycle.gen", "sql")),
    ("decisions", "Decisions", ("README",)),
    ("project", "Project", ("readme", "architecture", "contributing", "changelog")),
)


def navigation(pages: list[str]) -> list[dict[str, list[str]] | str]:
    """The navigation over these pages, which are paths within the documentation."""
    loose = sorted(page for page in pages if "/" not in page and page != "README.md")
    tree: list[dict[str, list[str]] | str] = ["README.md", *loose]
    for folder, title, first in SECTIONS:
        inside = [page for page in pages if page.startswith(f"{folder}/") and page.endswith(".md")]
        inside.sort(key=lambda page: (_place(page, first), page))
        if inside:
            tree.append({title: inside})
    return tree


def _place(page: str, first: tuple[str, ...]) -> int:
    stem = Path(page).name.removesuffix(".md")
    return first.index(stem) if stem in first else len(first)
