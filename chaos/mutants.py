"""Mutants: engines that each lack one guard. The checker has to report every one of them.

A mutant replaces text of named statements in memory. It raises `OutdatedMutant` if a statement was rewritten and no
longer contains the text; then the mutant has to be adapted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

Statements = dict[str, str]

COMMITS = ("settle_jobs", "finish_jobs", "park_jobs")
_HOLDER = r"\s+and coalesce\(g\.locked_by, ''\) = \$\d+(::text)?"
_FENCE = r"g\.lease = o\.lease" + _HOLDER


class OutdatedMutant(AssertionError):
    """A statement no longer contains the text that a mutant replaces."""


@dataclass(frozen=True)
class Mutant:
    """`replaced` are (statement, pattern, replacement); `schema` are statements that drop a constraint or an index."""

    broken: str
    replaced: tuple[tuple[str, str, str], ...] = ()
    schema: tuple[str, ...] = ()
    worker: dict[str, object] = field(default_factory=dict)

    def apply(self, sql: Statements) -> Statements:
        """Return the statements with the replacements."""
        changed = dict(sql)
        for name, pattern, replacement in self.replaced:
            if name not in changed:
                raise OutdatedMutant(f"there is no statement {name} any more: adapt the mutant")
            text, found = re.subn(pattern, lambda _, new=replacement: new, changed[name])
            if not found:
                raise OutdatedMutant(f"{name}.sql has no {pattern!r} any more: adapt the mutant")
            changed[name] = text
        return changed


def _commits(pattern: str, replacement: str) -> tuple[tuple[str, str, str], ...]:
    return tuple((name, pattern, replacement) for name in COMMITS)


# A worker does not learn that it lost a lease: its step runs on to the commit.
_LOSS_NOT_REPORTED = ("renew_leases", r"coalesce\([^)]*(\(\)[^)]*)*\) as lost", "false as lost")
_TAKEN = r"g\.lease_expires_at <= case when \$2::text is null then kairos\.now\(\) else 'infinity' end"

MUTANTS: dict[str, Mutant] = {
    "unfenced": Mutant(
        "a commit checks only the id of the job",
        (*_commits(_FENCE, "true"), _LOSS_NOT_REPORTED),
    ),
    "statusonly": Mutant(
        "a commit checks that the job is running, but not the lease or its holder",
        (*_commits(_FENCE, "g.status = 'executing'"), _LOSS_NOT_REPORTED),
    ),
    "noholder": Mutant(
        "a commit checks the lease but not its holder, though a crash of Postgres may give a lease twice",
        _commits(_HOLDER, ""),
    ),
    "noarb": Mutant(
        "keys are not locked, and no index refuses a second holder of a key",
        (("try_lock_keys", r"pg_try_advisory_xact_lock\(kairos\.key_lock\(key\)\)", "true"),),
        ("drop index kairos.gen_durable_key_holder",),
    ),
    "naivesig": Mutant(
        "a park does not recheck the inbox for signals that arrived while its step ran",
        (("recheck_inbox", r"g\.status = 'awaiting_signal'", "false"),),
    ),
    "greedy": Mutant(
        "a step that takes one signal consumes all in its inbox",
        (("park_jobs", r"s\.id = any \(\$\d+::bigint\[\]\) and ", ""),),
    ),
    "cron": Mutant(
        "a tick is not unique",
        (("fire_ticks", r"on conflict do nothing", ""),),
        ("alter table kairos.ticks drop constraint ticks_pkey",),
    ),
    "ttl": Mutant(
        "a TTL ends a microsecond early",
        (
            (
                "expire_jobs",
                r"g\.expires_at <= kairos\.now\(\)",
                "g.expires_at <= kairos.now() + interval '1 us'",
            ),
        ),
    ),
    "ttl_late": Mutant(
        "a job is picked at the instant its TTL ends",
        (("pick_jobs", r"g\.expires_at > kairos\.now\(\)", "g.expires_at >= kairos.now()"),),
    ),
    "seq_cursor": Mutant(
        "a stream continues after the highest id it saw, though smaller ids may be committed later",
        (
            (
                "read_feed_watermark",
                r"(?s)select .*",
                "select coalesce(max(h.id), 0) as last, '{}'::text[] as writers from kairos.history h",
            ),
        ),
    ),
    "ack_before_commit": Mutant(
        "an enqueue is acknowledged before its commit is on the disk",
        (
            (
                "insert_alike_jobs",
                r"(?m)^from time t$",
                "from (select set_config('synchronous_commit', 'off', true)) as unsynced, time t",
            ),
        ),
    ),
    "notify_only": Mutant(
        "a worker picks only after a notification",
        (("next_due", r"kairos\.until\(due\.eligible_at\) as wait", "null::interval as wait"),),
        worker={"poll": 3600.0},
    ),
    "local_clock": Mutant(
        "a worker uses its own clock, which is an hour fast",
        (
            (
                "pick_jobs",
                r"\.eligible_at <= kairos\.now\(\)",
                ".eligible_at <= kairos.now() + interval '1 hour'",
            ),
        ),
    ),
    "reap_no_attempt_bump": Mutant(
        "a reap does not count the lost attempt",
        (
            (
                "reap_jobs",
                r"attempt = g\.attempt \+ 1, reaps = g\.reaps \+ 1",
                "attempt = g.attempt, reaps = g.reaps",
            ),
        ),
    ),
    "greedy_reaper": Mutant(
        "the reaper takes jobs whose lease has not expired",
        (("reap_jobs", _TAKEN, "true"),),
    ),
}
