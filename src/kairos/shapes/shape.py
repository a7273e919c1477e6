"""`@shape`: declare a record type once, to read it from a row, write it as JSON, and parse that JSON.

A record type is a dataclass with the decorator `@shape`. Each field is a column of the same name, and a member of the
JSON document under the same name in camelCase. `Annotated[…, Shown(…)]` and `Annotated[…, Hidden(…)]` declare others:

    @shape("Change")
    @dataclass(frozen=True, slots=True)
    class HistoryRow:
        id: int
        from_state: Annotated[str, Shown("from", schema=JobState)]

The conversions are computed once per class, so that reading a row is one call of `itemgetter` and the few conversions
that its types need. `kairos.api.schemas` builds the OpenAPI schema from `members`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from operator import attrgetter, itemgetter
from typing import Annotated, Any, Generic, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from kairos.shapes.conversions import Convert, column_conversion, json_conversion, split_optional, unless_none

T = TypeVar("T")
Json: TypeAlias = Mapping[str, Any]
_SAME = "="  # the attribute's own name


@dataclass(frozen=True, slots=True)
class Shown:
    """A field's name in the document and its column, if they differ from the attribute's name.

    The name `error.code` is the member `code` of the object `error`, which is one of the `parts` of the record type.
    With `column=None` the field is not read from rows. `schema` is the JSON type, if it differs from the attribute's.

    `read` converts what the type's own conversion returned for the column. `write` converts the attribute to JSON, and
    `parse` JSON to the attribute, in place of the type's own conversions. None of the three is called for a null.
    """

    name: str = _SAME
    column: str | None = _SAME
    schema: Any = None
    read: Convert | None = None
    write: Convert | None = None
    parse: Convert | None = None


@dataclass(frozen=True, slots=True)
class Hidden:
    """A field that documents leave out; parsing a document gives it its default."""

    column: str | None = _SAME
    read: Convert | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a document: its name, the attribute behind it, its type in JSON."""

    name: str
    attribute: str
    type: Any


@dataclass(frozen=True, slots=True)
class _Field:
    """One field of a record type: its type as annotated, the same without None, and how it is shown."""

    attribute: str
    hint: Any
    kind: Any
    note: Shown | Hidden
    has_default: bool

    @property
    def column(self) -> str | None:
        return self.attribute if self.note.column == _SAME else self.note.column


class Shape(Generic[T]):
    """The conversions of a record type, computed from its declaration."""

    def __init__(self, cls: type[T], name: str, parts: Mapping[str, type], derived: tuple[str, ...]) -> None:
        self.cls = cls
        self.name = name
        declared = _fields(cls)
        self._prepare_rows(declared)
        self._prepare_documents(declared, parts, derived)

    def read(self, row: Any, **extra: Any) -> T:
        """Build a value from a row; `extra` gives the fields that have no column."""
        values = list(self._columns(row))
        for place, convert in self._conversions:
            values[place] = convert(values[place])
        for attribute, nested in self._nested:
            extra[attribute] = nested._read_joined(row)
        return self.cls(*values, **extra)

    def document(self, value: T) -> dict[str, Any]:
        """Return the JSON document of a value."""
        made = dict(zip(self._names, self._attributes(value), strict=True))
        for name, write in self._writes:
            made[name] = write(made[name])
        for name, members, attributes, required in self._parts:
            found = dict(zip(members, attributes(value), strict=True))
            made[name] = None if any(found[each] is None for each in required) else found
        return made

    def parse(self, document: Json, **extra: Any) -> T:
        """Build a value from a document; members that an older service leaves out get their defaults."""
        for each, (*path, name), parse in self._parses:
            place: Any = document
            for inner in path:
                place = place.get(inner) or {name: None}
            if name in place or not each.has_default:
                value = place[name]
                extra.setdefault(each.attribute, value if value is None or parse is None else parse(value))
        return self.cls(**extra)

    def _prepare_rows(self, declared: list[_Field]) -> None:
        stored = [each for each in declared if each.column is not None and each.kind not in _SHAPES]
        if declared[: len(stored)] != stored:
            raise TypeError(f"{self.cls.__name__}: the fields that are columns come first.")
        self._columns = itemgetter(*(each.column for each in stored))
        self._conversions = tuple(
            (place, convert)
            for place, each in enumerate(stored)
            for convert in (column_conversion(each.hint), each.note.read and unless_none(each.note.read))
            if convert is not None
        )
        self._nested = tuple(
            (each.attribute, _SHAPES[each.kind]) for each in declared if each.kind in _SHAPES
        )

    def _prepare_documents(
        self, declared: list[_Field], parts: Mapping[str, type], derived: tuple[str, ...]
    ) -> None:
        members: dict[str, Member] = {}
        inside: dict[str, dict[str, str]] = {name: {} for name in parts}
        writes: list[tuple[str, Convert]] = []
        parses: list[tuple[_Field, list[str], Convert | None]] = []
        for each in declared:
            if isinstance(each.note, Hidden):
                continue
            given, nested = each.note, _SHAPES.get(each.kind)
            path = (_camel_case(each.attribute) if given.name == _SAME else given.name).split(".")
            parses.append(
                (each, path, given.parse or (nested.parse if nested else json_conversion(each.hint)))
            )
            if len(path) > 1:
                inside[path[0]][path[1]] = each.attribute
                members.setdefault(path[0], Member(path[0], each.attribute, parts[path[0]] | None))
                continue
            members[path[0]] = Member(path[0], each.attribute, given.schema or each.hint)
            if write := given.write or (None if nested is None else nested.document):
                writes.append((path[0], unless_none(write)))
        for attribute in derived:
            kind = get_type_hints(getattr(self.cls, attribute).fget)["return"]
            members[_camel_case(attribute)] = Member(_camel_case(attribute), attribute, kind)
        self.members = tuple(members.values())
        self._names = tuple(members)
        self._attributes = attrgetter(*(each.attribute for each in self.members))
        self._writes = tuple(writes)
        self._parses = tuple(parses)
        self._parts = tuple(
            (name, tuple(found), attrgetter(*found.values()), _SHAPES[parts[name]]._required)
            for name, found in inside.items()
        )

    @property
    def _required(self) -> tuple[str, ...]:
        """Return the members that cannot be null; if one is missing, the whole object is absent."""
        return tuple(each.name for each in self.members if not split_optional(each.type)[1])

    def _read_joined(self, row: Any) -> T | None:
        """Build a value from the columns that an outer join adds to a row; None if it found nothing."""
        return None if self._columns(row)[0] is None else self.read(row)


_SHAPES: dict[Any, Shape[Any]] = {}


def shape(
    name: str, *, parts: Mapping[str, type] | None = None, derived: tuple[str, ...] = ()
) -> Callable[[type[T]], type[T]]:
    """Declare a dataclass as a record type, called `name` in the OpenAPI document.

    `parts` are the objects of the document whose members are single attributes here; `derived` are the properties that
    the document shows and no row stores.
    """

    def declare(cls: type[T]) -> type[T]:
        _SHAPES[cls] = Shape(cls, name, parts or {}, derived)
        return cls

    return declare


def shapes() -> Mapping[type, Shape[Any]]:
    """Return every declared record type."""
    return _SHAPES


def read(cls: type[T], row: Any, **extra: Any) -> T:
    """Build a value of `cls` from a row; `extra` gives the fields that have no column."""
    value: T = _SHAPES[cls].read(row, **extra)
    return value


def document(value: Any) -> dict[str, Any]:
    """Return the JSON document of a value."""
    return _SHAPES[type(value)].document(value)


def parse(cls: type[T], document: Json, **extra: Any) -> T:
    """Build a value of `cls` from a JSON document; `extra` gives the fields that the document lacks."""
    value: T = _SHAPES[cls].parse(document, **extra)
    return value


def _fields(cls: Any) -> list[_Field]:
    hints = get_type_hints(cls, include_extras=True)
    found = []
    for each in fields(cls):
        hint, *notes = get_args(hints[each.name]) if _is_annotated(hints[each.name]) else (hints[each.name],)
        note = next((note for note in notes if isinstance(note, Shown | Hidden)), Shown())
        has_default = each.default is not MISSING or each.default_factory is not MISSING
        found.append(_Field(each.name, hint, split_optional(hint)[0], note, has_default))
    return found


def _is_annotated(hint: Any) -> bool:
    return get_origin(hint) is Annotated


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)
