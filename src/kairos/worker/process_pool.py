"""Run steps in child processes: CPU work that would hold the worker's GIL."""

from __future__ import annotations

import asyncio
import os
import pickle
import re
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from kairos.errors import BadDefinition, StepProcessDied
from kairos.logger import Logger
from kairos.machine.context import Context, write_log
from kairos.machine.definition import Machine, Step
from kairos.machine.error_frame import CARRIED
from kairos.worker.claim import Claim
from kairos.worker.pickle_pipe import framed, receive

log = Logger("kairos.worker")

# The module name of the program's main file, in the children and in this process.
MAIN = "__kairos_main__"
_URLS = ("KAIROS_DATABASE_URL", "KAIROS_DIRECT_URL", "KAIROS_REPLICA_URL")
_PASSWORDS = (
    (re.compile(r"^(\w+://[^:@/?]*):.*@(?=[^@]*$)"), r"\1@"),  # user:password@host
    (re.compile(r"([?&])password=[^&]*&?"), r"\1"),
    (re.compile(r"(^|\s)password\s*=\s*(?:'(?:[^'\\]|\\.)*'|\S+)\s*"), r"\1"),  # host=… password=…
)


class ProcessPool:
    """Child processes, started when needed and reused; each runs one step at a time."""

    def __init__(self) -> None:
        self._most_idle = os.cpu_count() or 1
        self._idle: list[asyncio.subprocess.Process] = []
        self._busy: set[asyncio.subprocess.Process] = set()

    async def run(self, machine: Machine, step: Step, ctx: Context[Any], claim: Claim) -> Any:
        """Run a step; return its value or raise its exception. A cancelled or timed out step's process is killed."""
        request = pickle.dumps(request_of(machine, step, ctx, claim))
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
        return value_of(answer, ctx)

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
            "kairos.worker.step_process",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=environment_without_passwords(os.environ),
        )

    async def _ask(
        self, child: asyncio.subprocess.Process, request: bytes, ctx: Context[Any]
    ) -> dict[str, Any]:
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(framed(request))
        mine, over = (ctx.id, ctx.lease), Counter[int]()
        try:
            await child.stdin.drain()
            while True:
                answer = await receive(child.stdout)
                if answer.get("of", mine) != mine:
                    over.update([answer["of"][0]] if "log" in answer else ())
                elif "progress" in answer:
                    ctx.progress(*answer["progress"])
                elif "log" in answer:
                    write_log(ctx, *answer["log"])
                else:
                    return answer
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            code = await child.wait()
            raise StepProcessDied(
                f"The process of the step ended with code {code} before it answered."
            ) from error
        finally:
            for job, lines in over.items():
                log.warning("log lines of a step that has ended were dropped", job=job, lines=lines)


def value_of(answer: dict[str, Any], ctx: Context[Any]) -> Any:
    """Return the value of a step that ran in another process, or raise its error; copy its context into `ctx`."""
    ctx.taken[:] = answer["taken"]
    ctx.spawned[:] = answer["spawned"]
    ctx.reported = answer["reported"] or ctx.reported
    if answer["error"] is not None:
        with suppress(AttributeError, TypeError):  # an exception may refuse attributes
            setattr(answer["error"], CARRIED, answer.get("frame"))
        raise answer["error"]
    return answer["value"]


def environment_without_passwords(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a step's process, with the database URLs of Kairos but without their passwords.

    The worker commits for the step, so the step needs no password, and cannot leak one with its environment.
    """
    kept = {name: value for name, value in environment.items() if name != "PGPASSWORD"}
    for name in _URLS:
        if name in kept:
            for pattern, rest in _PASSWORDS:
                kept[name] = pattern.sub(rest, kept[name])
    return kept


async def _end(child: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        child.kill()
    await child.wait()


def _origin(module: str, machine: Machine) -> tuple[str, str | None]:
    """Return the module to import, or the file to run, that declares the machine."""
    if module != "__main__":
        return module, None
    main = sys.modules["__main__"]
    sys.modules[MAIN] = main  # so that what the child defines there is found here
    if (spec := getattr(main, "__spec__", None)) is not None:
        return spec.name, None  # python -m: by its own name, or relative imports would break
    if (file := getattr(main, "__file__", None)) is None:
        raise BadDefinition(f"{machine.name!r} cannot run in another process: it was not defined in a file.")
    return module, file


def request_of(machine: Machine, step: Step, ctx: Context[Any], claim: Claim) -> dict[str, Any]:
    """Return what another process needs to run the step: the names of its code, and its data."""
    function = getattr(step.call, "__func__", step.call)
    module, main = _origin(function.__module__, machine)
    return {
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
