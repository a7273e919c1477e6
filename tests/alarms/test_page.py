"""The page on alarms says what the table in the code says."""

from __future__ import annotations

import re

from tests.docs.pages import text

from kairos.alarms.kinds import KINDS, Kind
from kairos.cli.output import span


def row(kind: Kind) -> str:
    after = span(kind.after) if kind.after else "at once" if kind.happens else "while it lasts"
    remedy = kind.remedy.replace("{job}", "ID").replace("{subject}", "NAME").replace("{pid}", "PID")
    return f"| `{kind.name}` | {kind.severity} | {kind.subject} | {kind.means} | {after} | {remedy} |"


def test_the_page_lists_every_kind_with_its_threshold_and_remedy_and_no_other() -> None:
    page = text("docs/operate/alarms.md")
    assert re.findall(r"^\| `\w+` \|.*$", page, re.MULTILINE) == [row(kind) for kind in KINDS.values()]
