"""A worker process under a supervisor: `python -m kairos.cli.child '{…}'`."""

from __future__ import annotations

import json
import socket
import sys
import time
from pathlib import Path
from typing import Any

from kairos.app import SyncKairos
from kairos.cli import logs, serve
from kairos.cli.failing import report
from kairos.cli.load import BadApp, load_app
from kairos.cli.place import Place
from kairos.cli.service import on_socket, without_app
from kairos.cli.watch import Watch


def main(ask: dict[str, Any]) -> int:
    """Load the app and work; with `reload`, an app that cannot be loaded is waited for, not given up."""
    alive: int = ask["alive"]
    logs.configure(logs.Format(ask["log_format"]))
    listening: int | None = ask["listening"]
    beside = None if listening is None else on_socket(socket.socket(fileno=listening))
    began = time.time()  # what changes while we load is a change too
    try:
        loaded = load_app(ask["app"], Place())
        watch = Watch(began) if ask["reload"] else None
        options = serve.WorkerOptions(**ask["options"])
        work = serve.serve(loaded, options, supervised=alive, watch=watch, beside=beside)
        return serve.leave(serve.run(work))
    except BadApp as error:
        code = report(error)
        if not ask["reload"]:
            return code
        # A file that is missing may be made: the folders are watched as well.
        files = {*error.files, Path(ask["app"].partition(":")[0])}
        watch = Watch(began, [*files, *(file.parent for file in files)])
        kairos = without_app(Place().settings()).apps[0] if beside is not None else None
        assert not isinstance(kairos, SyncKairos)
        return serve.run(serve.wait_for_change(watch, supervised=alive, kairos=kairos, beside=beside))
    except Exception as error:  # noqa: BLE001 (raised again if nobody expected it)
        return report(error)


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
