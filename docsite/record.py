"""Record 20 seconds of `kairos dev` as an asciinema cast: `.venv/bin/python -m docsite.record docs/images/dev.cast`.

Jobs are enqueued while it runs, so that there is something to see. Pauses are cut to two seconds: a slow machine
records the same. Play it with `asciinema play`.
"""

from __future__ import annotations

import codecs
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KAIROS = Path(sys.executable).parent / "kairos"
WIDTH, HEIGHT = 110, 28
LONGEST_PAUSE = 2.0
LONGEST_START = 180.0
# When to type what, in seconds after the worker has started.
SCRIPT = (
    (1.0, ("enqueue", "examples/hello.py", "greet", "name=world")),
    (4.0, ("enqueue", "examples/hello.py", "fetch")),
    (7.0, ("enqueue", "examples/hello.py", "report", "pages=40")),
)


def record(file: Path, seconds: float = 16.0) -> int:
    """Write the cast, until so long after the worker has started; return how many pieces of output it has."""
    with tempfile.TemporaryDirectory() as data, file.open("w") as cast:
        head = {"version": 2, "width": WIDTH, "height": HEIGHT, "title": "kairos dev"}
        cast.write(json.dumps(head) + "\n")
        count, shown, before = 0, 0.0, 0.0
        for at, text in _watched(Path(data), seconds):
            shown, before = shown + min(at - before, LONGEST_PAUSE), at
            cast.write(json.dumps([round(shown, 3), "o", _plain(text, data)]) + "\n")
            count += 1
    return count


def _plain(text: str, data: str) -> str:
    """Leave out where it was recorded, and the key of a database that is gone."""
    text = text.replace(str(ROOT), "~/kairos").replace(f" --data {data}/db", "")
    return re.sub(r"kr_[\w-]{8,}", "kr_…", text).replace(socket.gethostname(), "laptop")


def _watched(data: Path, seconds: float) -> Iterator[tuple[float, str]]:
    screen, terminal = pty.openpty()
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    environment = {**os.environ, "KAIROS_DATA": str(data / "db"), "TERM": "xterm-256color"}
    # The first start makes a database, which takes a while and shows nothing.
    subprocess.run([KAIROS, "migrate"], env=environment, check=True, stdout=subprocess.DEVNULL)
    command = [KAIROS, "dev", "examples/hello.py", "--port", "0"]
    dev = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=terminal, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    begun, started, typed = time.monotonic(), None, list(SCRIPT)
    clients = []
    try:
        yield 0.0, "$ kairos dev examples/hello.py\r\n"
        while (now := time.monotonic()) < (begun + LONGEST_START if started is None else started + seconds):
            if any(client.poll() is None for client in clients):
                started = max(started or now, now - seconds / 2)  # it has not been seen yet what they do
            if select.select([screen], [], [], 0.05)[0]:
                text = decoder.decode(os.read(screen, 65536))
                if started is None and "worker started" in text:
                    started = now
                yield now - begun, text
            if started is not None and typed and now - started >= typed[0][0]:
                _, words = typed.pop(0)
                yield now - begun, f"\x1b[2m# in another terminal: kairos {' '.join(words)}\x1b[0m\r\n"
                clients.append(
                    subprocess.Popen([KAIROS, *words], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
                )
    finally:
        for client in clients:
            client.wait(60)
        dev.send_signal(signal.SIGINT)
        dev.wait(60)
        os.close(screen)


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "dev.cast")
    print(f"{record(place)} pieces of output are in {place}.")
