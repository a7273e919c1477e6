"""The options of commands that select jobs: one for each filter of `kairos.shapes.job_filters`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from kairos.cli import parse
from kairos.fsm.lifecycle import JobState
from kairos.shapes.job_filters import FILTERS, Filter


def with_filters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each filter, in place of its `**filters`."""

    @wraps(command)
    def run(*args: Any, **values: Any) -> None:
        for each in FILTERS:
            if each.kind is datetime and values[each.attribute] is not None:
                values[each.attribute] = parse.instant(values[each.attribute], flag(each))
            elif values[each.attribute] == []:
                values[each.attribute] = None  # an option that may be repeated, and is not given
        command(*args, **values)

    hints = get_type_hints(command, include_extras=True)
    (kairos, *own, _) = (
        parameter.replace(annotation=hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
    )
    parameters = [kairos, *map(_option, FILTERS), *own]
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    )
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    del run.__wrapped__  # `get_type_hints` would look there for the names, and find `**filters`
    return run


def _option(each: Filter) -> inspect.Parameter:
    kind: Any = str if each.kind is datetime else each.kind
    if each.many and each.kind is not JobState:
        kind = list[kind]
    metavar = "INSTANT" if each.kind is datetime else None
    option = typer.Option(flag(each), metavar=metavar, help=each.help)
    return inspect.Parameter(
        each.attribute,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, option],
    )


def flag(each: Filter) -> str:
    """Return the option of a filter: `--retry-of` for `retryOf`."""
    return "--" + re.sub("[A-Z]", lambda capital: f"-{capital[0].lower()}", each.name)
