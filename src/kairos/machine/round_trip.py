"""Refuse arguments that JSON would change: a step gets exactly what its caller gave."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_origin

from kairos.errors import BadArguments, BadValue
from kairos.json_codec import shortened

if TYPE_CHECKING:
    from pydantic import TypeAdapter

# The path of a value in the arguments, the value as given, and the value as the step would get it.
_Change = tuple[str, Any, Any]
_SEQUENCES = (Sequence, Collection, Iterable)


def refuse_changed(action: str, adapter: TypeAdapter[Any], state: Any, text: str, *, at: str = "") -> None:
    """Raise `BadArguments` for the first argument that comes back from its JSON text as another value.

    `state` holds all arguments, or is the one whose name is `at`.
    """
    from pydantic import ValidationError

    try:
        stored = adapter.validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(part) for part in (*([at] if at else []), *first["loc"]))
        raise BadArguments(
            f"{action}: argument {path!r} cannot be read back from its own JSON: {first['msg']}.", field=path
        ) from error
    for path, given, arrives in _changes(at, state, stored):
        if isinstance(given, tuple) and list(given) == arrives and _allows_list_and_tuple(state, path):
            continue
        raise BadArguments(f"{action}: argument {path!r} {_why(given, arrives)}", field=path)


def _allows_list_and_tuple(state: Any, path: str) -> bool:
    """Whether the annotation of the argument at a path allows both a list and a tuple, as `Sequence` does."""
    field = getattr(type(state), "__pydantic_fields__", {}).get(path)
    return field is not None and (get_origin(field.annotation) or field.annotation) in _SEQUENCES


def refuse_unwritable(action: str, state: Any) -> None:
    """Raise `BadValue` for the first argument that cannot be written as JSON at all, if there is one."""
    try:
        found = list(_unwritable("", state))
    except RecursionError:  # a value that contains itself: the caller's own error says that
        return
    for path, value in found:
        raise BadValue(f"{action}: argument {path!r} {_why_not(value)}", field=path)


def _why(given: Any, arrives: Any) -> str:
    kind, other = type(given).__name__, type(arrives).__name__
    if isinstance(given, Mapping) and isinstance(arrives, dict):
        return "has keys that are no text, which JSON would turn into text: annotate it with its type, or pass text."
    if kind == other:
        return f"has the type {kind}, whose JSON holds another value: pass what JSON can hold."
    return f"has the type {kind}, which JSON would turn into {other}: annotate it with its type, or pass {other}."


def _why_not(value: Any) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return "is bytes that are no text, which JSON cannot hold: pass base64 text, or the name of a file."
    kind = type(value).__name__
    if hasattr(value, "pk"):  # a model of Django
        return f"has the type {kind}, which JSON cannot hold: pass its pk, and load it in the step."
    return (
        f"has the type {kind}, which JSON cannot hold: pass an id or plain values, and make it in the step."
    )


def _changes(path: str, given: Any, arrives: Any) -> Iterator[_Change]:
    """Yield the innermost values that arrive as others."""
    if _is_same(given, arrives):
        return
    if hasattr(arrives, "__pydantic_fields_set__") and isinstance(given, type(arrives)):
        for name in type(arrives).__pydantic_fields__:
            if name in given.__pydantic_fields_set__ and name in arrives.__pydantic_fields_set__:
                yield from _changes(_inside(path, name), getattr(given, name), getattr(arrives, name))
    elif isinstance(given, Mapping) and isinstance(arrives, dict) and given.keys() == arrives.keys():
        for key, value in given.items():
            yield from _changes(_inside(path, key), value, arrives[key])
    elif isinstance(given, list | tuple) and type(given) is type(arrives) and len(given) == len(arrives):
        for index, (one, other) in enumerate(zip(given, arrives, strict=True)):
            yield from _changes(f"{path}[{index}]", one, other)
    else:
        yield path, given, arrives


def _is_same(given: Any, arrives: Any) -> bool:
    """Whether two values are equal; instances of a class without `__eq__` are if their types fit."""
    kind: Any = type(given)
    return bool(given == arrives) or (kind.__eq__ is object.__eq__ and isinstance(given, type(arrives)))


def _unwritable(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the innermost values that cannot be written, each with its path."""
    from pydantic_core import to_jsonable_python

    try:
        to_jsonable_python(value)
    except ValueError:  # a type that it does not know, bytes that are no text
        parts: Iterable[tuple[str, Any]] = ()
        if hasattr(value, "__pydantic_fields_set__"):
            parts = [(_inside(path, name), getattr(value, name)) for name in type(value).__pydantic_fields__]
        elif isinstance(value, Mapping):
            parts = [(_inside(path, key), inner) for key, inner in value.items()]
        elif isinstance(value, list | tuple | set | frozenset):
            parts = [(f"{path}[{index}]", inner) for index, inner in enumerate(value)]
        found = [culprit for part in parts for culprit in _unwritable(*part)]
        yield from found or [(path, value)]


def _inside(path: str, name: Any) -> str:
    name = shortened(str(name))
    return f"{path}.{name}" if path else name
