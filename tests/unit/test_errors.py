"""One error tree: every class knows its code, its HTTP status and its exit code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kairos import errors
from kairos.errors import Duplicate, InvalidTransition, JobFailed, KairosError

# code, HTTP status, exit code: programs rely on all three.
TREE = {
    "KairosError": ("ERROR", 500, 1),
    "ConfigError": ("CONFIG", 500, 78),
    "NoDatabase": ("NO_DATABASE", 500, 78),
    "NoPostgres": ("NO_POSTGRES", 500, 78),
    "MissingExtra": ("MISSING_EXTRA", 500, 78),
    "SchemaMismatch": ("SCHEMA_MISMATCH", 503, 78),
    "PlanUnreadable": ("PLAN_UNREADABLE", 503, 78),
    "DatabaseUnavailable": ("UNAVAILABLE", 503, 69),
    "NoStandby": ("NO_STANDBY", 503, 69),
    "StandbyAway": ("STANDBY_AWAY", 503, 69),
    "MigrationBlocked": ("MIGRATION_BLOCKED", 503, 75),
    "BadRequest": ("INVALID", 422, 64),
    "UnknownAction": ("UNKNOWN_ACTION", 422, 64),
    "BadArguments": ("BAD_ARGUMENTS", 422, 64),
    "BadValue": ("BAD_VALUE", 422, 64),
    "BadDefinition": ("BAD_DEFINITION", 422, 64),
    "BadCursor": ("BAD_CURSOR", 422, 64),
    "TooManyQueues": ("TOO_MANY_QUEUES", 422, 64),
    "EgressRefused": ("EGRESS_REFUSED", 422, 64),
    "NotFound": ("NOT_FOUND", 404, 66),
    "Conflict": ("CONFLICT", 409, 65),
    "InvalidTransition": ("INVALID_TRANSITION", 409, 65),
    "Duplicate": ("DUPLICATE", 409, 65),
    "InboxFull": ("INBOX_FULL", 409, 65),
    "Refused": ("REFUSED", 400, 77),
    "Unauthorized": ("UNAUTHORIZED", 401, 77),
    "Forbidden": ("FORBIDDEN", 403, 77),
    "TooLarge": ("TOO_LARGE", 413, 77),
    "TooSlow": ("TOO_SLOW", 408, 77),
    "NotJson": ("UNSUPPORTED_MEDIA_TYPE", 415, 77),
    "Misdirected": ("MISDIRECTED", 421, 77),
    "TooManyRequests": ("TOO_MANY_REQUESTS", 429, 77),
    "EgressFailed": ("EGRESS_FAILED", 502, 69),
    "Unreachable": ("UNREACHABLE", 503, 69),
    "NotFinished": ("NOT_FINISHED", 408, 75),
    "JobFailed": ("JOB_FAILED", 500, 70),
    "StepError": ("STEP_ERROR", 500, 1),
    "BadOutcome": ("BAD_OUTCOME", 500, 1),
    "UnknownStep": ("UNKNOWN_STEP", 500, 1),
    "StepTimeout": ("STEP_TIMEOUT", 500, 1),
    "StepProcessDied": ("STEP_PROCESS_DIED", 500, 1),
    "StepTaskLost": ("STEP_TASK_LOST", 500, 1),
    "RunnerUnavailable": ("RUNNER_UNAVAILABLE", 500, 1),
    "JobSetAside": ("JOB_SET_ASIDE", 500, 1),
    "UnexpectedStatus": ("UNEXPECTED_STATUS", 500, 1),
    "CommandFailed": ("COMMAND_FAILED", 500, 1),
}


def tree(root: type[KairosError]) -> Iterator[type[KairosError]]:
    yield root
    for child in root.__subclasses__():
        yield from tree(child)


def here() -> dict[str, type[KairosError]]:
    return {each.__name__: each for each in tree(KairosError) if each.__module__ == errors.__name__}


def test_every_error_has_its_code_http_status_and_exit_code() -> None:
    found = {name: (each.code, each.http_status, each.exit_code) for name, each in here().items()}
    assert found == TREE


def test_no_two_errors_share_a_code() -> None:
    codes = [each.code for each in here().values()]
    assert len(set(codes)) == len(codes)


def test_the_drawing_of_the_tree_shows_every_error_under_its_parent() -> None:
    drawn: dict[str, str] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"    ([│ ]*[├└]── )?([A-Z]\w+)", line):
            depth = len(found[1] or "") // 4
            path = [*path[:depth], found[2]]
            drawn[found[2]] = path[depth - 1] if depth else "Exception"
    drawn.pop("IntentError", None)  # lives with the grammar it belongs to
    assert drawn == {name: each.__bases__[0].__name__ for name, each in here().items()}


def test_an_error_carries_what_its_catcher_needs() -> None:
    refused = InvalidTransition("no", current="success", target="cancelled", allowed=["retry"])
    assert (refused.current, refused.target, refused.allowed) == ("success", "cancelled", ("retry",))
    assert Duplicate("taken", job="the holder").job == "the holder"
    assert JobFailed("failed", job="the job").job == "the job"
    assert errors.BadRequest("bad", field="ttl").field == "ttl"


def test_a_message_is_what_was_said_or_the_name_of_the_error() -> None:
    assert KairosError("it broke").message == "it broke"
    assert errors.NotFound().message == "NotFound"
