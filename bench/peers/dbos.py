"""dbos as its users would write it, with the settings found fastest: an async workflow, a queue polled often, bulk
enqueues in one transaction.
"""

from __future__ import annotations

import json
import os
import sys
import time

os.environ["DBOS__VMID"] = f"bench-{os.getpid()}"  # each process recovers only its own workflows

import sqlalchemy as sa
from dbos import DBOS, DBOSClient

URL = os.environ["KAIROS_DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://", 1)
QUEUE = "bench"
OPTIONS = {"queue_name": QUEUE, "workflow_name": "noop"}


@DBOS.workflow(name="noop")
async def noop(n: int) -> None:
    """Do nothing."""


def launch() -> None:
    DBOS(
        config={"name": "bench", "system_database_url": URL, "log_level": "ERROR", "run_admin_server": False}
    )
    DBOS.launch()
    DBOS.register_queue(QUEUE, worker_concurrency=200, polling_interval_sec=0.01)


def main(command: list[str]) -> None:
    match command:
        case ["install"]:
            launch()
            DBOS.destroy()
            with sa.create_engine(URL).begin() as connection:
                connection.execute(sa.text("truncate dbos.workflow_status cascade"))
        case ["fill", jobs]:
            client, engine = DBOSClient(system_database_url=URL), sa.create_engine(URL)
            for _ in range(int(jobs) // 1000):
                bulk(client, engine)
        case ["enqueue", kind, seconds]:
            client, engine = DBOSClient(system_database_url=URL), sa.create_engine(URL)
            count, began = 0, time.monotonic()
            while time.monotonic() - began < float(seconds):
                if kind == "one":
                    client.enqueue(OPTIONS, count)
                    count += 1
                else:
                    count += bulk(client, engine)
            print(json.dumps({"jobs": count, "seconds": time.monotonic() - began}), flush=True)
        case ["work"]:
            print("ready", flush=True)
            sys.stdin.readline()
            launch()
            sys.stdin.readline()
            os._exit(0)  # a normal exit would wait for its threads


def bulk(client: DBOSClient, engine: sa.Engine) -> int:
    with engine.begin() as connection:
        for number in range(1000):
            client.enqueue_in_transaction(connection, OPTIONS, number)
    return 1000


if __name__ == "__main__":
    main(sys.argv[1:])
