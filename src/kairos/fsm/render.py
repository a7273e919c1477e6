"""Renderings of a `Spec`: mermaid for people, JSON for programs, the guard for Postgres, types for the dashboard.

`python -m kairos.fsm.render` rewrites the generated files; `--check` fails when one is stale.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kairos.fsm.lifecycle import (
    SPEC,
    STORED,
    TERMINAL,
    TERMINAL_STATUSES,
    TRANSITIONS,
    JobState,
    Status,
    can,
    stored_pairs,
)
from kairos.fsm.spec import Edge, Spec

PACKAGE = Path(__file__).parent.parent
GUARD_FILE = PACKAGE / "store" / "sql" / "migrations" / "0002_guard.gen.sql"
DIAGRAM_FILE = PACKAGE.parent.parent / "docs" / "reference" / "lifecycle.gen.md"
TYPES_FILE = PACKAGE.parent.parent / "dashboard" / "lib" / "lifecycle.gen.ts"

# How the dashboard shows a state: its tone and its glyph. Never by colour alone.
LOOKS: dict[JobState, tuple[str, str]] = {
    JobState.SCHEDULED: ("slate", "clock"),
    JobState.PENDING: ("amber", "dots"),
    JobState.RUNNING: ("blue", "spinner"),
    JobState.WAITING: ("violet", "envelope"),
    JobState.SUCCESS: ("green", "check"),
    JobState.FAILED: ("red", "cross"),
    JobState.CANCELLED: ("grey", "slash"),
    JobState.EXPIRED: ("orange", "hourglass"),
}


def mermaid(spec: Spec) -> str:
    """The machine as a mermaid state diagram."""
    lines = ["stateDiagram-v2"]
    lines += [f"    [*] --> {state}" for state in spec.initial]
    lines += [f"    {edge.source} --> {edge.target} : {edge.verb}" for edge in spec.edges]
    lines += [f"    {state} --> [*]" for state in spec.states if state in spec.terminal]
    return "\n".join(lines) + "\n"


def as_json(spec: Spec) -> dict[str, Any]:
    """The machine as plain data."""
    return {
        "name": spec.name,
        "states": list(spec.states),
        "initial": list(spec.initial),
        "terminal": [state for state in spec.states if state in spec.terminal],
        "transitions": [
            {
                "verb": edge.verb,
                "from": edge.source,
                "to": edge.target,
                "by": edge.by,
                "because": edge.because,
            }
            for edge in spec.edges
        ],
    }


def of_json(document: Mapping[str, Any]) -> Spec:
    """The machine that `as_json` wrote."""
    return Spec(
        name=document["name"],
        states=tuple(document["states"]),
        initial=tuple(document["initial"]),
        terminal=frozenset(document["terminal"]),
        edges=tuple(
            Edge(edge["verb"], edge["from"], edge["to"], edge["by"], edge["because"])
            for edge in document["transitions"]
        ),
    )


def guard_sql() -> str:
    """The trigger that makes a change outside the table uncommittable.

    AFTER UPDATE with the whole decision in WHEN: an allowed change never enters plpgsql. A settled
    row may not change at all, and a row is born only as the state that waits for a worker.
    """
    allowed = ",\n    ".join(f"('{source}', '{target}')" for source, target in stored_pairs())
    born = STORED[JobState.PENDING]
    return f"""\
-- Rendered from kairos/fsm/lifecycle.py by `python -m kairos.fsm.render`. Do not edit.
create function kairos.refuse_transition() returns trigger language plpgsql as $$
begin
  raise exception 'job % cannot go from % to %: the lifecycle has no such transition',
    new.id, coalesce(old.status::text, 'nothing'), new.status
    using errcode = 'KA409', table = 'gen_durable', schema = tg_table_schema;
end $$;

create trigger gen_durable_guard after update on kairos.gen_durable
for each row when (
  (old.status is distinct from new.status and (old.status, new.status) not in (
    {allowed}
  ))
  or (old.status in ({_quoted(TERMINAL_STATUSES)}) and old is distinct from new)
) execute function kairos.refuse_transition();

create trigger gen_durable_born before insert on kairos.gen_durable
for each row when (new.status <> '{born}')
execute function kairos.refuse_transition();
"""


def lifecycle_page() -> str:
    """The lifecycle as a page of the docs."""
    rows = "\n".join(
        f"| `{row.verb}` | {', '.join(row.sources)} | {row.target} | {row.by} | {row.because} |"
        for row in TRANSITIONS
    )
    return f"""\
<!-- Rendered from kairos/fsm/lifecycle.py by `python -m kairos.fsm.render`. Do not edit. -->
# The lifecycle of a job

```mermaid
{mermaid(SPEC)}```

| verb | from | to | by | because |
|---|---|---|---|---|
{rows}
"""


def typescript() -> str:
    """The lifecycle as types and tables of the dashboard."""
    names = "".join(f"  {state}: {json.dumps(state)},\n" for state in JobState)
    looks = "".join(
        f"  {state}: {{ tone: {json.dumps(tone)}, glyph: {json.dumps(glyph)} }},\n"
        for state, (tone, glyph) in LOOKS.items()
    )
    verbs = "".join(f"  {state}: {json.dumps(can(state))},\n" for state in JobState)
    edges = "".join(f"  {json.dumps(edge)},\n" for edge in as_json(SPEC)["transitions"])
    ends = json.dumps([state for state in JobState if state in TERMINAL])
    return f"""\
// Rendered from kairos/fsm/lifecycle.py by `python -m kairos.fsm.render`. Do not edit.

export const State = {{
{names}}} as const;

export type JobState = keyof typeof State;

export const STATES = Object.values(State) as readonly JobState[];
export const INITIAL: readonly JobState[] = {json.dumps(SPEC.initial)};
export const TERMINAL: readonly JobState[] = {ends};

export const LOOKS = {{
{looks}}} as const satisfies Record<JobState, {{ tone: string; glyph: string }}>;

export type Tone = (typeof LOOKS)[JobState]["tone"];
export type Glyph = (typeof LOOKS)[JobState]["glyph"];

// What a person may ask of a job in each state.
export const CAN: Record<JobState, readonly string[]> = {{
{verbs}}};

export type Transition = {{ verb: string; from: JobState; to: JobState; by: string; because: string }};

export const TRANSITIONS: readonly Transition[] = [
{edges}];
"""


def _quoted(statuses: frozenset[Status]) -> str:
    return ", ".join(f"'{status}'" for status in Status if status in statuses)


GENERATED: dict[Path, Callable[[], str]] = {
    GUARD_FILE: guard_sql,
    DIAGRAM_FILE: lifecycle_page,
    TYPES_FILE: typescript,
}


def main(arguments: list[str]) -> int:
    """Write the generated files, or with `--check` say which are stale and answer 1."""
    stale = [path for path, render in GENERATED.items() if not path.exists() or path.read_text() != render()]
    if "--check" in arguments:
        for path in stale:
            sys.stderr.write(f"{path.name} is stale: run `python -m kairos.fsm.render`.\n")
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(GENERATED[path]())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
