"""The faults of what workers depend on: connections, the network, Postgres, its disk and the HTTP service."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import asyncpg

from chaos.nemesis import Fault
from chaos.network import CONNECTION_LOST, Network, Pooler
from chaos.postgres import Cluster
from chaos.processes import Forked

_BACKENDS = """
select pid from pg_stat_activity
where datname = current_database() and application_name like 'kairos%' and pid <> pg_backend_pid()
order by random() limit $1
"""
# The statements whose commits are acknowledged to clients and workers.
_ACKNOWLEDGED = (
    "-- insert_jobs:",
    "-- finish_jobs:",
    "-- settle_jobs:",
    "-- park_jobs:",
    "-- deliver_signal:",
)


class DatabaseFaults:
    """Faults that need nothing but a session in the database."""

    def __init__(self, url: Callable[[], str], dice: random.Random) -> None:
        self._url = url
        self._dice = dice

    def faults(self) -> dict[str, Fault]:
        return {
            "cut": self._safely(self._cut),
            "snapshot": self._safely(self._snapshot),
            "row lock": self._safely(self._row_lock),
            "table lock": self._safely(self._table_lock),
        }

    def _safely(self, fault: Fault) -> Fault:
        """Wrap a fault: if the server is still down from another one, this one counts as not done."""

        async def tried() -> bool:
            try:
                async with asyncio.timeout(20):
                    return await fault()
            except CONNECTION_LOST:
                return False

        return tried

    @asynccontextmanager
    async def session(self) -> AsyncIterator[asyncpg.Connection]:
        own = {"application_name": "nemesis", "default_transaction_read_only": "off", "lock_timeout": "2s"}
        connection = await asyncpg.connect(self._url(), server_settings=own, timeout=5)
        try:
            yield connection
        finally:
            connection.terminate()

    async def _cut(self) -> bool:
        async with self.session() as session:
            for row in await session.fetch(_BACKENDS, self._dice.choice([1, 3, 100])):
                await session.fetchval("select pg_terminate_backend($1)", row["pid"])
        return True

    async def _snapshot(self) -> bool:
        """Keep a snapshot open: vacuum cannot remove rows that are deleted or updated meanwhile."""
        async with self.session() as session, session.transaction(isolation="repeatable_read"):
            await session.fetchval("select count(*) from kairos.gen_durable")
            await asyncio.sleep(self._dice.uniform(2, 5))
        return True

    async def _row_lock(self) -> bool:
        """Hold row locks on running jobs, as a slow client does."""
        some = "select id from kairos.gen_durable where status = 'executing' limit 3 for update skip locked"
        async with self.session() as session, session.transaction():
            found = await session.fetch(some)
            await asyncio.sleep(self._dice.uniform(0.5, 2.5))
        return bool(found)

    async def _table_lock(self) -> bool:
        async with self.session() as session, session.transaction():
            await session.execute("lock table kairos.gen_durable in share mode")
            await asyncio.sleep(self._dice.uniform(0.5, 2))
        return True


class NetworkFaults:
    """Faults between clients and servers."""

    def __init__(self, network: Network, pooler: Pooler | None, dice: random.Random) -> None:
        self._network = network
        self._pooler = pooler
        self._dice = dice

    def faults(self) -> dict[str, Fault]:
        found = {
            "wire cut": self._wire_cut,
            "blackhole": self._blackhole,
            "cut after commit": self._cut_after_commit,
            "answer dropped": self._answer_dropped,
            "notify lost": self._notify_lost,
        }
        return found if self._pooler is None else {**found, "pooler": self._restart_pooler}

    async def _wire_cut(self) -> bool:
        self._network.cut()
        return True

    async def _blackhole(self) -> bool:
        self._network.blackhole(True)
        await asyncio.sleep(self._dice.uniform(1, 3))
        self._network.blackhole(False)
        return True

    async def _cut_after_commit(self) -> bool:
        return await self._aim(lambda proxy, wanted: proxy.cut_after(wanted))

    async def _answer_dropped(self) -> bool:
        return await self._aim(lambda proxy, wanted: proxy.drop_answer(wanted))

    async def _aim(self, how: Callable[..., None]) -> bool:
        """Let the server carry out the next commit of one kind, but lose its answer; return whether there was one."""
        before = sum(proxy.hits for proxy in self._network.proxies)
        kind = self._dice.choice(_ACKNOWLEDGED)
        for proxy in self._network.proxies:
            how(proxy, lambda sql: sql.startswith(kind))
        for _ in range(100):
            if sum(proxy.hits for proxy in self._network.proxies) > before:
                break
            await asyncio.sleep(0.02)
        hit = sum(proxy.hits for proxy in self._network.proxies) > before
        for proxy in self._network.proxies:
            proxy.aim.clear()
            proxy.unanswered.clear()
        return hit

    async def _notify_lost(self) -> bool:
        before = self._network.dropped
        self._network.drop_notifications(True)
        await asyncio.sleep(self._dice.uniform(1, 3))
        self._network.drop_notifications(False)
        return self._network.dropped > before

    async def _restart_pooler(self) -> bool:
        assert self._pooler is not None
        await self._pooler.restart()
        return True


class ServerFaults(DatabaseFaults):
    """Faults of the whole Postgres server."""

    def __init__(self, cluster: Cluster, network: Network, dice: random.Random) -> None:
        super().__init__(lambda: cluster.primary.url(), dice)
        self._cluster = cluster
        self._network = network

    def faults(self) -> dict[str, Fault]:
        found: dict[str, Fault] = {
            **super().faults(),
            "crash": self._crash,
            "read only": self._safely(self._read_only),
        }
        if self._cluster.has_disk:
            found["disk"] = self._disk
        if self._cluster.standby is not None:
            found |= {
                "failover": lambda: self._fail_over(False),
                "hung primary": lambda: self._fail_over(True),
            }
        return found

    async def _crash(self) -> bool:
        """Kill the server during its work, and start it again at once."""
        await asyncio.to_thread(self._cluster.crash)
        return True

    async def _read_only(self) -> bool:
        async with self.session() as session:
            await session.execute("alter system set default_transaction_read_only = on")
            await session.execute("select pg_reload_conf()")
            try:
                await asyncio.sleep(self._dice.uniform(1, 2.5))
            finally:
                await session.execute("alter system reset default_transaction_read_only")
                await session.execute("select pg_reload_conf()")
        return True

    async def _disk(self) -> bool:
        """Fill the disk; start the server again if it ended, once there is room."""
        if not await asyncio.to_thread(self._cluster.fill_disk, True):
            return False
        try:
            await asyncio.sleep(self._dice.uniform(1.5, 3))
        finally:
            await asyncio.to_thread(self._cluster.fill_disk, False)
            if not await asyncio.to_thread(self._cluster.primary.is_alive):
                await asyncio.to_thread(self._cluster.primary.start)
        return True

    async def _has_caught_up(self) -> bool:
        in_step = "select count(*) > 0 from pg_stat_replication where sync_state in ('sync', 'quorum')"
        try:
            async with asyncio.timeout(20), self.session() as session:
                return bool(await session.fetchval(in_step))
        except CONNECTION_LOST:
            return False

    async def _fail_over(self, hang: bool) -> bool:
        """Promote the standby while the old primary is dead or hangs; then add a new standby."""
        cluster, network = self._cluster, self._network
        if cluster.standby is None:
            return False
        if not await self._has_caught_up():
            return False  # acknowledged commits may exist only on the primary since the last fault
        await asyncio.to_thread(cluster.promote, hang=hang)
        network.pooled.lead_to(cluster.primary.url())
        network.pooled.cut()
        if hang:
            await asyncio.sleep(self._dice.uniform(3, 6))
        await asyncio.to_thread(cluster.remove_old_primary)
        await asyncio.to_thread(cluster.add_standby)
        network.follow(cluster.primary.url(), cluster.standby.url())
        return True


class ServiceFaults:
    """Kill the HTTP service during its responses, and start it again."""

    def __init__(self, start: Callable[[], Forked]) -> None:
        self._start = start
        self.process = start()

    def faults(self) -> dict[str, Fault]:
        return {"service": self._kill}

    async def _kill(self) -> bool:
        self.process.kill()
        self.process = self._start()
        return True

    def replace_dead(self) -> None:
        if self.process.code is not None:
            self.process = self._start()
