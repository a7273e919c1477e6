"""Steps that run in a process of their own: CPU work that would hold this one's GIL."""

from __future__ import annotations

import asyncio
import os
import pickle
import struct
import sys
from collections import Counter
from contextlib import suppress
from typing import Any

from kairos.errors import BadDefinition, StepProcessDied
from kairos.machine.context import Context, tell
from kairos.machine.definition import Machine, Step
from kairos.worker.claim import Claim
from kairos.worker.logs import Log

log = Log("kairos.worker")

# The name under which a child loads the program's main file; this process knows its own by it too.
MAIN = "__kairos_main__"
_LENGTH = struct.Struct("!I")


class ProcessLanes:
    """Child processes, made when needed and kept for the next step; one step at a time in each."""

    def __init__(self, most_idle: int | None = None) -> None:
        self._most_idle = most_idle or os.cpu_count() or 1
        self._idle: list[asyncio.subprocess.Process] = []
        self._busy: set[asyncio.subprocess.Process] = set()

    async def run(self, machine: Machine, step: Step, ctx: Context[Any], claim: Claim) -> Any:
        """The step's value, or its exception; a cancelled or late step ends with its process."""
        request = _request(machine, step, ctx, claim)
        child = self._take() or await self._start()
        self._busy.add(child)
        try:
            answer = await self._ask(child, request, ctx)
        except BaseException:
            await _end(child)
            raise
        finally:
            self._busy.discard(child)
        await self._keep(child)
        ctx.taken[:] = answer["taken"]
        ctx.spawned[:] = answer["spawned"]
        ctx.told = answer["told"] or ctx.told
        if answer["error"] is not None:
            raise answer["error"]
        return answer["value"]

    async def close(self) -> None:
        for child in (*self._idle, *self._busy):
            await _end(child)
        self._idle.clear()

    def _take(self) -> asyncio.subprocess.Process | None:
        while self._idle:
            child = self._idle.pop()
            if child.returncode is None:  # it may have been ended while it waited
                return child
        return None

    async def _keep(self, child: asyncio.subprocess.Process) -> None:
        if len(self._idle) < self._most_idle:
            self._idle.append(child)
        else:
            await _end(child)

    async def _start(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "kairos.worker.child",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )

    async def _ask(
        self, child: asyncio.subprocess.Process, request: bytes, ctx: Context[Any]
    ) -> dict[str, Any]:
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(_LENGTH.pack(len(request)) + request)
        mine, over = (ctx.id, ctx.lease), Counter[int]()
        try:
            await child.stdin.drain()
            while True:
                (length,) = _LENGTH.unpack(await child.stdout.readexactly(_LENGTH.size))
                # Only ever written by our own child, over a pipe that nobody else holds.
                answer: dict[str, Any] = pickle.loads(await child.stdout.readexactly(length))  # noqa: S301
                if answer.get("of", mine) != mine:
                    over.update([answer["of"][0]] if "say" in answer else ())
                elif "progress" in answer:
                    ctx.progress(*answer["progress"])
                elif "say" in answer:
                    tell(ctx, *answer["say"])
                else:
                    return answer
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            code = await child.wait()
            raise StepProcessDied(
                f"The process of the step ended with code {code} before it answered."
            ) from error
        finally:
            for job, lines in over.items():
                log.warning("lines of a step that is over were dropped", job=job, lines=lines)


async def _end(child: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        child.kill()
    await child.wait()


def _origin(module: str, machine: Machine) -> tuple[str, str | None]:
    """The module to import, or the file to run, that declares the machine."""
    if module != "__main__":
        return module, None
    main = sys.modules["__main__"]
    sys.modules[MAIN] = main  # so that what the child defines there is found here
    if (spec := getattr(main, "__spec__", None)) is not None:
        return spec.name, None  # python -m: by its own name, or relative imports would break
    if (file := getattr(main, "__file__", None)) is None:
        raise BadDefinition(f"{machine.name!r} cannot run in a process: it was not defined in a file.")
    return module, file


def _request(machine: Machine, step: Step, ctx: Context[Any], claim: Claim) -> bytes:
    function = getattr(step.call, "__func__", step.call)
    module, main = _origin(function.__module__, machine)
    return pickle.dumps(
        {
            "path": sys.path,
            "module": module,
            "main": main,
            "action": (machine.name, machine.version),
            "step": step.name,
            "state": claim.state,
            "hide": machine.redact,
            "inbox": [(signal.id, signal.name, signal.payload) for signal in ctx.inbox],
            "context": {
                "id": ctx.id,
                "action": ctx.action,
                "version": ctx.version,
                "attempt": ctx.attempt,
                "lease": ctx.lease,
                "timed_out": ctx.timed_out,
            },
        }
    )
