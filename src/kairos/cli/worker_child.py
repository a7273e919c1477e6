"""A worker process under a supervisor: `python -m kairos.cli.worker_child '{…}'`."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

from kairos.app import SyncKairos
from kairos.cli import log_output, worker_process
from kairos.cli.app_loader import BadApp, load_app
from kairos.cli.database_option import DatabaseChoice
from kairos.cli.errors import report
from kairos.cli.file_watcher import FileWatcher
from kairos.cli.serve import on_socket, without_app


def main(ask: dict[str, Any]) -> int:
    """Load the app and run a worker; with `reload`, an app that cannot be loaded is loaded again after a change."""
    alive: int = ask["alive"]
    log_output.configure(log_output.Format(ask["log_format"]), log_output.Level(ask["log_level"]))
    listening: int | None = ask["listening"]
    for descriptor in filter(None, (alive, listening)):
        # For this process alone. What it starts would hold the port: uvloop closes nothing that can be inherited.
        os.set_inheritable(descriptor, False)
    if listening is not None:
        log_output.log_successes()
    beside = None if listening is None else on_socket(socket.socket(fileno=listening))
    began = time.time()  # files that change during loading count as changed
    try:
        loaded = load_app(ask["app"], DatabaseChoice())
        watch = FileWatcher(began) if ask["reload"] else None
        options = worker_process.WorkerOptions(**ask["options"])
        work = worker_process.serve(loaded, options, supervised=alive, watch=watch, beside=beside)
        return worker_process.leave(worker_process.run(work))
    except BadApp as error:
        code = report(error)
        if not ask["reload"]:
            return code
        # A missing file may be created later: the folders are watched as well.
        files = {*error.files, Path(ask["app"].partition(":")[0])}
        watch = FileWatcher(began, [*files, *(file.parent for file in files)])
        kairos = without_app(DatabaseChoice().settings()).apps[0] if beside is not None else None
        assert not isinstance(kairos, SyncKairos)
        return worker_process.run(
            worker_process.wait_for_change(watch, supervised=alive, kairos=kairos, beside=beside)
        )
    except Exception as error:  # noqa: BLE001 (`report` raises an unexpected error again)
        return report(error)


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
