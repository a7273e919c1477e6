"""`kairos.chain`: the machine that runs the links of a chain, one after the other."""

from __future__ import annotations

from typing import Any

from kairos.machine.chain_link import CHAIN, call_of
from kairos.machine.context import Context
from kairos.machine.definition import Machine, step
from kairos.machine.from_code import Declaration, read_class
from kairos.machine.outcome import Await, Done, Stop
from kairos.machine.registry import ExtendedRegistry, Registry

_ENDED = "ended"


class Chain:
    """Spawn one link after the other, and pass each result on; this needs no code of the links' actions.

    The state holds the links, and how many of them have been spawned.
    """

    @step
    async def advance(self, ctx: Context[dict[str, Any]]) -> Await | Done | Stop:
        links, begun, result = ctx.state["links"], ctx.state.get("begun", 0), None
        if begun:
            if (reply := ctx.take(_ENDED)) is None:
                return Await(_ENDED)
            ended = reply.payload
            if ended["state"] != "success":
                return Stop(f"{ended['action']} (job {ended['job']}) is {ended['state']}: {ended['error']}")
            if ended.get("outputOmitted"):
                return Stop(f"{ended['action']} (job {ended['job']}) returned more than an inbox may hold.")
            result = ended["output"]
        if begun == len(links):
            return Done(result)
        ctx.spawn(call_of(links[begun], result), reply=_ENDED)
        return Await(_ENDED, state={**ctx.state, "begun": begun + 1})


def with_chains(registry: Registry) -> Registry:
    """Return a registry of the given machines plus the one that runs chains, for a worker."""
    return ExtendedRegistry(registry, machine())


def machine() -> Machine:
    return read_class(Chain, Declaration(CHAIN))
