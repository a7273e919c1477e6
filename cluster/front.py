"""HAProxy, which leads to the primary, and PgBouncer in transaction mode before it."""

from __future__ import annotations

import shutil
import signal
import subprocess

from cluster.database import DATABASE, POSTGRES, REST, Database
from cluster.hosts import Network
from cluster.requirements import program
from kairos.embedded.account import choose_account

PROXY, POOLER = 5000, 6432
# A pooler in transaction mode takes no settings of a connection: they are the role's.
ROLE = ("default_transaction_isolation = 'read committed'", "synchronous_commit = on", "jit = off")
# HAProxy asks each node five times a second whether it is the primary. `shutdown-sessions` closes the connections to a
# node that no longer is: without it a connection to a partitioned node stays open for as long as its client waits. By
# default HAProxy waits a second after a refused connection, and then tries the same node again; with `retries 0` the
# client learns of it at once.
_PROXY = """
global
  maxconn 500
defaults
  mode tcp
  timeout connect 1s
  retries 0
  timeout check 500ms
  timeout client 1h
  timeout server 1h
listen primary
  bind *:{port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 200ms fastinter 100ms downinter 100ms fall 2 rise 1 on-marked-down shutdown-sessions
{servers}
"""
# By default PgBouncer waits 15 s after a refused login, and lets every client wait as long: it would at each failover,
# while HAProxy knows no primary.
_POOLER = """
[databases]
{database} = host=127.0.0.1 port={proxy} user=postgres
[pgbouncer]
listen_addr = 0.0.0.0
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 40
ignore_startup_parameters = extra_float_digits
server_tls_sslmode = disable
server_login_retry = 0.2
server_connect_timeout = 1
"""


class Front:
    """The host that runs HAProxy and PgBouncer."""

    def __init__(self, network: Network, database: Database) -> None:
        self.host = network.add("front")
        self._folder = network.folder / "front"
        self._database = database
        self._proxy: subprocess.Popen[bytes] | None = None

    @property
    def pooled_url(self) -> str:
        return f"postgresql://postgres@{self.host.address}:{POOLER}/{DATABASE}?sslmode=disable"

    @property
    def direct_url(self) -> str:
        """Past PgBouncer: for LISTEN."""
        return f"postgresql://postgres@{self.host.address}:{PROXY}/{DATABASE}?sslmode=disable"

    def start(self) -> None:
        self._folder.mkdir()
        account = choose_account()
        servers = "\n".join(
            f"  server {node.name} {node.address}:{POSTGRES} check port {REST}"
            for node in self._database.nodes
        )
        (self._folder / "haproxy.cfg").write_text(_PROXY.format(port=PROXY, servers=servers))
        settings = self._folder / "pgbouncer.ini"
        settings.write_text(_POOLER.format(port=POOLER, proxy=PROXY, database=DATABASE))
        shutil.chown(self._folder, account.uid, account.gid)
        for setting in ROLE:  # as docs/operate/running-workers.md says
            self._database.execute(f"alter role postgres set {setting}")
        self.start_proxy()
        self.host.start("pgbouncer", *account.prefix, program("pgbouncer"), str(settings))

    def start_proxy(self) -> None:
        settings = self._folder / "haproxy.cfg"
        self._proxy = self.host.start("haproxy", program("haproxy"), "-db", "-f", str(settings))

    def restart_proxy(self) -> None:
        """Kill HAProxy, with every connection through it, and start it again."""
        assert self._proxy is not None
        self._proxy.send_signal(signal.SIGKILL)
        self._proxy.wait()
        self.start_proxy()
