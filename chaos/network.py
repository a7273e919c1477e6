"""The network between workers and Postgres: a proxy for each server, and PgBouncer where it is installed."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import asyncpg
from tests.faults.proxy import Proxy

from kairos.embedded.account import choose_account

# What a session raises if its server or connection is broken.
CONNECTION_LOST = (
    OSError,
    TimeoutError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)
PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
_POOLER = """
[databases]
* = host=127.0.0.1 port={port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 20
ignore_startup_parameters = extra_float_digits
server_tls_sslmode = disable
"""


class Network:
    """A proxy with a fixed address for each server, and one for the pooler, which always leads to the primary."""

    def __init__(self, *urls: str) -> None:
        self.servers = [Proxy(url) for url in urls]
        self.pooled = Proxy(urls[0])
        self.proxies = [*self.servers, self.pooled]
        self.user = urlsplit(urls[0]).username
        self.database = urlsplit(urls[0]).path

    async def __aenter__(self) -> Self:
        for proxy in self.proxies:
            await proxy.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        for proxy in self.proxies:
            await proxy.__aexit__()

    def follow(self, primary: str, standby: str) -> None:
        """After a failover, lead the pooler to the new primary, and the address of the old one to the new standby."""
        self.pooled.lead_to(primary)
        self.pooled.cut()
        for proxy in self.servers:
            if not proxy.leads_to(primary):
                proxy.lead_to(standby)
                proxy.cut()

    @property
    def url(self) -> str:
        """The addresses of all servers; a client that connects looks for the primary."""
        hosts = ",".join("127.0.0.1" for _ in self.servers)
        ports = ",".join(str(proxy.port) for proxy in self.servers)
        where = f"host={hosts}&port={ports}&user={self.user}&sslmode=disable"
        return f"postgresql://{self.database}?{where}"

    def cut(self) -> None:
        for proxy in self.proxies:
            proxy.cut()

    def blackhole(self, on: bool) -> None:
        for proxy in self.proxies:
            proxy.blackhole = on
        if not on:
            self.cut()  # the dropped bytes are lost, so these connections cannot go on

    def drop_notifications(self, on: bool) -> None:
        for proxy in self.proxies:
            proxy.deaf = on

    @property
    def dropped(self) -> int:
        return sum(proxy.dropped for proxy in self.proxies)


class Pooler:
    """A PgBouncer in transaction mode."""

    def __init__(self, network: Network) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="kairos-pooler-"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._settings = self._folder / "pgbouncer.ini"
        self._account = choose_account()
        user = network.user
        self._settings.write_text(_POOLER.format(port=network.pooled.port, user=user, listen=self.port))
        self._folder.chmod(0o755)
        self.url = f"postgresql://{user}@127.0.0.1:{self.port}{network.database}?sslmode=disable"
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        assert PGBOUNCER is not None
        self._process = subprocess.Popen(
            [*self._account.prefix, PGBOUNCER, str(self._settings)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        async with asyncio.timeout(60):
            while True:
                if (code := self._process.poll()) is not None:
                    raise RuntimeError(f"PgBouncer ended with {code} before it was ready")
                with suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                    writer.close()
                    return
                await asyncio.sleep(0.02)

    async def restart(self) -> None:
        self.stop()
        await self.start()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
