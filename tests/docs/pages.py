"""The documents, as the tests read them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def text(path: str) -> str:
    return (ROOT / path).read_text()


def code(path: str) -> set[str]:
    """Every word that a page sets in code."""
    return set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", prose(ROOT / path)))))


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return _FENCED.sub("", page.read_text())


def links(page: Path) -> list[str]:
    """Where a page leads to in this repository."""
    return [link for link in _LINK.findall(prose(page)) if not re.match(r"[a-z]+:", link)]


def headings(page: Path) -> set[str]:
    """The anchors that a reader of Markdown makes of the headings."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
