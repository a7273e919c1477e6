"""Read the types of arguments, states and results from the annotations of a user's code."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from kairos.errors import BadDefinition
from kairos.machine.context import Context
from kairos.machine.outcome import OUTCOMES

if TYPE_CHECKING:
    from pydantic import BaseModel, TypeAdapter


def read_parameters(function: Callable[..., Any], name: str) -> tuple[list[inspect.Parameter], bool]:
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise BadDefinition(f"Job {name!r} has a type that cannot be found: {error}.") from error
    parameters = [
        parameter.replace(annotation=hints.get(parameter.name, parameter.annotation))
        for parameter in inspect.signature(function).parameters.values()
    ]
    takes_context = bool(parameters) and _is_context(parameters[0])
    arguments = parameters[1:] if takes_context else parameters
    if arguments and arguments[0].name in ("self", "cls") and _is_in_class(function):
        raise BadDefinition(
            f"Job {name!r} takes {arguments[0].name!r}, which no caller can give: decorate a function outside of "
            "a class, whose first argument may be ctx: Context."
        )
    for parameter in arguments:
        named = (parameter.annotation, *get_args(parameter.annotation))
        if any(getattr(each, "__origin__", each) is Context for each in named):
            raise BadDefinition(
                f"Job {name!r}: the context must be the first argument, annotated as Context: "
                f"write {name}({parameter.name}: Context, …)."
            )
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise BadDefinition(
                f"Job {name!r}: argument {parameter.name!r} cannot be passed by name: use neither *, ** nor /."
            )
    return arguments, takes_context


def _is_in_class(function: Callable[..., Any]) -> bool:
    around = function.__qualname__.rpartition(".")[0]
    return bool(around) and not around.endswith("<locals>")


def _is_context(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    origin = getattr(annotation, "__origin__", annotation)
    return origin is Context or (annotation is inspect.Parameter.empty and parameter.name == "ctx")


def arguments_model(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    """Make a Pydantic model of a function's arguments that forbids unknown ones."""
    from pydantic import ConfigDict, create_model
    from pydantic.errors import PydanticUserError

    config = ConfigDict(extra="forbid", arbitrary_types_allowed=False, protected_namespaces=())
    if hidden := [field for field in fields if field.startswith("_") or field == "model_config"]:
        raise BadDefinition(f"Job {name!r}: an argument cannot be called {hidden[0]!r}.")
    try:
        with warnings.catch_warnings():
            # `json` and `copy` are good argument names, though BaseModel has deprecated methods of that name.
            warnings.filterwarnings("ignore", message="Field name .* shadows")
            return create_model("Arguments", __config__=config, **fields)
    except (NameError, TypeError, PydanticUserError) as error:
        raise BadDefinition(f"Job {name!r} has an argument {_why_untyped(fields, error)}") from error


def _why_untyped(fields: Mapping[str, Any], error: Exception) -> str:
    """Say why arguments cannot be typed: mostly one is annotated with a class that JSON cannot hold."""
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

    for name, (annotation, _) in fields.items():
        try:
            TypeAdapter(annotation)
        except PydanticSchemaGenerationError:
            kind = getattr(annotation, "__name__", None) or str(annotation)
            return (
                f"that JSON cannot hold, {name}: {kind}. Take plain values, such as {name}_id: int, and load it in the "
                "function."
            )
        except (NameError, TypeError, PydanticUserError):
            continue
    return f"that cannot be typed: {_first_line(error)}"


def state_type(cls: type, name: str) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        return TypeAdapter(getattr(cls, "State", dict[str, Any]))
    except (NameError, TypeError, PydanticUserError) as error:
        raise BadDefinition(
            f"Machine {name!r} has a State that cannot be typed: {_first_line(error)}"
        ) from error


def result_type(function: Callable[..., Any]) -> TypeAdapter[Any] | None:
    """Return the annotated result of a function, without outcomes; None if it is any JSON, or unknown to Pydantic."""
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    annotation = get_type_hints(function, include_extras=True).get("return", Any)
    if get_origin(annotation) in (Union, UnionType):
        kept = [each for each in get_args(annotation) if each not in OUTCOMES]
        annotation = Union[tuple(kept)] if kept else Any  # noqa: UP007 (made of a list)
    if annotation in (Any, object, None, NoneType) or annotation in OUTCOMES:
        return None
    try:
        return TypeAdapter(annotation)
    except (NameError, TypeError, PydanticUserError):
        return None  # a type of the user's own that Pydantic cannot read; plain JSON can be returned all the same


def is_exact_model(adapter: TypeAdapter[Any]) -> bool:
    """Whether a validated model has exactly the types that it declares, so that writing it need not compare them."""
    from pydantic.errors import PydanticUserError

    try:
        match adapter.core_schema:
            case {"type": "model", "schema": {"type": "model-fields", "fields": fields}}:
                return all(map(_is_exact, fields.values()))
    except PydanticUserError:
        pass  # it refers to a class that is defined later
    return False


def _is_exact(schema: Any) -> bool:
    """Whether a validated value of this schema has exactly the declared type.

    That is not known of what functions of the user return, of what a default factory makes (it is not validated; plain
    defaults are not stored), nor of instances of other models, which validation takes as they are.
    """
    if "serialization" in schema:
        return False
    match schema:
        case {"type": "int" | "float" | "str" | "bool" | "none"}:
            return True
        case {"type": "nullable" | "model-field", "schema": inner}:
            return _is_exact(inner)
        case {"type": "default", "schema": inner}:
            return "default_factory" not in schema and _is_exact(inner)
        case {"type": "list", "items_schema": inner}:
            return _is_exact(inner)
        case {"type": "dict", "keys_schema": key, "values_schema": inner}:
            return _is_exact(key) and _is_exact(inner)
    return False


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
