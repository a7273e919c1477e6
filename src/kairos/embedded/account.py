"""Choose the account that runs Postgres, which refuses root and accounts missing from /etc/passwd."""

from __future__ import annotations

import os
import pwd
import subprocess
from dataclasses import dataclass

from kairos.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Account:
    """An account that runs commands, by the command line `prefix`; `uid` and `gid` own its files."""

    prefix: tuple[str, ...]
    uid: int
    gid: int

    def can_run(self, *command: str) -> bool:
        """Return whether the command succeeds when this account runs it."""
        try:
            done = subprocess.run([*self.prefix, *command], capture_output=True, timeout=30, check=False)
        except OSError:
            return False
        return done.returncode == 0


def choose_account() -> Account:
    """Return the account to run Postgres with: this process's own where Postgres takes it.

    Root runs it in a user namespace that maps root to `nobody`: no user is created, no mode is changed, and on
    disk the files belong to root. Where namespaces are blocked (containers), Postgres runs as `nobody` itself.
    """
    uid, gid = os.getuid(), os.getgid()
    if uid != 0 and _in_passwd(uid):
        return Account((), uid, gid)
    nobody = pwd.getpwnam("nobody")
    # The mapped uid must be in /etc/passwd: initdb looks up its own name.
    mapped = f"--map-user={nobody.pw_uid}", f"--map-group={nobody.pw_gid}"
    masked = Account(("unshare", "--user", *mapped, "--"), uid, gid)
    if masked.can_run("true"):
        return masked
    identity = f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}"
    dropped = Account(("setpriv", *identity, "--clear-groups", "--"), nobody.pw_uid, nobody.pw_gid)
    if uid == 0 and dropped.can_run("true"):
        return dropped
    who = "root, which Postgres refuses" if uid == 0 else f"uid {uid}, which /etc/passwd does not know"
    raise ConfigError(
        f"Kairos runs as {who}, and neither unshare nor setpriv can change that here: "
        "run it as an ordinary user, or point KAIROS_DATABASE_URL at a running Postgres."
    )


def _in_passwd(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True
