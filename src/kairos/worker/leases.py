"""The leases a worker holds, in memory that its keeper reads too."""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
from collections import Counter

from kairos.worker.claim import Claim

SLOT = struct.Struct("qqq")


class Leases:
    """A table of (id, lease, begun) slots. Writing one costs a store into shared memory, no message and no lock:
    what the keeper reads half-written matches no row, and is read again at the next beat.
    """

    def __init__(self, capacity: int) -> None:
        self.fd = _anonymous_file(capacity * SLOT.size)
        self._memory = mmap.mmap(self.fd, capacity * SLOT.size)
        self._free = list(range(capacity - 1, -1, -1))
        self._slots: dict[int, tuple[int, int]] = {}
        self._of_queue: Counter[str] = Counter()

    def hold(self, claim: Claim) -> None:
        known = self._slots.get(claim.id)
        if known is None:
            place = self._free.pop()
            self._of_queue[claim.queue] += 1
        else:
            place = known[0]
        self._slots[claim.id] = place, claim.lease
        SLOT.pack_into(self._memory, place * SLOT.size, claim.id, claim.lease, 0)

    def begin(self, claim: Claim) -> None:
        """A step of it begins: from here on, losing this worker counts against the job."""
        if self.holds(claim):
            SLOT.pack_into(self._memory, self._slots[claim.id][0] * SLOT.size, claim.id, claim.lease, 1)

    def holds(self, claim: Claim) -> bool:
        known = self._slots.get(claim.id)
        return known is not None and known[1] == claim.lease

    def drop(self, claim: Claim) -> None:
        """Forget a lease; a younger one of the same job stays."""
        if self.holds(claim):
            place, _ = self._slots.pop(claim.id)
            self._of_queue[claim.queue] -= 1
            SLOT.pack_into(self._memory, place * SLOT.size, 0, 0, 0)
            self._free.append(place)

    def held_of(self, queue: str) -> int:
        """How many jobs of a queue are this worker's: claimed, running or not yet committed."""
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
