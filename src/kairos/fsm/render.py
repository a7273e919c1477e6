"""Renderings of a `Spec`: mermaid for people, JSON for programs, types for the dashboard.

`python -m kairos.fsm.render` rewrites the generated files; `--check` fails when one is stale.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from kairos.fsm.lifecycle import (
    SPEC,
    TERMINAL,
    TRANSITIONS,
    JobState,
)
from kairos.fsm.requests import REQUESTS, JobRequest
from kairos.fsm.state_machine import Edge, Spec
from kairos.fsm.state_styles import STATE_STYLES

PACKAGE = Path(__file__).parent.parent
DIAGRAM_FILE = PACKAGE.parent.parent / "docs" / "reference" / "lifecycle.gen.md"
TYPES_FILE = PACKAGE.parent.parent / "dashboard" / "lib" / "lifecycle.gen.ts"


def mermaid(spec: Spec) -> str:
    """Return the machine as a mermaid state diagram."""
    lines = ["stateDiagram-v2"]
    lines += [f"    [*] --> {state}" for state in spec.initial]
    lines += [f"    {edge.source} --> {edge.target} : {edge.verb}" for edge in spec.edges]
    lines += [f"    {state} --> [*]" for state in spec.states if state in spec.terminal]
    return "\n".join(lines) + "\n"


def as_json(spec: Spec) -> dict[str, Any]:
    """Return the machine as a JSON document."""
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


def from_json(document: Mapping[str, Any]) -> Spec:
    """Read a machine that `as_json` wrote."""
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


def lifecycle_page() -> str:
    """The lifecycle and the requests as a page of the docs."""
    rows = "\n".join(
        f"| `{row.verb}` | {', '.join(row.sources)} | {row.target} | {row.by} | {row.because} |"
        for row in TRANSITIONS
    )
    requests = "\n".join(
        f"| `{row.name}` | {', '.join(row.allowed_in)} | {row.target or ''} | `{row.method} {row.path}` | {row.scope} "
        f"| {'yes' if row.in_bulk else ''} | {row.help} |"
        for row in REQUESTS.values()
    )
    return f"""\
<!-- Rendered from kairos/fsm/ by `python -m kairos.fsm.render`. Do not edit. -->
# The lifecycle of a job

```mermaid
{mermaid(SPEC)}```

| verb | from | to | by | because |
|---|---|---|---|---|
{rows}

## Requests

What a client may ask of a job that exists: `can` in a job lists those that its state allows. Each is a method of
`Kairos` and `KairosClient`, a [command](cli.md) and a [route](http.md) that needs the scope named here. Those in bulk
are also made for all jobs that a filter finds, by `POST /api/jobs/bulk/{{verb}}`.

| request | allowed in | leads to | over HTTP | scope | in bulk | what it does |
|---|---|---|---|---|---|---|
{requests}
"""


def typescript() -> str:
    """The lifecycle and the requests as types and tables of the dashboard."""
    names = "".join(f"  {state}: {json.dumps(state)},\n" for state in JobState)
    styles = "".join(
        f"  {state}: {{ tone: {json.dumps(style.tone)}, glyph: {json.dumps(style.glyph)} }},\n"
        for state, style in STATE_STYLES.items()
    )
    requests = "".join(f"  {json.dumps(_for_dashboard(row))},\n" for row in REQUESTS.values())
    edges = "".join(f"  {json.dumps(edge)},\n" for edge in as_json(SPEC)["transitions"])
    ends = json.dumps(TERMINAL)
    paths = _union(row.path for row in REQUESTS.values())
    bulk = _union(row.word for row in REQUESTS.values() if row.in_bulk)
    return f"""\
// Rendered from kairos/fsm/ by `python -m kairos.fsm.render`. Do not edit.

export const State = {{
{names}}} as const;

export type JobState = keyof typeof State;

export const STATES = Object.values(State) as readonly JobState[];
export const INITIAL: readonly JobState[] = {json.dumps(SPEC.initial)};
export const TERMINAL: readonly JobState[] = {ends};

export const LOOKS = {{
{styles}}} as const satisfies Record<JobState, {{ tone: string; glyph: string }}>;

export type Tone = (typeof LOOKS)[JobState]["tone"];
export type Glyph = (typeof LOOKS)[JobState]["glyph"];

export type RequestPath ={paths};
export type BulkVerb ={bulk};

// What a client may ask of a job; `from` are the states that allow it, `fields` what may be given with it, `bulk` its
// name in a bulk request.
export type JobRequest = {{
  name: string; label: string; effect: string; done: string; from: readonly JobState[]; scope: "enqueue" | "operate";
  method: string; path: RequestPath; fields: readonly string[]; bulk: BulkVerb | null; dangerous: boolean;
}};

export const REQUESTS: readonly JobRequest[] = [
{requests}];

export type Transition = {{ verb: string; from: JobState; to: JobState; by: string; because: string }};

export const TRANSITIONS: readonly Transition[] = [
{edges}];
"""


def _union(texts: Iterable[str]) -> str:
    return "".join(f"\n  | {json.dumps(text)}" for text in dict.fromkeys(texts))


def _for_dashboard(row: JobRequest) -> dict[str, Any]:
    return {
        "name": row.name,
        "label": row.label,
        "effect": row.effect,
        "done": row.done,
        "from": row.allowed_in,
        "scope": row.scope,
        "method": row.method,
        "path": row.path,
        "fields": row.fields,
        "bulk": row.word if row.in_bulk else None,
        "dangerous": row.dangerous,
    }


GENERATED: dict[Path, Callable[[], str]] = {
    DIAGRAM_FILE: lifecycle_page,
    TYPES_FILE: typescript,
}


def main(arguments: list[str]) -> int:
    """Write the generated files, or with `--check` print which are stale and return 1."""
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
