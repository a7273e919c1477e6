"""Which jobs of a queue this worker may pick: those whose action, version and arguments its code knows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence

from kairos.store.query import Row

# For how long a queue counts as shared after a job of an unknown action was found in it.
_SHARED_SECONDS = 5.0


class KnownActions:
    """The actions and versions to pick, all if `known` is None.

    A queue is shared while it has jobs whose action only the code of other workers has. `met_unknown` is called with
    each unknown action and version found. `avoided(queue)` lists the machines that lately had jobs with unknown
    arguments, each with the arguments that this code knows (JSON); the pick skips their jobs with any other argument.
    """

    def __init__(
        self,
        known: Collection[tuple[str, int]] | None,
        met_unknown: Callable[[str, int], None],
        avoided: Callable[[str | None], str | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._known = None if known is None else frozenset(known)
        self.names = None if known is None else [action for action, _ in known]
        self.versions = None if known is None else [version for _, version in known]
        self._met_unknown = met_unknown
        self.avoided = avoided
        self._clock = clock
        self._shared_until: dict[str, float] = {}

    def is_shared(self, queue: str) -> bool:
        return self._shared_until.get(queue, -math.inf) > self._clock() or self.avoided(queue) is not None

    def candidates(self, queue: str, rows: Sequence[Row]) -> list[Row]:
        """Return the unclaimed rows of a pick that have a known action: jobs whose partition key must be claimed too.

        If there are rows with an unknown action, mark the queue as shared.
        """
        rest = [row for row in rows if row["lease"] is None]
        if self._known is None:
            return rest
        unknown = {(row["fsm"], row["fsm_version"]) for row in rest} - self._known
        if not unknown:
            return rest
        self._shared_until[queue] = self._clock() + _SHARED_SECONDS
        for action, version in sorted(unknown):
            self._met_unknown(action, version)
        return [row for row in rest if (row["fsm"], row["fsm_version"]) not in unknown]
