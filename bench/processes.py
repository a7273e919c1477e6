"""Child processes, and the CPU time and memory of these and of Postgres as /proc reports them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TICK = os.sysconf("SC_CLK_TCK")


class Child:
    """A process that prints `ready`, works, and at the end of its input prints one line of JSON."""

    def __init__(
        self,
        url: str,
        *command: str,
        program: Path | str = sys.executable,
        environment: dict[str, str] | None = None,
    ) -> None:
        self._process = subprocess.Popen(
            [program, *command],
            cwd=ROOT,
            env=os.environ
            | {
                "KAIROS_DATABASE_URL": url,
                "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
                **(environment or {}),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if os.environ.get("BENCH_QUIET", "1") == "1" else None,
            text=True,
        )
        self.pid = self._process.pid

    def ready(self) -> Child:
        assert self._process.stdout is not None
        while (line := self._process.stdout.readline()) and line.strip() != "ready":
            pass
        if not line:
            self._fail()
        return self

    def read_json(self) -> dict[str, Any]:
        """Return the next line that it prints, which is JSON."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                found: dict[str, Any] = json.loads(line)
                return found
        self._fail()
        return {}

    def go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def finish(self) -> dict[str, Any]:
        """Close its input, wait for its end and return its figures."""
        out, err = self._process.communicate(timeout=120)
        if self._process.returncode != 0:
            self._fail(err)
        lines = [line for line in out.splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else {}

    def end(self, patience: float = 10) -> None:
        """Close its input and wait for its end, not for that of its output, which its child processes may keep open."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _fail(self, err: str | None = None) -> None:
        said = err if err is not None else self._process.communicate()[1]
        raise RuntimeError(
            f"{self._process.args} ended with {self._process.returncode}:\n{(said or '')[-4000:]}"
        )


@dataclass(frozen=True, slots=True)
class Cpu:
    """CPU seconds used so far."""

    workers: float
    postgres: float

    @staticmethod
    def of(workers: list[int], postmaster: int) -> Cpu:
        return Cpu(sum(_with_children(pid) for pid in workers), _with_children(postmaster))

    def __sub__(self, other: Cpu) -> Cpu:
        return Cpu(self.workers - other.workers, self.postgres - other.postgres)


def _with_children(pid: int) -> float:
    """Return the CPU seconds of a process, of its ended children and of its living ones."""
    used = sum(_ticks(pid)) / TICK
    return used + sum(sum(_ticks(child)[:2]) / TICK for child in children(pid))


def _ticks(pid: int) -> list[int]:
    """Return utime, stime, cutime and cstime of a process, in clock ticks."""
    try:
        return [
            int(field) for field in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]
        ]
    except (FileNotFoundError, ProcessLookupError):
        return [0]


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


def rss(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def flush_ms(times: int = 40) -> float:
    """Return how many milliseconds a commit waits now: write and flush 8 kB on the disk of the databases."""
    took = []
    with tempfile.TemporaryFile(prefix="kairos-bench-") as file:
        for _ in range(times):
            began = time.perf_counter()
            os.pwrite(file.fileno(), bytes(8192), 0)
            os.fdatasync(file.fileno())
            took.append(1000 * (time.perf_counter() - began))
    return median(took)
