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


def main(given: dict[str, Any]) -> int:
    """Load the app and run a worker. With `reload`, end when a file changes, even if the app could not be loaded."""
    alive: int = given["alive"]
    log_output.configure(log_output.Format(given["log_format"]), log_output.Level(given["log_level"]))
    listening: int | None = given["listening"]
    for descriptor in filter(None, (alive, listening)):
        # Child processes must not inherit the socket, or they would keep the port: uvloop closes no inheritable file.
        os.set_inheritable(descriptor, False)
    if listening is not None:
        log_output.log_successes()
    beside = None if listening is None else on_socket(socket.socket(fileno=listening))
    began = time.time()  # files that change during loading count as changed
    try:
        loaded = load_app(given["app"], DatabaseChoice())
        watch = FileWatcher(began) if given["reload"] else None
        options = worker_process.WorkerOptions(**given["options"])
        work = worker_process.serve(loaded, options, supervised=alive, watch=watch, beside=beside)
        return worker_process.exit_if_stuck(worker_process.run(work))
    except BadApp as error:
        code = report(error)
        if not given["reload"]:
            return code
        # A missing file may be created later: the folders are watched as well.
        files = {*error.files, Path(given["app"].partition(":")[0])}
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
