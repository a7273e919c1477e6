"""A row that a constraint refuses is quoted by Postgres, with the redacted fields of its input."""

from __future__ import annotations

import traceback

import psycopg
import pytest
from tests.api.service_process import Served
from tests.captured_logs import capture_logs

from kairos import Kairos, SyncKairos

SECRET = "canary-7140"
CHECK = "alter table kairos.gen_durable add constraint no_such_queue check (queue <> 'refused') not valid"
NO_CHECK = "alter table kairos.gen_durable drop constraint no_such_queue"


@pytest.fixture
def refusing(database: str):  # type: ignore[no-untyped-def]
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(CHECK)
        yield
        connection.execute(NO_CHECK)


@pytest.mark.usefixtures("refusing")
async def test_a_refused_row_is_quoted_neither_in_the_answer_nor_in_the_log(
    served: Served, app: Kairos
) -> None:
    @app.job(redact=["token"])
    async def pay(token: str) -> None: ...

    body = {"action": "pay", "queue": "refused", "input": {"token": SECRET}}
    with capture_logs() as lines:
        for path, asked in (("/api/jobs", body), ("/api/jobs/batch", {"jobs": [{**body, "key": "a"}]})):
            answer = await served.http.post(path, json=asked)
            assert (answer.status_code, SECRET in answer.text) == (500, False)
    stacks = [line["stack"] for line in lines if "stack" in line]
    assert len(stacks) == 2
    assert all("no_such_queue" in stack for stack in stacks)
    assert SECRET not in str(lines)


@pytest.mark.usefixtures("refusing")
def test_a_refused_row_is_not_quoted_in_the_error_of_a_synchronous_call(database: str) -> None:
    with SyncKairos(database) as kairos:

        @kairos.job(redact=["token"])
        def pay(token: str) -> None: ...

        with pytest.raises(psycopg.errors.CheckViolation, match="no_such_queue") as found:
            kairos.enqueue(pay.options(queue="refused").call(SECRET))
    assert SECRET not in "".join(traceback.format_exception(found.value))
