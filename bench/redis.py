"""A Redis of our own for celery: Debian's redis-server, unpacked beside the other environments where there is none."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

_PACKAGES = (
    "redis-server", "redis-tools", "libjemalloc2", "liblzf1", "libhiredis0.14", "liblua5.1-0", "lua-cjson", "lua-bitop",
)  # fmt: skip


class Redis:
    """A server that listens on a socket in a temporary folder and keeps everything in memory."""

    def __init__(self, cache: Path) -> None:
        program, libraries = _program(cache)
        self._folder = Path(tempfile.mkdtemp(prefix="kairos-bench-redis-"))
        self._socket = self._folder / "socket"
        self.url = f"redis+socket://{self._socket}"
        self._process = subprocess.Popen(
            [program, "--port", "0", "--unixsocket", self._socket, "--save", "", "--dir", self._folder],
            env=os.environ | libraries,
            stdout=subprocess.DEVNULL,
        )
        self.pid = self._process.pid
        deadline = time.monotonic() + 20
        while not self._socket.exists():
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError("redis-server did not start")
            time.sleep(0.05)

    def number(self, *command: str) -> int:
        """Run a command and return the number that it answers."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(str(self._socket))
            connection.sendall((" ".join(command) + "\r\n").encode())
            return int(connection.recv(100).decode().strip().removeprefix(":"))

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(20)
        shutil.rmtree(self._folder, ignore_errors=True)


def _program(cache: Path) -> tuple[str | Path, dict[str, str]]:
    """Return the program, downloaded on first use, and the environment that it needs."""
    if installed := shutil.which("redis-server"):
        return installed, {}
    home = cache / "redis"
    if not (home / "unpacked").exists():
        home.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", *_PACKAGES], cwd=home, check=True, stdout=subprocess.DEVNULL)
        for package in home.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, home], check=True)
        (home / "unpacked").touch()
    program = home / "usr" / "bin" / "redis-server"
    return program, {"LD_LIBRARY_PATH": ":".join(str(each) for each in home.glob("usr/lib/*-linux-gnu"))}
