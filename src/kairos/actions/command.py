"""`command`: run a program of the allow-list. Its output goes to the job's log; its exit code decides the job's end."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from kairos.actions import command_allowlist, command_supervisor
from kairos.actions.command_output import Output
from kairos.actions.shared_arguments import Attempts, Length, retry_by_attempts
from kairos.durations import duration
from kairos.errors import BadRequest, CommandFailed, StepTimeout
from kairos.machine.context import Context, write_log
from kairos.machine.definition import Machine
from kairos.machine.from_code import Declaration, read_function

# How long to read on after the command has ended, in case a child process keeps its output open.
_LAST_OUTPUT = 2.0
# How long the supervisor process may take to end the command.
_EXIT_TIMEOUT = 10.0
# JSON schema keywords that publish what may be run and which variables may be set.
ALLOW, ENV = "allow", "allowEnv"


def machine(allow: Sequence[Sequence[str]], env: Sequence[str]) -> Machine:
    """Build the machine for a worker that may run what `allow` lists, with the variables that `env` names."""

    async def command(
        ctx: Context[Any],
        argv: list[str],
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        stdin: str | None = None,
        timeout: Length | None = None,
        grace: Length = "10s",
        attempts: Attempts = 1,
    ) -> dict[str, Any]:
        """Run an argv without a shell; SIGTERM and, after `grace`, SIGKILL end it with its child processes."""
        run = _Run(
            ctx,
            command_allowlist.check(argv, allow),
            command_allowlist.environment(env or {}, allowed),
            _folder(cwd),
        )
        limit = None if timeout is None else duration(timeout, "timeout").total_seconds()
        return await run(stdin, limit, duration(grace, "grace").total_seconds())

    allowed = tuple(env)
    # Published with the machine, so that a client can know what its workers would refuse.
    listed: Any = {ALLOW: [list(each) for each in allow], ENV: list(env)}
    command.__annotations__["argv"] = Annotated[list[str], Field(min_length=1, json_schema_extra=listed)]
    return read_function(command, Declaration("command", redact=["env", "stdin"], retry=retry_by_attempts))


def _folder(cwd: str | None) -> str:
    folder = cwd or "/"
    if not folder.startswith("/") or not Path(folder).is_dir():
        raise BadRequest(
            f"cwd is {folder!r}; it must be the whole path of a folder of the worker.", field="cwd"
        )
    return folder


class _Run:
    """One execution of one command."""

    def __init__(self, ctx: Context[Any], argv: list[str], env: dict[str, str], cwd: str) -> None:
        self._ctx = ctx
        self._argv = argv
        self._env = env
        self._cwd = cwd
        self._out = Output(lambda line: write_log(ctx, "info", line, stream="stdout"))
        self._err = Output(lambda line: write_log(ctx, "info", line, stream="stderr"))

    async def __call__(self, stdin: str | None, limit: float | None, grace: float) -> dict[str, Any]:
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                process = await self._start(theirs, stdin, grace)
            ours.setblocking(False)
            work = asyncio.create_task(self._follow(process, ours, stdin))
            try:
                async with asyncio.timeout(limit):
                    report = await asyncio.shield(work)
            except BaseException as error:
                # The supervisor sees the channel close and ends all processes, as it does if this worker dies.
                ours.shutdown(socket.SHUT_WR)
                done, _ = await asyncio.wait([work], timeout=grace + _EXIT_TIMEOUT)
                if not done:
                    process.kill()  # the kernel then kills the command as well
                    await asyncio.wait([work], timeout=_EXIT_TIMEOUT)
                if isinstance(error, TimeoutError):
                    raise StepTimeout(f"{self._argv[0]} ran longer than {limit:g} s.") from None
                raise
        return self._result(report)

    async def _start(
        self, channel: socket.socket, stdin: str | None, grace: float
    ) -> asyncio.subprocess.Process:
        number = channel.fileno()
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", command_supervisor.__file__, str(number), str(grace), *self._argv),
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(number,),
            env=self._env,
            cwd=self._cwd,
            start_new_session=True,
        )

    async def _follow(
        self, process: asyncio.subprocess.Process, channel: socket.socket, stdin: str | None
    ) -> dict[str, Any]:
        assert process.stdout is not None and process.stderr is not None
        readers = [
            asyncio.create_task(self._out.read(process.stdout)),
            asyncio.create_task(self._err.read(process.stderr)),
        ]
        if stdin is not None:
            readers.append(asyncio.create_task(_feed(process, stdin)))
        received = bytearray()
        with suppress(ConnectionError):
            while part := await asyncio.get_running_loop().sock_recv(channel, 4096):
                received += part
        await process.wait()
        _, stuck = await asyncio.wait(readers, timeout=_LAST_OUTPUT)
        if stuck:
            process._transport.close()  # type: ignore[attr-defined] # or the pipes stay open as long as their holder
        for reader in stuck:
            reader.cancel()
        return json.loads(received) if received else {"error": "the process that watches over it was killed"}

    def _result(self, report: dict[str, Any]) -> dict[str, Any]:
        name = shlex.join(self._argv)[:200]
        if "error" in report:
            raise CommandFailed(f"{name} could not be run: {report['error']}.")
        code = report["exit"]
        if code != 0:
            how = f"ended with code {code}" if code > 0 else f"was killed by {_signal(-code)}"
            last = (self._err.tail or self._out.tail).rstrip()[-1000:]
            raise CommandFailed(f"{name} {how}" + (f": {last}" if last else "."))
        return {
            "exitCode": code,
            "stdout": self._out.tail,
            "stderr": self._err.tail,
            "truncated": not (self._out.is_whole and self._err.is_whole),
        }


async def _feed(process: asyncio.subprocess.Process, text: str) -> None:
    assert process.stdin is not None
    with suppress(ConnectionError):  # the command may end without reading all its input
        process.stdin.write(text.encode())
        await process.stdin.drain()
    process.stdin.close()


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
