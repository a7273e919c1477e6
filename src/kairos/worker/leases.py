"""The leases that a worker holds, in memory that it shares with its keeper."""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
import time
from collections import Counter

from kairos.worker.claim import Claim

SLOT = struct.Struct("qqq")


class Leases:
    """A table of (id, lease, begun) slots in shared memory, written without a message or a lock.

    If the keeper reads a half-written slot, the slot matches no row; the keeper reads it again at the next renewal.
    The slot after the last belongs to the keeper: the times of its last renewal and its last check, in nanoseconds of
    the monotonic clock, which all processes of a machine share.
    """

    def __init__(self, capacity: int) -> None:
        size = (capacity + 1) * SLOT.size
        self.fd = _anonymous_file(size)
        self._memory = mmap.mmap(self.fd, size)
        self._keeper_slot = capacity * SLOT.size
        self._free = list(range(capacity - 1, -1, -1))
        self._slots: dict[int, tuple[int, int]] = {}
        self._held_at: dict[int, int] = {}
        self._of_queue: Counter[str] = Counter()
        self._renewed_at = 0

    def hold(self, claim: Claim) -> None:
        known = self._slots.get(claim.id)
        if known is None:
            place = self._free.pop()
            self._of_queue[claim.queue] += 1
        else:
            place = known[0]
        self._slots[claim.id] = place, claim.lease
        self._held_at[claim.id] = time.monotonic_ns()
        SLOT.pack_into(self._memory, place * SLOT.size, claim.id, claim.lease, 0)

    def expired(self, seconds: float) -> list[tuple[int, int]]:
        """Return the jobs, with their lease tokens, whose leases were not renewed for `seconds`."""
        renewed_at, _ = self.keeper_times
        limit = time.monotonic_ns() - round(seconds * 1e9)
        if max(renewed_at, self._renewed_at) > limit:
            return []
        return [(job, token) for job, (_, token) in self._slots.items() if self._held_at[job] <= limit]

    def held(self) -> list[tuple[int, int]]:
        """Return each job with its lease token."""
        return [(job, token) for job, (_, token) in self._slots.items()]

    def note_renewal(self, at: int) -> None:
        """Note that the worker itself renewed all leases, at a time of the monotonic clock in nanoseconds."""
        self._renewed_at = at

    @property
    def keeper_times(self) -> tuple[int, int]:
        """The times of the keeper's last renewal and last check."""
        renewed_at, looked_at, _ = SLOT.unpack_from(self._memory, self._keeper_slot)
        return renewed_at, looked_at

    def begin(self, claim: Claim) -> None:
        """Mark that a step of the job has started: if the worker dies now, the job is reaped, not just released."""
        if self.holds(claim):
            SLOT.pack_into(self._memory, self._slots[claim.id][0] * SLOT.size, claim.id, claim.lease, 1)

    def holds(self, claim: Claim) -> bool:
        known = self._slots.get(claim.id)
        return known is not None and known[1] == claim.lease

    def drop(self, claim: Claim) -> None:
        """Remove a lease; a newer one of the same job stays."""
        if self.holds(claim):
            place, _ = self._slots.pop(claim.id)
            del self._held_at[claim.id]
            self._of_queue[claim.queue] -= 1
            SLOT.pack_into(self._memory, place * SLOT.size, 0, 0, 0)
            self._free.append(place)

    def held_of(self, queue: str) -> int:
        """Return how many jobs of a queue this worker holds: claimed, running or not yet committed."""
        return self._of_queue[queue]

    @property
    def ids(self) -> list[int]:
        return list(self._slots)

    @property
    def room(self) -> int:
        return len(self._free)

    def close(self) -> None:
        self._memory.close()
        os.close(self.fd)


def _anonymous_file(size: int) -> int:
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("kairos-leases")
    else:
        fd, path = tempfile.mkstemp(prefix="kairos-leases-")
        os.unlink(path)  # noqa: PTH108 (the descriptor is all that is needed)
    os.ftruncate(fd, size)
    return fd
