"""Find what a cluster needs of the machine, and say what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

# The programs, and the Debian package of each.
_PACKAGES = {
    "patroni": "patroni",
    "etcd": "etcd-server",
    "haproxy": "haproxy",
    "pgbouncer": "pgbouncer",
    "nft": "nftables",
    "ip": "iproute2",
    "nsenter": "util-linux",
}
_SYSTEM = "/usr/sbin:/usr/bin:/sbin:/bin"


def program(name: str) -> str:
    """Return the path of a program that `missing` has looked for."""
    found = shutil.which(name) or shutil.which(name, path=_SYSTEM)
    assert found is not None, name
    return found


def postgres_programs() -> Path | None:
    """Return the folder of the newest Postgres that Debian installed; Patroni does not know the embedded one."""
    found = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "pg_rewind").exists()]
    return max(found, key=lambda path: int(path.parent.name), default=None)


def faketime() -> Path | None:
    """Return the library that shifts the clock of one process, where it is installed."""
    return next(iter(Path("/usr/lib").glob("*/faketime/libfaketime.so.1")), None)


def missing() -> str | None:
    """Return why no cluster can be started here, in one sentence, or None."""
    absent = [
        package
        for name, package in _PACKAGES.items()
        if not (shutil.which(name) or shutil.which(name, path=_SYSTEM))
    ]
    if not _has_python_etcd():
        absent.append("python3-etcd")
    if postgres_programs() is None:
        absent.append("postgresql-15")
    if absent:
        return f"not installed: {', '.join(absent)} (Debian packages)"
    if os.getuid() != 0:
        return "only root can make network namespaces"
    tried = subprocess.run([program("unshare"), "--net", "true"], capture_output=True, check=False)
    return None if tried.returncode == 0 else "this kernel makes no network namespaces"


def _has_python_etcd() -> bool:
    """Whether the Python of the system, which runs Patroni, has its module for etcd."""
    return any(Path("/usr/lib/python3/dist-packages").glob("etcd/__init__.py"))
