"""A Django worker whose Postgres restarts while jobs use the ORM: it recovers, and no job is lost."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from tests.integrations.test_frameworks import EXAMPLES, run
from tests.worker.world import until

from kairos.embedded import Server

JOBS = """

@app.job(queue="orders", retry=Backoff(attempts=10, base="1s"))
def pack(order_id: int) -> None:
    from time import sleep

    from shop.models import Order

    order = Order.objects.get(pk=order_id)
    sleep(0.05)  # so that the restart finds jobs between two statements
    order.shipped_at = timezone.now()
    order.save()
"""
PLACE = """
import os
import django
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
django.setup()
from shop.jobs import app, pack
from shop.models import Order
for item in range(200):
    app.enqueue(pack.call(order_id=Order.objects.create(item=str(item)).pk))
app.close()
"""


def count(server: Server, statement: str) -> int:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        row = connection.execute(statement).fetchone()
    assert row is not None
    return int(row[0])


def stop(server: Server, by: signal.Signals) -> None:
    """Tell Postgres to end as `pg_ctl` does; its data stays, also that of an ephemeral server."""
    os.kill(int((server.data / "postgres" / "postmaster.pid").read_text().splitlines()[0]), by)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGQUIT], ids=["fast", "immediate"])
async def test_a_django_worker_outlives_a_restart_of_postgres_and_loses_no_job(
    by: signal.Signals, tmp_path: Path
) -> None:
    project = Path(shutil.copytree(EXAMPLES / "django_project", tmp_path / "project"))
    jobs = project / "shop" / "jobs.py"
    jobs.write_text(jobs.read_text() + JOBS)
    (project / "place.py").write_text(PLACE)
    with Server(tmp_path / "pg", ephemeral=True) as server:
        run("manage.py", "migrate", "--run-syncdb", database=server.url(), cwd=project)
        run("manage.py", "kairos", "migrate", database=server.url(), cwd=project)
        run("place.py", database=server.url(), cwd=project)
        environment = {name: value for name, value in os.environ.items() if name != "KAIROS_DATABASE_URL"}
        log = tmp_path / "worker.log"
        with log.open("w") as output:
            worker = subprocess.Popen(
                [sys.executable, "manage.py", "kairos", "worker"],
                cwd=project,
                env=environment | {"DATABASE_URL": server.url()},
                stdout=subprocess.DEVNULL,
                stderr=output,
            )
        try:
            shipped = "select count(*) from shop_order where shipped_at is not null"
            await until(lambda: count(server, shipped) >= 20)
            stop(server, by)
            await until(lambda: not server.is_alive())
            server.start()
            assert count(server, shipped) < 200  # the restart fell into the work
            done = "select count(*) from kairos.gen_durable where status = 'done'"
            await until(lambda: count(server, done) == 200)
            assert count(server, shipped) == 200
        finally:
            worker.terminate()
            assert worker.wait(60) == 0, log.read_text()
