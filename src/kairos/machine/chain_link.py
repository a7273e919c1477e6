"""A link of a chain: a call as JSON, stored in the state of the chain's job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from kairos import json_codec
from kairos.machine.backoff import read_policy, write_policy
from kairos.machine.call import Call
from kairos.machine.stored_machine import read_options, write_options

CHAIN = "kairos.chain"
STEP = "advance"


def link(call: Call, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call as JSON, with the arguments `given`: one may come later, as the result of the link before."""
    return {
        "action": call.action,
        "version": call.version,
        "step": call.step,
        "input": dict(given),
        "queue": call.queue,
        "ttl": None if call.ttl is None else call.ttl.total_seconds(),
        "options": write_options(replace(call.options, retry=None)),
        "retry": write_policy(call.options.retry),
        "redact": list(call.redact),
        "search": list(call.search),
    }


def call_of(link: Mapping[str, Any], result: Any) -> Call:
    """Return the call of a link, with the result of the link before as the argument that takes it."""
    given = dict(link["input"])
    if link.get("takes") is not None:
        given[link["takes"]] = result
    ttl = link["ttl"]
    return Call(
        action=link["action"],
        version=link["version"],
        step=link["step"],
        state=json_codec.dumps(given, "input"),
        queue=link["queue"],
        ttl=None if ttl is None else timedelta(seconds=ttl),
        options=replace(read_options(link["options"]), retry=read_policy(link["retry"])),
        redact=tuple(link["redact"]),
        search=tuple(link["search"]),
    )
