"""The pages of the reference that are generated from the code, as Markdown."""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parents[1]


def generated_pages() -> dict[str, str]:
    """Every generated page by its place in the site."""
    return {
        "reference/full-python.md": python(),
        "reference/full-cli.md": command_line(),
        "reference/full-settings.md": settings(),
        "reference/full-errors.md": errors(),
        "reference/full-metrics.md": metrics(),
        "reference/full-http.md": http(),
    }


def python() -> str:
    """The public names with their docstrings; mkdocstrings fills them in."""
    names = ["Kairos", "SyncKairos", "KairosClient", "Context", "Backoff", "Job", "step", "when"]
    names += ["Next", "Replay", "Await", "Done", "Stop", "can_transition"]
    inherited = {"Kairos", "SyncKairos", "KairosClient"}
    parts = ["# Python, from the docstrings", ""]
    for name in names:
        parts.append(f"::: kairos.{name}")
        parts += ["    options:", "      inherited_members: true"] if name in inherited else []
        parts.append("")
    parts += ["::: kairos.testing.drain", "", "::: kairos.testing.Clock", ""]
    return "\n".join(parts)


def command_line() -> str:
    """Every command with its arguments and options, as `--help` tells them."""
    import typer.main

    from kairos.cli import root

    parts = ["# The command line, every option", ""]
    for name, command in _commands(typer.main.get_command(root.app), "kairos"):
        parts += [f"## `{name}`", "", (command.help or "").strip(), ""]
        rows = [_option(each) for each in command.params if not getattr(each, "hidden", False)]
        if rows:
            parts += ["| | default | |", "|---|---|---|", *rows, ""]
    return "\n".join(parts)


def settings() -> str:
    """Every setting with its variable and default."""
    from kairos.api.settings import ServiceSettings
    from kairos.config import Settings

    parts = ["# Settings, from the code", "", "What they mean is told [by hand](settings.md).", ""]
    for title, kind in (("Of every program", Settings), ("Of the service", ServiceSettings)):
        parts += [f"## {title}", "", "| setting | environment | default |", "|---|---|---|"]
        parts += [
            f"| `{field.name}` | `KAIROS_{field.name.upper()}` | `{field.default!r}` |"
            if field.default is not dataclasses.MISSING
            else f"| `{field.name}` | `KAIROS_{field.name.upper()}` | |"
            for field in dataclasses.fields(kind)
        ]
        parts.append("")
    return "\n".join(parts)


def errors() -> str:
    """The tree of errors with codes, and the docstring of each."""
    from kairos.errors import KairosError

    rows = [
        f"| {'&nbsp;' * 4 * depth}`{error.__name__}` | `{error.code}` | {error.http_status} | {error.exit_code} "
        f"| {_cell(_first_line(error))} |"
        for depth, error in _tree(KairosError)
    ]
    head = ["# Errors, from the code", "", "| error | code | HTTP | exit | |", "|---|---|--:|--:|---|"]
    return "\n".join([*head, *rows, ""])


def metrics() -> str:
    """Every metric with its type, labels and help, as Prometheus is told."""
    rows = [
        f"| `{name}` | {kind} | {', '.join(f'`{label}`' for label in labels)} | {_cell(text)} |"
        for name, kind, labels, text in metric_families()
    ]
    head = ["# Metrics, from the code", "", "| metric | type | labels | |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, ""])


def metric_families() -> list[tuple[str, str, tuple[str, ...], str]]:
    """Name as it is scraped, type, labels and help of each metric."""
    from kairos.api.metrics import Metrics

    process = Metrics()
    labels = {each._name: each._labelnames for each in (process.requests, process.seconds, process.readers)}
    found = []
    for family in (*_of_the_database(), *process.registry.collect()):
        if family.name.startswith("kairos"):
            suffix = {"counter": "_total", "info": "_info"}.get(family.type, "")
            of = labels.get(family.name) or getattr(family, "_labelnames", ())
            found.append((family.name + suffix, family.type, tuple(of), family.documentation))
    return sorted(found)


def http() -> str:
    """Every operation of the API, from its OpenAPI document."""
    document = json.loads((ROOT / "docs" / "reference" / "openapi.gen.json").read_text())
    parts = ["# HTTP, every operation", "", "The document itself is served at `/openapi.json`.", ""]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if method not in ("get", "post", "put", "patch", "delete"):
                continue
            parts += [f"## `{method.upper()} {path}`", "", operation.get("description", "").strip(), ""]
            rows = [_parameter(each) for each in operation.get("parameters", [])]
            if rows:
                parts += ["| parameter | in | type | |", "|---|---|---|---|", *rows, ""]
            if body := operation.get("requestBody"):
                schemas = [_type(content.get("schema", {})) for content in body["content"].values()]
                parts += [f"Body: {', '.join(schemas)}.", ""]
            answers = ", ".join(
                f"{status} {answer.get('description', '')}".strip()
                for status, answer in operation["responses"].items()
            )
            parts += [f"Answers: {answers}.", ""]
    parts += ["# Schemas", ""]
    for name, schema in sorted(document["components"]["schemas"].items()):
        parts += [f"## {name}", "", schema.get("description", ""), ""]
        if fields := schema.get("properties"):
            required = schema.get("required", ())
            parts += ["| field | type | |", "|---|---|---|"]
            parts += [
                f"| `{field}`{'' if field in required else ' (optional)'} | {_type(value)} "
                f"| {_cell(value.get('description', ''))} |"
                for field, value in fields.items()
            ]
            parts.append("")
    return "\n".join(parts)


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        for word, below in command.commands.items():
            yield from _commands(below, f"{name} {word}")
    else:
        yield name, command


def _option(parameter: Any) -> str:
    names = ", ".join(f"`{each}`" for each in (*parameter.opts, *parameter.secondary_opts))
    if parameter.param_type_name == "argument":
        names = f"`{(parameter.metavar or parameter.name).upper()}`"
    default = parameter.default
    shown = "" if default is None or default is False or callable(default) else f"`{default}`"
    return f"| {names} | {shown} | {_cell(getattr(parameter, 'help', None) or '')} |"


def _tree(error: Any, depth: int = 0) -> Iterator[tuple[int, Any]]:
    yield depth, error
    for below in error.__subclasses__():
        if below.__module__ == "kairos.errors":
            yield from _tree(below, depth + 1)


def _first_line(error: Any) -> str:
    return str(error.__dict__.get("__doc__") or "").partition("\n")[0]


def _of_the_database() -> Iterable[Any]:
    """The families of the database's metrics, as an empty database tells them."""
    from kairos.api.prometheus import DatabaseMetrics
    from kairos.operations.stats import Slot, Stats

    now = datetime.now(UTC)
    empty = Stats(
        now=now,
        counted_at=None,
        states=defaultdict(int),
        at_least=(),
        queues=[],
        seconds=3600.0,
        window=cast(Slot, None),  # what happened of late is in no metric
        actions=[],
        totals=[],
        workers=0,
        alarms=0,
        upcoming=[],
    )
    return DatabaseMetrics(empty).collect()


def _parameter(parameter: dict[str, Any]) -> str:
    kind = _type(parameter.get("schema", {}))
    return (
        f"| `{parameter['name']}` | {parameter['in']} | {kind} | {_cell(parameter.get('description', ''))} |"
    )


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    return str(schema.get("format") or schema.get("type") or "any")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
