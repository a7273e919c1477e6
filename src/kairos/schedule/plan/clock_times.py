"""The times of day of hours × minutes × seconds, computed when needed: there may be 86,400 of them."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class ClockTimes:
    """Seconds of the day in order, read by index. The three lists are sorted."""

    def __init__(self, hours: Sequence[int], minutes: Sequence[int], seconds: Sequence[int]) -> None:
        self._hours, self._minutes, self._seconds = hours, minutes, seconds

    def __len__(self) -> int:
        return len(self._hours) * len(self._minutes) * len(self._seconds)

    def __getitem__(self, index: int) -> int:
        index, second = divmod(index, len(self._seconds))
        hour, minute = divmod(index, len(self._minutes))
        return self._hours[hour] * 3600 + self._minutes[minute] * 60 + self._seconds[second]

    def __contains__(self, time: int) -> bool:
        return time // 3600 in self._hours and time // 60 % 60 in self._minutes and time % 60 in self._seconds

    def from_second(self, second: int) -> Iterator[int]:
        """Yield the times from a second of the day on."""
        for index in range(bisect_left(self, second), len(self)):
            yield self[index]


class ReachableTimes:
    """The times of a day that a count of elapsed time can reach: those with a given remainder modulo `cycle`."""

    def __init__(
        self, hours: Sequence[int], minutes: Sequence[int], seconds: Sequence[int], cycle: int
    ) -> None:
        self._hours, self._minutes, self._cycle = hours, minutes, cycle
        self._seconds: dict[int, list[int]] = {}
        for second in seconds:
            self._seconds.setdefault(second % cycle, []).append(second)
        self._first_of_day: dict[int, int | None] = {}

    def first(self, remainder: int) -> int | None:
        """The first time of the day with this remainder."""
        if remainder not in self._first_of_day:
            self._first_of_day[remainder] = self.first_from(0, remainder)
        return self._first_of_day[remainder]

    def first_from(self, second: int, remainder: int) -> int | None:
        """The first time with this remainder from a second of the day on. It examines each minute at most once."""
        for hour in self._hours[bisect_left(self._hours, second // 3600) :]:
            in_hour = max(0, second - hour * 3600)
            for minute in self._minutes[bisect_left(self._minutes, in_hour // 60) :]:
                start = hour * 3600 + minute * 60
                for each in self._seconds.get((remainder - start) % self._cycle, ()):
                    if start + each >= second:
                        return start + each
        return None
