"""The table of requests: what a client may do to an existing job.

A request is not a transition. Some make one (`cancel`, `run_now`), some do not (`edit`, `signal`), `retry` makes
another job. `Job.can`, the 409 answers, the bulk requests, the scopes of the routes, the buttons of the dashboard, the
help of the command line and the reference are read from this table or rendered from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kairos.fsm.lifecycle import LIVE, TERMINAL, TRANSITIONS, JobState, Transition, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """One row of the table. The client may give `fields`; the code that runs the statement adds `context`.

    With `in_bulk`, the statement takes an array of ids, then the fields, then the context. It returns a row for each
    id with `id`, `state` and `done`, and optionally `why` (the reason for a refusal in a state that allows the
    request), `queue` (to notify), `running` (was asked to stop) and `freed_key` (the partition key that it freed).
    """

    name: str  # in `Job.can` and of the Python method; with dashes, in the CLI and in the URL
    label: str  # of its button
    help: str  # what it does, for the command line and the reference
    effect: str  # what happens to the jobs, for a person who is about to confirm it
    done: str  # the participle in "job 7 cannot be …" and "job 7 is …"
    statement: str
    verb: Verb | None = None  # the transition that it causes
    sources: tuple[JobState, ...] = ()  # states that allow it, besides the sources of `verb`
    scope: Literal["enqueue", "operate"] = "operate"
    method: Literal["POST", "PATCH", "DELETE"] = "POST"
    suffix: str | None = None  # of the path, if it is not the name
    fields: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    in_bulk: bool = True
    dangerous: bool = False  # it ends or destroys work: people are asked to confirm it

    @property
    def transition(self) -> Transition | None:
        """The transition that the request causes, if any."""
        return next((row for row in TRANSITIONS if row.verb == self.verb), None)

    @property
    def target(self) -> JobState | None:
        """The state that it leads to."""
        return None if self.transition is None else self.transition.target

    @property
    def allowed_in(self) -> tuple[JobState, ...]:
        """The states that it is allowed in."""
        moves = () if self.transition is None else self.transition.sources
        return tuple(state for state in JobState if state in moves or state in self.sources)

    @property
    def word(self) -> str:
        """Its name as one word of a URL or a command."""
        return self.name.replace("_", "-")

    @property
    def path(self) -> str:
        """Its path over HTTP."""
        return f"/api/jobs/{{id}}{f'/{self.word}' if self.suffix is None else self.suffix}"


# In the order in which they are shown: requests that end or delete jobs come last.
_TABLE = (
    JobRequest(
        name="edit",
        label="Change",
        help="Change how a job that waits for a worker is scheduled.",
        effect="What is left out stays as it is.",
        done="changed",
        statement="edit_job",
        sources=(JobState.SCHEDULED, JobState.PENDING),
        method="PATCH",
        suffix="",
        fields=("priority", "queue", "tags", "run_at", "ttl", "expires_at"),
        in_bulk=False,
    ),
    JobRequest(
        name="run_now",
        label="Run now",
        help="Bring a scheduled job's time forward to now.",
        effect="It is due now instead of later.",
        done="brought forward",
        statement="run_jobs_now",
        verb=Verb.RUN_NOW,
        context=("actor",),
    ),
    JobRequest(
        name="snooze",
        label="Snooze",
        help="Postpone a job that waits for a worker.",
        effect="It is due later. When it expires does not change.",
        done="snoozed",
        statement="snooze_jobs",
        verb=Verb.SNOOZE,
        fields=("delay", "until", "reason"),
        context=("actor",),
    ),
    JobRequest(
        name="retry",
        label="Retry",
        help="Make a new job from one that ended.",
        effect="A new job does the same again, and names the old one.",
        done="retried",
        statement="retry_jobs",
        sources=TERMINAL,
        context=("actor", "request_id", "step", "ttl", "trace"),
    ),
    JobRequest(
        name="signal",
        label="Signal",
        help="Send a signal to a job.",
        effect="A job that waits for the signal goes on; any other keeps it in its inbox.",
        done="sent a signal",
        statement="deliver_signal",
        sources=LIVE,
        scope="enqueue",
        suffix="/signals",
        fields=("name", "payload", "dedup_key"),
        in_bulk=False,
    ),
    JobRequest(
        name="cancel",
        label="Cancel",
        help="Cancel a job before it runs, or ask a running one to stop.",
        effect="A job that waits ends at once and never runs; a running one is asked to stop at its next checkpoint.",
        done="cancelled",
        statement="cancel_jobs",
        verb=Verb.CANCEL,
        sources=(JobState.RUNNING,),  # the step ends it, by `yield`
        fields=("reason",),
        context=("actor",),
        dangerous=True,
    ),
    JobRequest(
        name="delete",
        label="Delete",
        help="Delete a job that ended, with its history, signals and logs.",
        effect="Its input, output, log and history are gone for good.",
        done="deleted",
        statement="delete_jobs",
        sources=TERMINAL,
        method="DELETE",
        suffix="",
        dangerous=True,
    ),
)

REQUESTS: dict[str, JobRequest] = {request.name: request for request in _TABLE}
# The requests that move a job, by the state they lead to.
REQUEST_BY_TARGET: dict[JobState, JobRequest] = {
    request.target: request for request in _TABLE if request.target is not None
}
_CAN = {state: tuple(request.name for request in _TABLE if state in request.allowed_in) for state in JobState}


def can(current: JobState | str) -> tuple[str, ...]:
    """The names of the requests that are allowed for a job in this state, in the table's order."""
    return _CAN[JobState(current)]
