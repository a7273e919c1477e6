"""celery with Redis as its users would write it, with the settings found fastest: one process, results ignored."""

from __future__ import annotations

import json
import os
import sys
import threading
import time

from celery import Celery

QUEUE = "bench"
app = Celery("bench", broker=os.environ["BENCH_REDIS_URL"])
app.conf.update(
    task_default_queue=QUEUE,
    task_ignore_result=True,
    worker_prefetch_multiplier=1000,
    broker_connection_retry_on_startup=True,
    worker_hijack_root_logger=False,
)


@app.task(name="noop")
def noop(n: int) -> None:
    """Do nothing."""


def main(command: list[str]) -> None:
    match command:
        case ["install"]:
            app.control.purge()
        case ["fill", jobs]:
            for _ in range(int(jobs) // 1000):
                bulk()
        case ["enqueue", kind, seconds]:
            noop.delay(n=0)  # connects
            count, began = 0, time.monotonic()
            while time.monotonic() - began < float(seconds):
                if kind == "one":
                    noop.delay(n=count)
                    count += 1
                else:
                    count += bulk()
            print(json.dumps({"jobs": count, "seconds": time.monotonic() - began}), flush=True)
        case ["work"]:
            print("ready", flush=True)
            sys.stdin.readline()
            threading.Thread(target=_end_with_input, daemon=True).start()
            worker = app.Worker(
                pool="solo",
                loglevel="ERROR",
                without_gossip=True,
                without_mingle=True,
                without_heartbeat=True,
            )
            worker.start()


def bulk() -> int:
    """Enqueue many over one connection: celery has no call for that."""
    with app.producer_pool.acquire(block=True) as producer:
        for number in range(1000):
            noop.apply_async(kwargs={"n": number}, producer=producer)
    return 1000


def _end_with_input() -> None:
    sys.stdin.readline()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
