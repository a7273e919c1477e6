"""What Kairos says about a slip: which word, and which one was meant."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
from datetime import timedelta
from typing import Any, cast

import pytest

from kairos import Backoff, Context, Kairos, SyncKairos, step
from kairos.errors import BadDefinition, BadRequest, KairosError
from kairos.testing import drain


def said(wrong: Any) -> str:
    with pytest.raises(KairosError) as refused:
        wrong()
    return refused.value.message


def test_a_misspelled_option_is_named_with_the_one_that_was_meant(app: Kairos) -> None:
    echo = app.action("echo")
    assert said(lambda: echo.options(quue="mail")) == "There is no option 'quue'. Did you mean 'queue'?"
    assert said(lambda: app.job(name="x", priorty=1)(lambda: None)).endswith("Did you mean 'priority'?")
    assert said(lambda: echo.options(actor="me")).startswith("There is no option 'actor'. Known: ")
    assert said(lambda: app.schedule("every day at 9am", overlp="skip")).endswith("Did you mean 'overlap'?")


def test_an_option_among_the_arguments_is_told_where_it_goes(app: Kairos) -> None:
    @app.job
    async def deliver(user_id: int) -> None: ...

    assert said(lambda: deliver.call(user_id=1, priority=2)) == (  # type: ignore[call-arg]
        "deliver takes no argument 'priority', which is an option: write deliver.options(priority=…).enqueue(…)."
    )
    assert said(lambda: deliver.call(user=1)) == "deliver takes no argument 'user'. Did you mean 'user_id'?"  # type: ignore[call-arg]


async def test_a_misspelled_action_and_filter_are_named_with_those_that_were_meant(app: Kairos) -> None:
    assert said(lambda: app.action("ecko")) == "No action is called 'ecko'. Did you mean 'echo'?"
    with pytest.raises(BadRequest, match=r"no filter 'stat'\. Did you mean 'state'\?$"):
        await app.jobs(stat="failed")


def test_decorators_in_the_wrong_order_are_told_the_right_one(app: Kairos) -> None:
    def nightly() -> None: ...

    class Order:
        @step
        async def go(self, ctx: Any) -> None: ...

    assert said(lambda: app.job(app.schedule("every day at 9am")(nightly))) == (  # type: ignore[arg-type,type-var]
        f"@app.schedule decorates {nightly.__qualname__}, which is no action yet: write @app.schedule(…) above "
        "@app.job or @app.machine(…)."
    )
    assert "is an action already" in said(lambda: app.job(app.job(nightly)))
    assert "@app.job takes a function, not" in said(lambda: app.job(Order))
    assert "@step marks a method of a class" in said(lambda: app.job(Order.go))
    assert "@app.machine takes a class" in said(lambda: app.machine("m")(nightly))  # type: ignore[arg-type]


def test_a_generator_is_refused_since_it_would_never_run(app: Kairos) -> None:
    def numbers() -> Any:
        yield 1

    with pytest.raises(BadDefinition, match="is a generator, which would never run"):
        app.job(numbers)


async def test_a_traceback_begins_with_the_code_of_the_user(app: Kairos) -> None:
    @app.job
    async def on_the_loop() -> None:
        int("x")

    @app.job
    def in_a_thread() -> None:
        int("x")

    for action in (on_the_loop, in_a_thread):
        job = await action.enqueue()
        await drain(app)
        (line,) = await app.logs(job.id)
        frames = [row for row in line.fields["stack"].splitlines() if row.startswith("  File ")]
        assert len(frames) == 1, line.fields["stack"]
        assert "test_messages.py" in frames[0]


def test_a_machine_without_a_name_is_refused_where_it_stands(app: Kairos) -> None:
    class Order:
        @step
        async def go(self, ctx: Any) -> None: ...

    assert said(lambda: app.machine(Order)) == (  # type: ignore[arg-type]
        f'@app.machine decorates {Order.__qualname__} without a name: write @app.machine("order").'
    )


def test_a_method_is_no_job(app: Kairos) -> None:
    class Mailer:
        async def send(self, user_id: int) -> None: ...

    assert said(lambda: app.job(Mailer.send)).startswith(
        "Job 'send' takes 'self', which no caller can give: "
    )


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("max_retries", "retry=Backoff(attempts=…), which counts the first execution too"),
        ("retries", "retry=Backoff(attempts=…), which counts the first execution too"),
        ("countdown", 'delay="10m"'),
        ("eta", "run_at=…"),
        ("expires", 'ttl="1h"'),
    ],
)
def test_an_option_of_another_library_is_told_what_it_is_here(app: Kairos, name: str, meant: str) -> None:
    options: dict[str, Any] = {name: 3}
    assert (
        said(lambda: app.job(name="act", **options)(lambda: None))
        == f"There is no option {name!r}. Write {meant}."
    )
    assert (
        said(lambda: app.action("echo").options(**options)) == f"There is no option {name!r}. Write {meant}."
    )


def test_a_method_of_another_librarys_task_is_told_what_it_is_here(app: Kairos) -> None:
    echo: Any = app.action("echo")
    with pytest.raises(AttributeError, match=r"^An action has no 'delay': write echo\.enqueue\(…\)"):
        echo.delay("x")
    with pytest.raises(AttributeError, match=r"^An action has no 'nothing'\.$"):
        echo.nothing()
    assert copy.copy(echo).name == "echo"


def test_a_misspelled_option_of_a_worker_is_named_with_the_one_that_was_meant(app: Kairos) -> None:
    assert (
        said(lambda: app.worker(queue=["mail"])) == "A worker has no option 'queue'. Did you mean 'queues'?"
    )
    assert said(lambda: app.worker(concurency=3)).endswith("Did you mean 'concurrency'?")


def test_attempts_that_are_no_number_are_shown_as_they_were_given() -> None:
    wrong: Any = "3"
    assert said(lambda: Backoff(attempts=wrong)).startswith(
        "attempts of Backoff is '3'; it must be a whole number"
    )


def test_a_context_that_is_not_the_first_argument_is_told_where_it_goes(app: Kairos) -> None:
    async def late(user_id: int, ctx: Context) -> None: ...

    async def maybe(ctx: Context | None, user_id: int) -> None: ...

    assert said(lambda: app.job(late)) == (
        "Job 'late': the context must be the first argument, annotated as Context: write late(ctx: Context, …)."
    )
    assert said(lambda: app.job(maybe)).startswith("Job 'maybe': the context must be the first argument")


def test_a_machine_that_could_never_run_is_refused_where_it_stands(app: Kairos) -> None:
    class Told:
        @step(initial=True, to="ship")  # type: ignore[arg-type]
        async def charge(self, ctx: Any) -> None: ...

        @step
        async def ship(self, ctx: Any) -> None: ...

    class Bare:
        @step
        async def go(self) -> None: ...

    class Made:
        def __init__(self, bank: str) -> None: ...

        @step
        async def go(self, ctx: Any) -> None: ...

    assert said(lambda: app.machine("told")(Told)) == (
        "Step 'charge' of 'told' leads to 'ship'; give a list: to=['ship']."
    )
    assert said(lambda: app.machine("bare")(Bare)) == (
        "Step 'go' of 'bare' must take self and ctx: write def go(self, ctx)."
    )
    assert said(lambda: app.machine("made")(Made)) == (
        "Machine 'made' is made without arguments, and its __init__ needs some (missing a required argument: 'bank'): "
        "keep what belongs to one job in its State."
    )


async def test_an_operation_that_was_not_awaited_is_named_in_pythons_warning(app: Kairos) -> None:
    with pytest.warns(RuntimeWarning, match=r"^coroutine 'Kairos\.enqueue' was never awaited"):
        app.action("echo").enqueue("lost")
        gc.collect()


def test_a_schedule_without_an_argument_of_its_action_is_told_how_to_give_it(app: Kairos) -> None:
    @app.job
    async def remind(user_id: int) -> None: ...

    assert said(lambda: app.schedule("every day at 9am")(remind)) == (
        "remind: argument 'user_id' is missing. A schedule gives its arguments as input={…}."
    )


def test_a_schedule_without_a_time_is_refused_where_it_stands(app: Kairos) -> None:
    @app.job
    def nightly() -> None: ...

    wrong: Any = app.schedule
    for target in (nightly, test_a_schedule_without_a_time_is_refused_where_it_stands):
        assert said(lambda target=target: wrong(target)).endswith(
            ' without a time: write @app.schedule("every day at 09:00"), with your own time.'
        )


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("max_retries", "Write attempts=…, which counts the first execution too."),
        ("max_delay", "Write cap=…, the longest delay."),
        ("attemps", "Did you mean 'attempts'?"),
    ],
)
def test_an_argument_that_backoff_does_not_have_is_told_what_it_is_here(name: str, meant: str) -> None:
    given: dict[str, Any] = {name: 3}
    assert said(lambda: Backoff(**given)) == f"Backoff has no {name!r}. {meant}"
    assert copy.copy(Backoff(3)) == pickle.loads(pickle.dumps(Backoff(3))) == Backoff(attempts=3)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("task", ": write @app.job."),
        ("cron", ': write @app.schedule("every day at 09:00") above @app.job.'),
        ("enque", ". Did you mean 'enqueue'?"),
        ("xyzzy", "."),
    ],
)
def test_an_attribute_that_an_app_does_not_have_is_told_what_it_is_here(
    app: Kairos, name: str, hint: str
) -> None:
    with pytest.raises(AttributeError) as refused:
        getattr(app, name)
    assert str(refused.value) == f"An app has no {name!r}{hint}"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("get", ": write app.result(job.id), or the action's own result(job)."),
        ("status", ": write job.state."),
        ("atempt", ". Did you mean 'attempt'?"),
    ],
)
async def test_an_attribute_that_a_job_does_not_have_is_told_what_it_is_here(
    app: Kairos, name: str, hint: str
) -> None:
    job = await app.action("echo").enqueue("x")
    with pytest.raises(AttributeError) as refused:
        getattr(job, name)
    assert str(refused.value) == f"A job has no {name!r}{hint}"
    assert copy.deepcopy(job) == job


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({}, '@app.schedule has no time: write @app.schedule("every day at 09:00").'),
        ({"cron": "0 9 * * *"}, 'Write the time as the first argument, such as "0 9 * * *".'),
        ({"when": "every day at 9am", "kwargs": {}}, "Write input={…}, the arguments by name."),
        ({"when": timedelta(hours=1)}, "it must be text, such as 'every 5 minutes'."),
    ],
    ids=["nothing", "cron", "arguments", "no text"],
)
def test_a_schedule_is_told_where_its_time_and_arguments_go(
    app: Kairos, options: dict[str, Any], hint: str
) -> None:
    assert said(lambda: app.schedule(**options)).endswith(hint)


async def test_an_app_of_the_other_kind_says_how_it_is_opened(app: Kairos, sync_app: SyncKairos) -> None:
    mistaken, sync_mistaken = cast("Any", app), cast("Any", sync_app)
    with pytest.raises(TypeError, match=r"^This app is async: write `async with app:`"), mistaken:
        pass
    with pytest.raises(TypeError, match=r"^This app is a SyncKairos: write `with app:`"):
        async with sync_mistaken:
            pass


@pytest.mark.parametrize("setting", ["database_url", "direct_url"])
def test_a_url_of_sqlalchemy_is_told_what_to_leave_out(setting: str) -> None:
    assert said(lambda: Kairos(**{setting: "postgresql+asyncpg://me@db/shop"})) == (
        f"{setting} names a driver, postgresql+asyncpg, as SQLAlchemy does: leave out +asyncpg."
    )


@pytest.mark.parametrize(
    "url",
    [
        "",
        "redis://localhost",
        "mysql://localhost/shop",
        "postgres:/shop",
        "localhost:5432/shop",
        b"postgresql://db/shop",
    ],
)
def test_a_url_that_names_no_postgres_is_refused_where_it_stands(url: Any) -> None:
    assert said(lambda: Kairos(url)) == (
        "The database URL is not understood: write postgresql://user:password@host:5432/name, "
        "with special characters percent-encoded."
    )


async def test_an_argument_that_a_method_does_not_have_is_named(app: Kairos) -> None:
    @app.job
    async def deliver(user_id: int) -> None: ...

    hint = (
        "The arguments of an action go to the action: write deliver.enqueue(user_id=7), or "
        "app.enqueue(deliver.call(user_id=7))."
    )
    for first in (deliver, "deliver"):
        assert said(lambda first=first: app.enqueue(first, user_id=7)) == (
            f"Kairos.enqueue takes no argument 'user_id'. {hint}"
        )
    assert said(lambda: app.cancel(1, resaon="x")) == (  # type: ignore[call-arg]
        "Kairos.cancel takes no argument 'resaon'. Did you mean 'reason'?"
    )
    assert said(lambda: app.get()) == "Kairos.get: missing a required argument: 'job_id'."  # type: ignore[call-arg]
    assert said(lambda: app.limit("mail", 10)) == (  # type: ignore[call-arg]
        "Kairos.limit: too many positional arguments. Only queue may stand without a name."
    )
    assert said(lambda: app.get(1, 2)) == "Kairos.get: too many positional arguments."  # type: ignore[call-arg]


@pytest.mark.parametrize(("written", "meant"), [("schedul", "schedule"), ("delay", "enqueue")])
def test_a_traceback_suggests_once_what_was_meant_by_an_attribute(written: str, meant: str) -> None:
    program = f"from kairos import Kairos; Kairos('postgresql:///x').{written}"
    if written == "delay":
        program = (
            "from kairos import Kairos\napp = Kairos('postgresql:///x')\n@app.job\ndef f(): ...\nf.delay(7)"
        )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    last = ended.stderr.strip().splitlines()[-1]
    assert meant in last and last.count("Did you mean") == (written == "schedul"), last


async def test_an_app_that_is_mounted_or_served_itself_says_what_to_mount(
    app: Kairos, sync_app: SyncKairos
) -> None:
    for given in (app, sync_app):
        with pytest.raises(TypeError) as refused:
            given({"type": "http"}, None, None)  # type: ignore[operator]
        assert str(refused.value) == (
            "A Kairos app is no web app itself: mount or serve app.asgi(), or run `kairos serve`."
        )


@pytest.mark.parametrize("given", [(), ("app:app",), (print,)], ids=["nothing", "text", "a function"])
def test_run_without_an_operation_says_what_runs_jobs(
    app: Kairos, sync_app: SyncKairos, given: tuple[Any, ...]
) -> None:
    for mistaken in (cast("Any", app), cast("Any", sync_app)):
        assert said(lambda mistaken=mistaken: mistaken.run(*given)) == (
            f"{type(mistaken).__name__}.run runs one operation of kairos.operations, such as operations.get(1). "
            "To run jobs, use `kairos worker module:app` in a shell, or `async with app, app.worker():`."
        )


def test_a_service_that_is_mounted_without_being_made_says_what_to_write(app: Kairos) -> None:
    mounted = cast("Any", app.asgi)
    for given in (({"type": "http"}, None, None), ({"type": "http"},)):  # ASGI 3, and 2
        with pytest.raises(TypeError) as refused:
            mounted(*given)
        assert str(refused.value) == (
            'app.asgi makes the web app and is none itself: write outer.mount("/kairos", app.asgi()), '
            "or `uvicorn --factory module:app.asgi`."
        )


@pytest.mark.parametrize(
    ("redact", "message"),
    [
        ("card", "redact of 'pay' is 'card'; give a list of arguments."),
        (["crad"], "redact of 'pay' names 'crad', but it has no argument 'crad'. Did you mean 'card'?"),
        (
            ["crad.number"],
            "redact of 'pay' names 'crad.number', but it has no argument 'crad'. Did you mean 'card'?",
        ),
    ],
)
def test_a_misspelled_redaction_is_refused_since_it_would_hide_nothing(
    app: Kairos, redact: Any, message: str
) -> None:
    def pay(card: dict[str, str]) -> None: ...

    assert said(lambda: app.job(redact=redact)(pay)) == message
    assert app.job(redact=["card.number", "session"])(pay).machine.redact == {"card.number", "session"}


def test_what_has_no_name_or_no_instance_is_no_job(app: Kairos) -> None:
    class Mailer:
        @classmethod
        def send(cls) -> None: ...

    assert said(lambda: app.job(lambda: None)) == (
        "@app.job decorates a lambda, which has no name: give it one, name=…, or use def."
    )
    assert said(lambda: app.job(vars(Mailer)["send"])) == (
        f"@app.job decorates {Mailer.send.__qualname__}, a class method: decorate a function outside of a class."
    )
    assert said(lambda: cast("Any", app).machine()) == (
        '@app.machine has no name: write @app.machine("order").'
    )


def test_a_misspelled_option_of_a_step_is_named_with_the_one_that_was_meant() -> None:
    assert said(lambda: step(intial=True)) == "@step has no option 'intial'. Did you mean 'initial'?"  # type: ignore[call-overload]


def test_a_policy_that_was_not_made_is_no_policy(app: Kairos) -> None:
    assert said(lambda: app.job(name="act", retry=cast("Any", Backoff))(lambda: None)).endswith(
        "give a policy such as Backoff(attempts=5)."
    )


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("queues", 5),
        ("queues", [""]),
        ("concurrency", "x"),
        ("poll", "quick"),
        ("grace", -1),
        ("retention", []),
    ],
)
def test_a_worker_refuses_a_setting_before_it_starts(app: Kairos, option: str, value: Any) -> None:
    assert said(lambda: app.worker(**{option: value})).startswith(f"{option} is ")


async def test_one_call_is_no_list_of_calls(app: Kairos) -> None:
    with pytest.raises(
        BadRequest, match=r"^Enqueue many calls as a list, such as \[send\.call\(user_id=7\)\]"
    ):
        await app.enqueue_many(cast("Any", app.action("echo").call("x")))


@pytest.mark.parametrize(("name", "command"), [("worker", "kairos worker"), ("asgi", "kairos serve")])
def test_what_a_sync_app_does_not_have_is_told_where_it_is(
    sync_app: SyncKairos, name: str, command: str
) -> None:
    with pytest.raises(AttributeError) as refused:
        getattr(sync_app, name)
    message = str(refused.value)
    assert message.startswith(f"A SyncKairos has no '{name}': write `{command}")
    assert message.endswith(" in a shell, or make it a Kairos.")
