"""Chains: `load.then(resize, width=100).then(store)` runs one job after the other and hands each result on.

A chain is a job of the action `kairos.chain`, whose state holds its links: calls that are complete but for the result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Generic, ParamSpec, TypeVar, Unpack

from kairos import json_codec
from kairos.action import Action, CallOptions, Client, J, R, choose, names_of
from kairos.durations import Duration
from kairos.errors import BadArguments, BadDefinition
from kairos.machine.call import Call, Options
from kairos.machine.chain_link import CHAIN, STEP, link
from kairos.machine.definition import Machine
from kairos.shapes.job import Job
from kairos.suggest import did_you_mean

P = ParamSpec("P")
R2 = TypeVar("R2")


class Chain(Generic[P, J, R]):
    """An action, followed by others; used like an action. Its options are those of the chain's own job."""

    def __init__(
        self,
        first: Action[P, J, Any],
        last: Machine,
        later: tuple[Mapping[str, Any], ...],
        client: Client,
        options: Options | None = None,
    ) -> None:
        self._first = first
        self._last = last
        self._later = later
        self._client = client
        self._options = options or Options()

    def then(self, action: Action[..., Any, R2], /, **given: Any) -> Chain[P, J, R2]:
        """Return the chain with one more link; the result before it is its first argument that is not given."""
        later = (*self._later, _later_link(action, given))
        return Chain(self._first, action.machine, later, self._client, self._options)

    def options(self, **changes: Unpack[CallOptions]) -> Chain[P, J, R]:
        """Return the chain with other scheduling options of its own job."""
        return Chain(self._first, self._last, self._later, self._client, choose(self._options, changes))

    def call(self, /, *args: P.args, **kwargs: P.kwargs) -> Call:
        """Validate the arguments of the first link and return the chain as a call."""
        first = self._first.call(*args, **kwargs)
        _refuse_unique(first.action, first.options)
        links = [link(first, json.loads(first.state)), *self._later]
        redact = sorted({f"links.input.{field}" for each in links for field in each["redact"]})
        return Call(
            action=CHAIN,
            version=1,
            step=STEP,
            state=json_codec.dumps({"links": links}, "links"),
            queue=self._options.queue or first.queue,
            ttl=None,
            options=self._options,
            redact=tuple(redact),
        )

    def enqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> J:
        """Enqueue the chain; with an async app, await the result."""
        job: J = self._client.enqueue(self.call(*args, **kwargs))
        return job

    def result(self, job: Job | int, timeout: Duration | None = None) -> Any:
        """Wait for the chain to end, and return what its last function returned, as the type it declares."""
        return self._client.result_of(self._last, job.id if isinstance(job, Job) else job, timeout)


def _later_link(action: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a link that lacks the result of the one before, and refuse what could never run."""
    if not isinstance(action, Action):
        raise BadDefinition(f"then takes an action, such as resize, not {action!r}.")
    machine, options = action.machine, action.chosen
    if not machine.plain:
        raise BadDefinition(
            f"A chain leads from function to function, and {machine.name!r} is a machine: let a step spawn it."
        )
    if callable(options.key):
        raise BadDefinition(
            f"The key of {machine.name!r} is computed from its arguments, which a chain does not know yet: set a "
            f"fixed key with {machine.name}.options(key=…)."
        )
    _refuse_unique(machine.name, options)
    for name in given:
        if name not in machine.arguments:
            raise BadArguments(
                f"{machine.name} takes no argument {name!r}.{did_you_mean(name, machine.arguments)}",
                field=name,
            )
    free = next((name for name in names_of(machine) if name not in given), None)
    stored = machine.partial_state(given, lacks=free)
    call = Call(
        action=machine.name,
        version=machine.version,
        step=machine.initial,
        state="{}",
        queue=options.queue or machine.queue,
        ttl=machine.ttl,
        options=options,
        redact=tuple(sorted(machine.redact)),
        search=machine.search,
    )
    return {**link(call, stored), "takes": free}


def _refuse_unique(name: str, options: Options) -> None:
    if options.unique is not None:
        raise BadDefinition(
            f"{name!r} has a unique key, and a link of a chain cannot: give it to the chain, with "
            ".options(unique=…)."
        )
