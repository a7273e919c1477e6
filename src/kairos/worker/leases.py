"""The leases a worker holds, in memory that its keeper reads too."""

from __future__ import annotations

import mmap
import os
import struct
import tempfile

from kairos.worker.claim import Claim

_PAIR = struct.Struct("qq")


class Leases:
    """A table of (id, lease) slots. Writing one costs a store into shared memory, no message and no lock:
    a pair the keeper reads half-written matches no row, and is read again at the next beat.
    """

    def __init__(self, capacity: int) -> None:
        self.fd = _anonymous_file(capacity * _PAIR.size)
        self._memory = mmap.mmap(self.fd, capacity * _PAIR.size)
        self._free = list(range(capacity - 1, -1, -1))
        self._slots: dict[int, int] = {}

    def hold(self, claim: Claim) -> None:
        slot = self._slots.get(claim.id)
        if slot is None:
            slot = self._slots[claim.id] = self._free.pop()
        _PAIR.pack_into(self._memory, slot * _PAIR.size, claim.id, claim.lease)

    def drop(self, job_id: int) -> None:
        slot = self._slots.pop(job_id, None)
        if slot is not None:
            _PAIR.pack_into(self._memory, slot * _PAIR.size, 0, 0)
            self._free.append(slot)

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
