"""Engines that are broken on purpose, each by one guard: whoever judges a run has to find every one of them out.

A mutant replaces text of named statements in memory. The text is looked for each time: a statement that was rewritten
fails here, and its mutant has to be aimed again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

Statements = dict[str, str]

COMMITS = ("settle_jobs", "finish_jobs", "park_jobs")
_HOLDER = r"\s+and coalesce\(g\.locked_by, ''\) = \$\d+(::text)?"
_FENCE = r"g\.lease = o\.lease" + _HOLDER


class Missed(AssertionError):
    """The text that a mutant breaks is not in its statement any more."""


@dataclass(frozen=True)
class Mutant:
    """`replaced` are (statement, pattern, replacement); `schema` is what is taken out of the database with it."""

    broken: str
    replaced: tuple[tuple[str, str, str], ...] = ()
    schema: tuple[str, ...] = ()
    worker: dict[str, object] = field(default_factory=dict)

    def apply(self, sql: Statements) -> Statements:
        """The statements, broken."""
        changed = dict(sql)
        for name, pattern, replacement in self.replaced:
            if name not in changed:
                raise Missed(f"there is no statement {name} any more: the mutant needs another place")
            text, found = re.subn(pattern, lambda _, new=replacement: new, changed[name])
            if not found:
                raise Missed(f"{name}.sql has no {pattern!r} any more: the mutant needs another place")
            changed[name] = text
        return changed


def _commits(pattern: str, replacement: str) -> tuple[tuple[str, str, str], ...]:
    return tuple((name, pattern, replacement) for name in COMMITS)


# Whoever lost a lease is not told: a zombie runs on to its commit.
_DEAF = ("renew_leases", r"coalesce\([^)]*(\(\)[^)]*)*\) as lost", "false as lost")
_TAKEN = r"g\.lease_expires_at <= case when \$2::text is null then kairos\.now\(\) else 'infinity' end"

MUTANTS: dict[str, Mutant] = {
    "unfenced": Mutant(
        "a commit names nothing but the job",
        (*_commits(_FENCE, "true"), _DEAF),
    ),
    "statusonly": Mutant(
        "a commit asks only that the job is running, not whose run it is",
        (*_commits(_FENCE, "g.status = 'executing'"), _DEAF),
    ),
    "noholder": Mutant(
        "a commit names the lease and not its holder, though a crash may give a lease twice",
        _commits(_HOLDER, ""),
    ),
    "noarb": Mutant(
        "nobody locks a key, and no index refuses its second holder",
        (("try_lock_keys", r"pg_try_advisory_xact_lock\(kairos\.key_lock\(key\)\)", "true"),),
        ("drop index kairos.gen_durable_key_holder",),
    ),
    "naivesig": Mutant(
        "a park does not look again for what came while its step ran",
        (("recheck_inbox", r"g\.status = 'awaiting_signal'", "false"),),
    ),
    "greedy": Mutant(
        "a step that takes one signal consumes all there are",
        (("park_jobs", r"s\.id = any \(\$\d+::bigint\[\]\) and ", ""),),
    ),
    "cron": Mutant(
        "a tick has no identity",
        (("fire_ticks", r"on conflict do nothing", ""),),
        ("alter table kairos.ticks drop constraint ticks_pkey",),
    ),
    "ttl": Mutant(
        "a TTL closes a microsecond early",
        (
            (
                "expire_jobs",
                r"g\.expires_at <= kairos\.now\(\)",
                "g.expires_at <= kairos.now() + interval '1 us'",
            ),
        ),
    ),
    "ttl_late": Mutant(
        "a job is picked at the very instant its TTL closes",
        (("pick_jobs", r"g\.expires_at > kairos\.now\(\)", "g.expires_at >= kairos.now()"),),
    ),
    "seq_cursor": Mutant(
        "a stream goes on after the last number it saw, whoever has not committed a smaller one",
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
                "from (select set_config('synchronous_commit', 'off', true)) as hasty, time t",
            ),
        ),
    ),
    "notify_only": Mutant(
        "a worker looks only when it is notified",
        (("next_due", r"kairos\.until\(due\.eligible_at\) as wait", "null::interval as wait"),),
        worker={"poll": 3600.0},
    ),
    "local_clock": Mutant(
        "a worker believes its own clock, which is an hour fast",
        (
            (
                "pick_jobs",
                r"\.eligible_at <= kairos\.now\(\)",
                ".eligible_at <= kairos.now() + interval '1 hour'",
            ),
        ),
    ),
    "reap_no_attempt_bump": Mutant(
        "a job that is lost is put back as if nothing had happened",
        (
            (
                "reap_jobs",
                r"attempt = g\.attempt \+ 1, reaps = g\.reaps \+ 1",
                "attempt = g.attempt, reaps = g.reaps",
            ),
        ),
    ),
    "greedy_reaper": Mutant(
        "the reaper takes the jobs of workers that are alive and well",
        (("reap_jobs", _TAKEN, "true"),),
    ),
}
