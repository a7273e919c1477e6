"""`SyncKairos`: the same verbs, whose answers are values."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import psycopg
import pytest
from tests.client.actions import drain_of

from kairos import InvalidTransition, Kairos, SyncKairos
from kairos.errors import Conflict, DatabaseUnavailable, Duplicate, JobFailed, NotFinished, NotFound
from kairos.store.sync_store import SyncStore


def test_a_job_s_whole_life(sync_app: SyncKairos, database: str) -> None:
    job = sync_app.action("echo").options(delay=60, key="k", unique="u").enqueue({"a": [1]})
    assert (job.state, job.is_new) == ("scheduled", True)
    assert sync_app.signal("u", "note", {"n": 1}, dedup_key="d") == "delivered"
    assert sync_app.signal(job.id, "note", dedup_key="d") == "duplicate"
    with pytest.raises(NotFinished, match="still scheduled"):
        sync_app.result(job.id, timeout=0.02)
    assert sync_app.run_now(job.id).state == "pending"
    assert drain_of(database) == 1
    assert sync_app.result(job.id, timeout=60) == {"a": [1]}
    assert sync_app.get(job.id).state == "success"
    assert [row.verb for row in sync_app.history(job.id)] == ["run_now", "done"]
    assert [each.name for each in sync_app.signals(job.id)] == ["note"]
    assert sync_app.retry(job.id).retry_of == job.id


def test_many_at_once_and_the_lists_of_them(sync_app: SyncKairos) -> None:
    send = sync_app.action("send")
    jobs = sync_app.enqueue_many(send.options(tags=[f"t{n}"]).call(n) for n in range(5))
    assert [job.id for job in sync_app.jobs(queue="mail")] == [job.id for job in reversed(jobs)]
    assert [job.id for job in sync_app.jobs(tag="t3")] == [jobs[3].id]
    with pytest.raises(Duplicate):
        for _ in range(2):
            send.options(unique="u").enqueue(1)


def test_queues_can_be_paused_limited_and_read(sync_app: SyncKairos) -> None:
    sync_app.action("send").enqueue(1)
    assert sync_app.pause("mail").paused_at is not None
    assert sync_app.limit("mail", concurrency=3).concurrency == 3
    (queue,) = sync_app.queues()
    assert (queue.name, queue.pending, queue.concurrency) == ("mail", 1, 3)
    assert sync_app.resume("mail").paused_at is None
    assert sync_app.workers() == []


def test_what_is_wrong_is_told_the_same_way(sync_app: SyncKairos, database: str) -> None:
    job = sync_app.action("fail").enqueue("broken")
    cancelled = sync_app.action("echo").options(delay=60).enqueue()
    assert sync_app.cancel(cancelled.id, reason="enough").cancel_reason == "enough"
    assert drain_of(database) == 1
    with pytest.raises(JobFailed, match="ValueError: broken") as failed:
        sync_app.result(job.id)
    assert failed.value.job.error_code == "ValueError"
    with pytest.raises(JobFailed, match="cancelled: enough"):
        sync_app.result(cancelled.id)
    for ask in (sync_app.get, sync_app.cancel, sync_app.run_now, sync_app.retry, sync_app.result):
        with pytest.raises(NotFound, match="There is no job 77777"):
            ask(77777)
    with pytest.raises(Conflict, match="takes no more signals"):
        sync_app.signal(job.id, "late")
    with pytest.raises(InvalidTransition):
        sync_app.get(job.id).transition("cancelled")


def test_a_job_transitions_by_value(sync_app: SyncKairos) -> None:
    job = sync_app.action("echo").options(delay=60).enqueue()
    assert job.transition("pending").transition("cancelled").state == "cancelled"


def test_a_cut_connection_is_told_and_made_anew(sync_app: SyncKairos, database: str) -> None:
    sync_app.jobs()
    with psycopg.connect(database, autocommit=True) as other:
        other.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid()"
        )
    with pytest.raises(DatabaseUnavailable, match="cannot be reached"):
        sync_app.jobs()
    assert sync_app.jobs() == []


def test_an_app_opens_itself_for_its_first_verb_and_again_after_a_close(database: str) -> None:
    app = SyncKairos(database)
    with pytest.raises(DatabaseUnavailable, match="not open"):
        _ = app.store
    for _ in range(2):
        assert app.jobs() == []
        app.open()
        app.close()


async def test_an_async_app_opens_itself_for_its_first_verb_and_again_after_a_close(database: str) -> None:
    app = Kairos(database)
    with pytest.raises(DatabaseUnavailable, match="not open"):
        _ = app.store
    for _ in range(2):
        assert await app.jobs() == []
        await app.open()
        await app.close()


def test_threads_that_meet_at_an_app_not_yet_open_share_its_connection(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, together, connect = SyncKairos(database), Barrier(8), SyncStore.connect
    made: list[psycopg.Connection] = []
    monkeypatch.setattr(SyncStore, "connect", lambda store: made.append(connect(store)) or made[-1])

    @app.job
    def greet(n: int) -> int:
        return n

    def works(thread: int) -> list[int]:
        together.wait()
        return [greet.enqueue(n=n).id for n in range(thread, 200, 8)]

    with ThreadPoolExecutor(8) as threads:
        jobs = [job for worked in threads.map(works, range(8)) for job in worked]
    with app:
        assert sorted(app.get(job).input["n"] for job in jobs) == list(range(200))
    assert len(made) == 1


def test_a_fork_makes_a_connection_of_its_own_and_leaves_its_parents_alone(database: str) -> None:
    app = SyncKairos(database)

    @app.job
    def greet(n: int) -> int:
        return n

    with app:
        backend = app.store.open().info.backend_pid
        child = os.fork()
        if child == 0:
            code = 1
            try:
                greet.enqueue(n=1)
                code = 0 if app.store.open().info.backend_pid != backend else 2
                app.close()
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        if (another := os.fork()) == 0:
            app.close()  # what it never opened
            os._exit(0)
        os.waitpid(another, 0)
        assert greet.enqueue(n=2).is_new
        assert app.store.open().info.backend_pid == backend
        assert sorted(job.input["n"] for job in app.jobs()) == [1, 2]
