"""Every error Kairos raises on purpose, as one tree.

    KairosError
    ├── ConfigError             a setting is missing or makes no sense
    │   ├── NoDatabase          no database is named, and none is in this folder or above
    │   ├── NoPostgres          no Postgres binary was found for the embedded server
    │   └── MissingExtra        an optional part of Kairos is not installed
    ├── SchemaMismatch          the code and the database schema do not fit
    ├── PlanUnreadable          a stored schedule plan that this release cannot read
    ├── DatabaseUnavailable     Postgres cannot be reached, or cannot be written to
    │   ├── NoStandby           the settings require a synchronous standby, and the server has none
    │   ├── StandbyAway         commits wait for a synchronous standby that is away
    │   └── MigrationBlocked    another transaction keeps the tables locked that a migration changes
    ├── BadRequest              the request is wrong, and would be at any time
    │   ├── UnknownAction       no machine of that name and version is registered
    │   ├── BadArguments        the arguments do not fit the machine's signature
    │   ├── BadValue            a value that does not survive a round trip through JSON and jsonb
    │   ├── BadDefinition       a machine or a step is declared wrongly
    │   ├── BadCursor           a cursor that no list returned
    │   ├── TooManyQueues       a new queue, but there are as many as the service allows
    │   ├── EgressRefused       an outgoing call that the egress policy does not allow
    │   └── IntentError         a "when" that is not fully understood (kairos.schedule)
    ├── NotFound                no such job
    ├── Conflict                it cannot be done to this job in its present state
    │   ├── InvalidTransition   the lifecycle has no such edge
    │   ├── Duplicate           the unique key is taken
    │   └── InboxFull           the job's inbox holds as many signals as it may
    ├── EgressFailed            an outgoing call was allowed, but failed
    ├── Refused                 the service does not let the request in
    │   ├── Unauthorized        no valid key or session came with it
    │   ├── Forbidden           the key lacks the scope, or it came from another site
    │   ├── TooLarge            its body is larger than the limit
    │   ├── TooSlow             its body did not come in time
    │   ├── NotJson             its body is not declared as JSON
    │   ├── Misdirected         it was meant for another host
    │   └── TooManyRequests     its caller asks too often
    ├── Unreachable             the service did not answer a KairosClient
    ├── NotFinished             the result did not come within the time given
    ├── JobFailed               the job ended, but not in success
    └── StepError               what the worker records when a step breaks its contract
        ├── BadOutcome          it returned something that is not an outcome
        ├── UnknownStep         it named a step that its machine does not have
        ├── StepTimeout         it ran longer than its timeout
        ├── StepProcessDied     the process it ran in died
        ├── StepTaskLost        the cluster it ran on lost it, again and again
        ├── RunnerUnavailable   the cluster it runs on cannot be used: its job is handed back
        ├── JobSetAside         Postgres refuses to read or write this job
        ├── UnexpectedStatus    the built-in `http` got a status that was not expected
        └── CommandFailed       the built-in `command` ended with another code than 0

Each class knows its `code` (stable, for programs), `http_status` and `exit_code`. A message is
one sentence: what happened, to which thing, and what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta


class KairosError(Exception):
    """The root of all errors that Kairos raises on purpose."""

    code: ClassVar[str] = "ERROR"
    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1

    @property
    def message(self) -> str:
        return str(self.args[0]) if self.args else type(self).__name__


class ConfigError(KairosError):
    code = "CONFIG"
    exit_code = 78


class NoDatabase(ConfigError):
    code = "NO_DATABASE"


class NoPostgres(ConfigError):
    code = "NO_POSTGRES"


class MissingExtra(ConfigError):
    code = "MISSING_EXTRA"


class SchemaMismatch(KairosError):
    code = "SCHEMA_MISMATCH"
    http_status = 503
    exit_code = 78


class PlanUnreadable(KairosError):
    """A newer release stored the plan, or it is damaged; `version` is its format version, if it has one."""

    code = "PLAN_UNREADABLE"
    http_status = 503
    exit_code = 78

    def __init__(self, message: str, version: int | None = None) -> None:
        super().__init__(message)
        self.version = version


class DatabaseUnavailable(KairosError):
    code = "UNAVAILABLE"
    http_status = 503
    exit_code = 69


class NoStandby(DatabaseUnavailable):
    code = "NO_STANDBY"


class StandbyAway(DatabaseUnavailable):
    code = "STANDBY_AWAY"


class MigrationBlocked(DatabaseUnavailable):
    code = "MIGRATION_BLOCKED"
    exit_code = 75


class BadRequest(KairosError):
    """`field` names the argument at fault, where one can be named; `index` its place in a batch."""

    code = "INVALID"
    http_status = 422
    exit_code = 64
    index: int | None = None

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class UnknownAction(BadRequest):
    code = "UNKNOWN_ACTION"


class BadArguments(BadRequest):
    code = "BAD_ARGUMENTS"


class BadValue(BadRequest):
    code = "BAD_VALUE"


class BadDefinition(BadRequest):
    code = "BAD_DEFINITION"


class EgressRefused(BadRequest):
    code = "EGRESS_REFUSED"


class BadCursor(BadRequest):
    code = "BAD_CURSOR"


class TooManyQueues(BadRequest):
    code = "TOO_MANY_QUEUES"


class NotFound(KairosError):
    code = "NOT_FOUND"
    http_status = 404
    exit_code = 66


class Conflict(KairosError):
    code = "CONFLICT"
    http_status = 409
    exit_code = 65


class InvalidTransition(Conflict):
    """`current` and `target` are job states; `allowed` are the requests that its state allows."""

    code = "INVALID_TRANSITION"

    def __init__(self, message: str, *, current: str, target: str, allowed: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.current = current
        self.target = target
        self.allowed = tuple(allowed)


class Duplicate(Conflict):
    """`job` is the one that holds the key."""

    code = "DUPLICATE"

    def __init__(self, message: str, *, job: Any) -> None:
        super().__init__(message)
        self.job = job


class InboxFull(Conflict):
    code = "INBOX_FULL"


class EgressFailed(KairosError):
    code = "EGRESS_FAILED"
    http_status = 502
    exit_code = 69


class Refused(KairosError):
    code = "REFUSED"
    http_status = 400
    exit_code = 77


class Unauthorized(Refused):
    code = "UNAUTHORIZED"
    http_status = 401


class Forbidden(Refused):
    code = "FORBIDDEN"
    http_status = 403


class TooLarge(Refused):
    code = "TOO_LARGE"
    http_status = 413


class TooSlow(Refused):
    code = "TOO_SLOW"
    http_status = 408


class NotJson(Refused):
    code = "UNSUPPORTED_MEDIA_TYPE"
    http_status = 415


class Misdirected(Refused):
    code = "MISDIRECTED"
    http_status = 421


class TooManyRequests(Refused):
    """`retry_after` is in seconds."""

    code = "TOO_MANY_REQUESTS"
    http_status = 429

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unreachable(KairosError):
    code = "UNREACHABLE"
    http_status = 503
    exit_code = 69


class NotFinished(KairosError):
    code = "NOT_FINISHED"
    http_status = 408
    exit_code = 75


class JobFailed(KairosError):
    """`job` is the job as it ended."""

    code = "JOB_FAILED"
    exit_code = 70

    def __init__(self, message: str, *, job: Any) -> None:
        super().__init__(message)
        self.job = job


class StepError(KairosError):
    code = "STEP_ERROR"


class BadOutcome(StepError):
    code = "BAD_OUTCOME"


class UnknownStep(StepError):
    code = "UNKNOWN_STEP"


class StepTimeout(StepError):
    code = "STEP_TIMEOUT"


class StepProcessDied(StepError):
    code = "STEP_PROCESS_DIED"


class StepTaskLost(StepError):
    code = "STEP_TASK_LOST"


class RunnerUnavailable(StepError):
    """A cluster cannot run the step now: its job is released, and due again after `pause`. It never fails a job."""

    code = "RUNNER_UNAVAILABLE"

    def __init__(self, message: str, pause: timedelta) -> None:
        super().__init__(message)
        self.pause = pause


class JobSetAside(StepError):
    code = "JOB_SET_ASIDE"


class UnexpectedStatus(StepError):
    code = "UNEXPECTED_STATUS"


class CommandFailed(StepError):
    code = "COMMAND_FAILED"
