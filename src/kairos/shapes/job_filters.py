"""The filters of lists of jobs, each declared in one line.

Everything that takes a filter is derived from `FILTERS`: `app.jobs(…)`, the query of `GET /api/jobs`, the body of bulk
requests, `KairosClient.jobs(…)`, the options of `kairos jobs ls` and the parameters of `list_jobs.sql`, in this order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_type_hints

from kairos.errors import BadRequest
from kairos.fsm.lifecycle import STORED, JobState
from kairos.json_codec import shortened
from kairos.machine.field_checks import LARGEST_ID, check_instant, check_name, check_range
from kairos.suggest import did_you_mean

MOST_ARGUMENTS = 10
# How many empty pages in a row a client reads if no index matches the filters: about 200,000 jobs, in half a second.
MOST_SEARCHES = 100

States: TypeAlias = JobState | str | Sequence[JobState | str]


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter: what it selects, the type of its values, and whether it may be repeated.

    Its `name` in URLs and JSON is that of the attribute by default. `index` says which index finds its jobs: one for
    this filter ("own"), the one by queue, action and status ("kinds"), or the primary key ("ids"). If it is None, lists
    read the newest jobs and compare each.
    """

    selects: str
    kind: type[JobState] | type[str] | type[int] | type[datetime] = str
    many: bool = False
    name: str = ""
    index: Literal["own", "kinds", "ids"] | None = None
    attribute: str = ""

    @property
    def help(self) -> str:
        return f"Only jobs {self.selects}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which jobs to list: every filter that is given must match."""

    state: Annotated[States | None, Filter("in this state", JobState, many=True)] = None
    action: Annotated[str | None, Filter("of this action", index="kinds")] = None
    queue: Annotated[str | None, Filter("of this queue", index="kinds")] = None
    key: Annotated[str | None, Filter("with this partition key", index="own")] = None
    tag: Annotated[str | None, Filter("with this tag")] = None
    schedule: Annotated[str | None, Filter("of this schedule", index="own")] = None
    text: Annotated[str | None, Filter("with this text in action, key, tags, unique key or error")] = None
    inserted_from: Annotated[
        datetime | None, Filter("created at this instant or later", datetime, name="from", index="ids")
    ] = None
    inserted_to: Annotated[
        datetime | None, Filter("created before this instant", datetime, name="to", index="ids")
    ] = None
    parent: Annotated[int | None, Filter("that reply to this job", int, index="own")] = None
    input: Annotated[
        str | Sequence[str] | None,
        Filter(
            "with this argument, such as email:a@example.com or card.brand:visa; *:value is any argument",
            many=True,
        ),
    ] = None
    error: Annotated[str | None, Filter("that failed with this error, a fingerprint", index="own")] = None
    retry_of: Annotated[int | None, Filter("that retry this job", int, name="retryOf", index="own")] = None
    error_text: Annotated[
        str | None, Filter("that failed with these words in the error", name="errorText")
    ] = None

    def __post_init__(self) -> None:
        for each in FILTERS:
            value = getattr(self, each.attribute)
            if value is None or each.many:
                continue
            if each.kind is str:
                check_name(value, each.name)
            elif each.kind is int:
                check_range(value, each.name, 1, LARGEST_ID)
            else:
                check_instant(value, each.name)
        object.__setattr__(self, "state", _states(self.state))
        object.__setattr__(self, "input", _arguments(self.input))

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Filters:
        """Return filters from values by attribute name; raise `BadRequest` for an unknown name."""
        return cls(**{_filter(name).attribute: value for name, value in given.items()})

    @property
    def statuses(self) -> list[str] | None:
        """The stored statuses of the states asked for."""
        return None if self.state is None else sorted({str(STORED[JobState(state)]) for state in self.state})

    @property
    def parameters(self) -> list[Any]:
        """The values for `list_jobs.sql`, in the order of `FILTERS`."""
        states = None if self.state is None else [str(state) for state in self.state]
        return [states, *(getattr(self, each.attribute) for each in FILTERS[1:])]

    @property
    def given(self) -> frozenset[str]:
        """The attributes of the filters that are given."""
        return frozenset(each.attribute for each in FILTERS if getattr(self, each.attribute) is not None)

    @property
    def exact(self) -> bool:
        """Whether some index contains exactly the jobs that match."""
        rest = self.given - {"state"}
        return self._takes_whole_statuses and _has_index(rest)

    @property
    def due(self) -> JobState | None:
        """Pending or scheduled, if only one of these states is wanted: both are stored as `runnable`."""
        asked = {JobState.PENDING, JobState.SCHEDULED} & set(self.state or ())
        return JobState(asked.pop()) if len(asked) == 1 else None

    @property
    def countable(self) -> bool:
        """Whether an index can count these jobs by state."""
        return _has_index(self.given - {"state"} - _with_index("ids"))

    @property
    def countable_parameters(self) -> list[Any]:
        """The values for `count_jobs.sql` from $2 on: those of the filters with an index, in their order."""
        return [getattr(self, each.attribute) for each in FILTERS if each.index is not None]

    def of_states(self, states: Sequence[JobState | str]) -> Filters:
        """Return the same filters with other states."""
        return replace(self, state=states)

    @property
    def _takes_whole_statuses(self) -> bool:
        """Whether every state of each stored status is wanted, so that comparing statuses is enough."""
        if self.state is None:
            return True
        stored = {STORED[JobState(state)] for state in self.state}
        return {state for state in JobState if STORED[state] in stored} == set(self.state)


def in_query(given: Mapping[str, Any]) -> dict[str, Any]:
    """Rename filters from attribute names to their names in URLs."""
    return {_filter(name).name: value for name, value in given.items()}


def _filter(attribute: str) -> Filter:
    for each in FILTERS:
        if each.attribute == attribute:
            return each
    raise BadRequest(
        f"There is no filter {attribute!r}.{did_you_mean(attribute, [each.attribute for each in FILTERS])}"
    )


def _states(given: Any) -> list[JobState] | None:
    if given is None:
        return None
    asked = [given] if isinstance(given, str) or not isinstance(given, Sequence) else given
    return list(dict.fromkeys(map(_state, asked))) or None


def _state(given: Any) -> JobState:
    try:
        return JobState(given)
    except ValueError as error:
        raise BadRequest(
            f"There is no state {shortened(repr(given))}; it is one of {', '.join(JobState)}.", field="state"
        ) from error


def _arguments(given: Any) -> list[str] | None:
    """Validate the filter `input`: each entry is path:value."""
    if given is None:
        return None
    asked = [given] if isinstance(given, str) else list(given)
    for each in asked:
        check_name(each, "input")
        path, colon, _ = each.partition(":")
        if not colon or not all(path.split(".")):
            raise BadRequest(
                f"input is {each!r}; give an argument and its value, such as email:a@example.com.",
                field="input",
            )
    if len(asked) > MOST_ARGUMENTS:
        raise BadRequest(f"input is given {len(asked)} times; {MOST_ARGUMENTS} are the most.", field="input")
    return asked or None


FILTERS: tuple[Filter, ...] = tuple(
    replace(note, attribute=name, name=note.name or name)
    for name, hint in get_type_hints(Filters, include_extras=True).items()
    for note in get_args(hint)[1:]
)


def _with_index(index: str) -> frozenset[str]:
    return frozenset(each.attribute for each in FILTERS if each.index == index)


def _has_index(filters: frozenset[str]) -> bool:
    """Whether one index finds exactly the jobs that match these filters."""
    return filters <= _with_index("kinds") or (len(filters) == 1 and filters <= _with_index("own"))


def search_too_long(
    filters: Iterable[str], found: int, searched_to: datetime | str, next_page: str
) -> BadRequest:
    """Return the error that ends a search for jobs that no index finds."""
    return BadRequest(
        f"No index finds jobs by {' and '.join(sorted(filters))}: {found} were found among those created since"
        f" {searched_to}; search only newer ones with inserted_from=…, or continue with {next_page}."
    )
