"""The decision: what an outcome or an error does to a job. Pure: between the pick and the commit, no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from kairos import json_codec
from kairos.errors import BadOutcome, InboxFull, JobSetAside, KairosError, UnknownStep
from kairos.fsm.lifecycle import Status, Verb
from kairos.machine.call import Call
from kairos.machine.context import Context
from kairos.machine.definition import Machine
from kairos.machine.error_frame import own_frame
from kairos.machine.outcome import OUTCOMES, UNCHANGED, Await, Done, Next, Outcome, Replay, Stop
from kairos.worker.claim import Claim
from kairos.worker.error_groups import fingerprint

_AT_ONCE = timedelta(0)
_NAMES = [outcome.__name__ for outcome in OUTCOMES]
_ONE_OF_THEM = f"{', '.join(_NAMES[:-1])} or {_NAMES[-1]}"
# After this many steps on one claim a job goes back to its queue, so that other jobs get their turn.
MAX_STEPS_AHEAD = 16


@dataclass(slots=True)
class Settlement:
    """One row of the commit."""

    claim: Claim
    verb: Verb
    status: Status
    step: str | None = None
    state: str | None = None
    result: str | None = None
    delay: timedelta = _AT_ONCE
    error_code: str | None = None
    error: str | None = None
    awaits: tuple[str, ...] = ()
    timeout: timedelta | None = None
    then: str | None = None
    ahead: bool = False
    progress: str | None = None
    consumed: Sequence[int] = ()
    children: Sequence[Call] = ()
    error_group: str | None = None  # set if the job fails by it
    error_frame: str | None = None
    keep_state: bool = False
    replaces_refused: bool = False  # it replaces an outcome that Postgres refused
    in_doubt: bool = False  # it, or the outcome that it replaces, was sent before and may be committed

    @property
    def plain(self) -> bool:
        """Whether it is a Done with nothing but its result, which finish_jobs commits."""
        return (
            self.verb is Verb.DONE
            and self.error is None
            and self.progress is None
            and not self.consumed
            and not self.children
            and not self.keep_state
        )


def settle(
    claim: Claim,
    machine: Machine,
    returned: Any,
    error: BaseException | None = None,
    ctx: Context[Any] | None = None,
) -> Settlement:
    """Return what to commit for a step that `returned` a value, or whose `error` was handled with it.

    Anything that breaks the contract becomes a named failure; nothing raises from here.
    """
    try:
        if machine.plain and not machine.keep_states and error is None and not isinstance(returned, OUTCOMES):
            value = None if returned is None else machine.dump_result(returned)
            settlement = Settlement(claim, Verb.DONE, Status.DONE, result=value)
        else:
            settlement = _decide(claim, machine, _outcome(machine, claim, returned, error), error)
            settlement.keep_state = machine.keep_states
            if ctx is not None:
                _check_progress(claim, settlement, ctx)
        if ctx is not None and (ctx.taken or ctx.spawned or ctx.reported is not None):
            settlement.consumed = ctx.taken
            settlement.progress = ctx.reported
            if settlement.status is not Status.FAILED:
                settlement.children = [_child(claim, call, reply) for call, reply in ctx.spawned]
    except Exception as broken:  # noqa: BLE001 (an outcome holds what users put there)
        return failure(claim, broken)
    return settlement


def failure(claim: Claim, error: BaseException) -> Settlement:
    """Return the settlement that fails a job with an error that no policy handled."""
    code = error_code(error)
    ended = Settlement(claim, Verb.STOP, Status.FAILED, error_code=code, error=error_text(error))
    return _grouped(ended, code, error)


def set_aside(claim: Claim, what: str, error: BaseException) -> Settlement:
    """Return the settlement that fails a job which Postgres refuses to read or write, whichever worker tries."""
    return failure(claim, JobSetAside(f"{what}: {error_text(error)}"))


def release(claim: Claim, reason: str, delay: timedelta = _AT_ONCE) -> Settlement:
    """Return the settlement that puts a job back into its queue without counting the attempt."""
    return Settlement(claim, Verb.RELEASE, Status.RUNNABLE, delay=delay, error=reason)


def lost_connection(claim: Claim, error: BaseException, delay: timedelta = _AT_ONCE) -> Settlement:
    """Return the settlement that releases a job because the connection of `ctx.transaction()` was lost."""
    return release(claim, f"the connection of its transaction was lost: {error_text(error)}", delay)


def cancelled(claim: Claim, ctx: Context[Any] | None = None) -> Settlement:
    """Return the settlement that cancels a job whose step stopped after a cancel request."""
    if ctx is None:
        return Settlement(claim, Verb.YIELD, Status.CANCELLED)
    return Settlement(claim, Verb.YIELD, Status.CANCELLED, consumed=ctx.taken, progress=ctx.reported)


def error_code(error: BaseException) -> str:
    return error.code if isinstance(error, KairosError) else type(error).__name__


def error_text(error: BaseException) -> str:
    """Return the class and message of an error as text that can always be stored."""
    try:
        message = str(error)
    except Exception as mute:  # noqa: BLE001 (a user's __str__ may do anything)
        message = f"(its message cannot be read: {type(mute).__name__})"
    name = type(error).__name__
    return json_codec.printable(f"{name}: {message}" if message else name)


def _outcome(machine: Machine, claim: Claim, returned: Any, error: BaseException | None) -> Outcome:
    if isinstance(returned, OUTCOMES):
        return returned
    if error is not None:
        raise BadOutcome(
            f"handle of {machine.name!r} returned {type(returned).__name__}; "
            f"return {_ONE_OF_THEM}. The error was {error_text(error)}"
        )
    raise BadOutcome(
        f"Step {claim.step!r} of {machine.name!r} returned {type(returned).__name__}; return {_ONE_OF_THEM}."
    )


def _decide(claim: Claim, machine: Machine, outcome: Outcome, error: BaseException | None) -> Settlement:
    message = None if error is None else error_text(error)
    match outcome:
        case Done(result):
            value = None if result is None else machine.dump_result(result)
            return Settlement(claim, Verb.DONE, Status.DONE, result=value, error=message)
        case Next(step, state):
            _check_step(machine, claim, step)
            return Settlement(
                claim,
                Verb.NEXT,
                Status.RUNNABLE,
                step=step,
                state=_state(machine, state),
                error=message,
                ahead=machine.run_ahead and claim.steps_ahead < MAX_STEPS_AHEAD,
            )
        case Replay(state):
            return Settlement(
                claim,
                Verb.REPLAY if error is None else Verb.RETRY,
                Status.RUNNABLE,
                state=_state(machine, state),
                delay=outcome.wait,
                error_code=None if error is None else error_code(error),
                error=message,
            )
        case Await(names, state, _, then):
            if then is not None:
                _check_step(machine, claim, then, declared=False)
            return Settlement(
                claim,
                Verb.AWAIT,
                Status.AWAITING_SIGNAL,
                state=_state(machine, state),
                awaits=names,
                timeout=outcome.wait,
                then=then,
                error=message,
            )
        case Stop(reason):
            code = "STOPPED" if error is None else error_code(error)
            ended = Settlement(claim, Verb.STOP, Status.FAILED, error_code=code, error=_why(reason, message))
            return _grouped(ended, code, error)


def _grouped(ended: Settlement, code: str, error: BaseException | None) -> Settlement:
    """Return the failure of a job with the group of its error."""
    place, ended.error_frame = ("", None) if error is None else own_frame(error)
    ended.error_group = fingerprint(ended.claim.action, code, place)
    return ended


def _why(reason: Any, message: str | None) -> str:
    """Return the reason of a Stop, with the error that led to it if that says more."""
    given = json_codec.printable(str(reason))
    if message is None or given == message:
        return given
    return message if reason == Stop().reason else json_codec.printable(f"{given} (after {message})")


def _check_step(machine: Machine, claim: Claim, step: str, *, declared: bool = True) -> None:
    if step not in machine.steps:
        raise UnknownStep(
            f"Step {claim.step!r} of {machine.name!r} leads to {step!r}, which is not one of its steps."
        )
    allowed = machine.steps[claim.step].leads_to
    if declared and allowed is not None and step not in allowed:
        raise UnknownStep(
            f"Step {claim.step!r} of {machine.name!r} leads to {step!r}, but declares only "
            f"{', '.join(allowed) or 'none'}."
        )


def _check_progress(claim: Claim, settlement: Settlement, ctx: Context[Any]) -> None:
    """Refuse to park if the step takes no signal of an inbox that was loaded only in part: it would wake for ever."""
    if settlement.verb is Verb.AWAIT and not claim.inbox_is_whole and not ctx.taken:
        raise InboxFull(
            f"Step {claim.step!r} awaits {', '.join(settlement.awaits)} but takes none of the {len(claim.inbox)} "
            "signals it was shown, the oldest of an inbox too large to show whole: take them in the order they arrive."
        )


def _state(machine: Machine, state: Any) -> str | None:
    return None if state is UNCHANGED else machine.dump(state)


def _child(claim: Claim, call: Call, reply: str | None) -> Call:
    changes: dict[str, Any] = {}
    if reply is not None:
        changes["reply_to"] = (claim.id, reply)
    if call.options.trace is None and claim.trace is not None:
        changes["trace"] = claim.trace
    return replace(call, options=replace(call.options, **changes)) if changes else call
