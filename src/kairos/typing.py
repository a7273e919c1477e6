"""For type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Unpack

    from kairos.action import Action, CallOptions
    from kairos.durations import Duration
    from kairos.machine.call import Call
    from kairos.shapes.job import Job


class MachineClass:
    """A base for classes under `@app.machine`, which are actions: mypy does not read what a class decorator returns.

    At run time it has nothing in it.
    """

    if TYPE_CHECKING:

        @classmethod
        def enqueue(cls, *state: Any, **fields: Any) -> Any: ...
        @classmethod
        def call(cls, *state: Any, **fields: Any) -> Call: ...
        @classmethod
        def options(cls, **changes: Unpack[CallOptions]) -> Action[..., Any]: ...
        @classmethod
        def result(cls, job: Job | int, timeout: Duration | None = None) -> Any: ...
