"""The decision: what an outcome or an error does to a job. Pure: between the pick and the commit, no I/O."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from kairos import codec
from kairos.errors import BadOutcome, KairosError, UnknownStep
from kairos.fsm.lifecycle import Status, Verb
from kairos.machine.call import Call
from kairos.machine.context import Context
from kairos.machine.definition import Machine
from kairos.machine.outcome import OUTCOMES, UNCHANGED, Await, Done, Next, Outcome, Replay, Stop
from kairos.worker.claim import Claim

_AT_ONCE = timedelta(0)
# After so many steps on one claim a job goes back to the line, so that others get their turn.
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
    consumed: list[int] = field(default_factory=list)
    children: list[Call] = field(default_factory=list)
    is_verdict: bool = False  # over an outcome that Postgres would not take


def settle(
    claim: Claim,
    machine: Machine,
    returned: Any,
    error: BaseException | None = None,
    ctx: Context[Any] | None = None,
) -> Settlement:
    """What to commit for a step that `returned` something, or whose `error` was answered so.

    Anything that breaks the contract becomes a named failure; nothing raises from here.
    """
    try:
        settlement = _decide(claim, machine, _outcome(machine, claim, returned, error), error)
        if ctx is not None:
            settlement.consumed = ctx.taken
            settlement.progress = ctx.told
            if settlement.status is not Status.FAILED:
                settlement.children = [_child(claim, call, reply) for call, reply in ctx.spawned]
    except Exception as broken:  # noqa: BLE001 (an outcome holds what users put there)
        return failure(claim, broken)
    return settlement


def failure(claim: Claim, error: BaseException) -> Settlement:
    """The end of a job by an error nobody answered."""
    return Settlement(claim, Verb.STOP, Status.FAILED, error_code=error_code(error), error=error_text(error))


def release(claim: Claim, reason: str, delay: timedelta = _AT_ONCE) -> Settlement:
    """Hand a job back without having run it; its attempt does not count."""
    return Settlement(claim, Verb.RELEASE, Status.RUNNABLE, delay=delay, error=reason)


def cancelled(claim: Claim, ctx: Context[Any] | None = None) -> Settlement:
    """The step honoured a cancel request."""
    if ctx is None:
        return Settlement(claim, Verb.YIELD, Status.CANCELLED)
    return Settlement(claim, Verb.YIELD, Status.CANCELLED, consumed=ctx.taken, progress=ctx.told)


def error_code(error: BaseException) -> str:
    return error.code if isinstance(error, KairosError) else type(error).__name__


def error_text(error: BaseException) -> str:
    """The error in words that can always be stored."""
    try:
        said = str(error)
    except Exception as mute:  # noqa: BLE001 (a user's __str__ may do anything)
        said = f"(its message cannot be read: {type(mute).__name__})"
    name = type(error).__name__
    return codec.printable(f"{name}: {said}" if said else name)


def _outcome(machine: Machine, claim: Claim, returned: Any, error: BaseException | None) -> Outcome:
    if isinstance(returned, OUTCOMES):
        return returned
    if error is not None:
        raise BadOutcome(
            f"The handle of {machine.name!r} answered with {type(returned).__name__}; "
            f"return Next, Replay, Await, Done or Stop. The error was {error_text(error)}"
        )
    if machine.plain:
        return Done(returned)
    raise BadOutcome(
        f"Step {claim.step!r} of {machine.name!r} returned {type(returned).__name__}; "
        "return Next, Replay, Await, Done or Stop."
    )


def _decide(claim: Claim, machine: Machine, outcome: Outcome, error: BaseException | None) -> Settlement:
    said = None if error is None else error_text(error)
    match outcome:
        case Done(result):
            value = None if result is None else codec.dumps(result, "result")
            return Settlement(claim, Verb.DONE, Status.DONE, result=value, error=said)
        case Next(step, state):
            _check_step(machine, claim, step)
            return Settlement(
                claim,
                Verb.NEXT,
                Status.RUNNABLE,
                step=step,
                state=_state(machine, state),
                error=said,
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
                error=said,
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
                error=said,
            )
        case Stop(reason):
            code = "STOPPED" if error is None else error_code(error)
            return Settlement(claim, Verb.STOP, Status.FAILED, error_code=code, error=_why(reason, said))


def _why(reason: Any, said: str | None) -> str:
    """The reason of a Stop, and the error it answers where that says more."""
    given = codec.printable(str(reason))
    if said is None or given == said:
        return given
    return said if reason == Stop().reason else codec.printable(f"{given} (after {said})")


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


def _state(machine: Machine, state: Any) -> str | None:
    return None if state is UNCHANGED else machine.dump(state)


def _child(claim: Claim, call: Call, reply: str | None) -> Call:
    changes: dict[str, Any] = {}
    if reply is not None:
        changes["reply_to"] = (claim.id, reply)
    if call.options.trace is None and claim.trace is not None:
        changes["trace"] = claim.trace
    return replace(call, options=replace(call.options, **changes)) if changes else call
