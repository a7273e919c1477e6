"""What is rendered from the table: diagram, data, guard, page; and that the files are fresh."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kairos import Kairos, step
from kairos.fsm import render
from kairos.fsm.guard import guard_sql
from kairos.fsm.lifecycle import (
    SPEC,
    STORED,
    TERMINAL,
    TERMINAL_STATUSES,
    TRANSITIONS,
    JobState,
    Status,
    stored_pairs,
)


def test_the_generated_files_are_fresh() -> None:
    assert render.main(["--check"]) == 0


def test_a_stale_file_is_told_and_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "docs" / "page.md"
    monkeypatch.setattr(render, "GENERATED", {page: lambda: "fresh"})
    assert render.main(["--check"]) == 1
    assert "page.md is stale" in capsys.readouterr().err
    assert not page.exists()
    assert render.main([]) == 0
    assert page.read_text() == "fresh"
    assert render.main(["--check"]) == 0


def test_the_diagram_has_every_edge_and_every_end_of_the_table() -> None:
    lines = render.mermaid(SPEC).splitlines()
    edges = {f"    {source} --> {row.target} : {row.verb}" for row in TRANSITIONS for source in row.sources}
    ends = {f"    {state} --> [*]" for state in TERMINAL}
    starts = {"    [*] --> scheduled", "    [*] --> pending"}
    assert lines[0] == "stateDiagram-v2"
    assert set(lines[1:]) == edges | ends | starts
    assert len(lines) == 1 + len(edges) + len(ends) + len(starts)


def test_the_table_is_plain_data() -> None:
    data = json.loads(json.dumps(render.as_json(SPEC)))
    assert data["states"] == list(JobState)
    assert data["terminal"] == list(TERMINAL)
    assert {key: value for key, value in data["transitions"][0].items() if key != "because"} == {
        "verb": "pick",
        "from": "pending",
        "to": "running",
        "by": "worker",
    }
    assert len(data["transitions"]) == sum(len(row.sources) for row in TRANSITIONS)


def test_the_guard_names_exactly_the_stored_pairs_and_the_ends() -> None:
    sql = guard_sql()
    targets = dict(re.findall(r"when '(\w+)' then '\{([\w,]+)\}'::kairos", sql))
    named = {(source, target) for source, found in targets.items() for target in found.split(",")}
    assert named == set(stored_pairs())
    ends = ", ".join(f"'{status}'" for status in Status if status in TERMINAL_STATUSES)
    assert f"old.status in ({ends}) then old is distinct from new" in sql


def test_every_stored_status_has_the_state_that_people_read() -> None:
    states = dict(re.findall(r"when '(\w+)' then '(\w+)'$", guard_sql(), re.MULTILINE))
    assert {status: state for state, status in STORED.items() if status != Status.RUNNABLE} == states


def test_the_page_holds_the_diagram_and_every_row() -> None:
    page = render.lifecycle_page()
    assert render.mermaid(SPEC) in page
    assert all(row.because in page for row in TRANSITIONS)


def test_a_machine_is_drawn_by_the_same_renderer() -> None:
    @Kairos().machine("order")
    class Order:
        @step(initial=True, to=["ship"])
        async def charge(self, ctx: object) -> None: ...

        @step(to=[])
        async def ship(self, ctx: object) -> None: ...

    assert render.mermaid(Order.machine.spec).splitlines() == [
        "stateDiagram-v2",
        "    [*] --> charge",
        "    charge --> ship : next",
        "    ship --> [*]",
    ]
