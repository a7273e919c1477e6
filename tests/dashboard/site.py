"""A real `kairos dev` for browsers to look at, and a wire to it that can be cut."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

KAIROS = Path(sys.executable).parent / "kairos"
APP = Path(__file__).with_name("shop.py")
TIMEOUT = 120.0
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser() -> str | None:
    """The program of an installed browser."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


class Site:
    """One `kairos dev` with its own embedded Postgres."""

    def __init__(self, data: Path, app: Path = APP) -> None:
        self._process = subprocess.Popen(
            [KAIROS, "dev", str(app), "--port", "0", "--no-reload", "--data", str(data)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
            env={name: value for name, value in os.environ.items() if not name.startswith("KAIROS_")},
        )
        self.said = ""
        self.url = self._until_it_says(r"dashboard\s+(http://\S+)").rstrip("/")
        self.database = self._until_it_says(r"database\s+(postgresql://\S+)")
        self.key = self._until_it_says(r"key\s+(kr_\S+)")
        self._until_it_says(r"(worker started)")
        threading.Thread(target=self._read_on, daemon=True).start()

    def close(self) -> None:
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """One request with the key; anything but success is an error that shows the answer."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from None

    def enqueue(self, action: str, input: dict[str, Any] | None = None, **options: Any) -> int:  # noqa: A002
        answer = self.call("POST", "/api/jobs", {"action": action, "input": input or {}, **options})
        return int(answer["job"]["id"])

    def job(self, id: int) -> dict[str, Any]:  # noqa: A002
        found: dict[str, Any] = self.call("GET", f"/api/jobs/{id}")["job"]
        return found

    def until(self, id: int, *states: str) -> dict[str, Any]:  # noqa: A002
        """The job, once it is in one of the states."""
        deadline = time.monotonic() + TIMEOUT
        while (job := self.job(id))["state"] not in states:
            assert time.monotonic() < deadline, f"job {id} is {job['state']}, not {states}"
            time.sleep(0.05)
        return job

    def _until_it_says(self, pattern: str) -> str:
        deadline = time.monotonic() + TIMEOUT
        assert self._process.stdout is not None
        while not (found := re.search(pattern, self.said)):
            line = self._process.stdout.readline()
            self.said += line
            assert line and time.monotonic() < deadline, f"kairos dev did not say {pattern}:\n{self.said}"
        return found[1]

    def _read_on(self) -> None:
        assert self._process.stdout is not None
        with suppress(ValueError):  # closed under us at the end
            for _ in self._process.stdout:
                pass


def row_of(page: Any, job: int) -> Any:
    """The row of one job in a list: its number may be part of what other rows show."""
    select = page.get_by_role("checkbox", name=f"Select job {job}", exact=True)
    return page.locator("[data-row]").filter(has=select)


class Wire:
    """A proxy in front of a site whose connections can be cut, and kept down until it is mended."""

    def __init__(self, site: Site) -> None:
        host, port = site.url.removeprefix("http://").split(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._down = False
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._down = True
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        self._down = False

    def close(self) -> None:
        self.cut()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self._down:
                    near.close()
                    continue
                far = socket.create_connection(self._target)
                self._open |= {near, far}
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for each in (source, sink):
            self._open.discard(each)
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
