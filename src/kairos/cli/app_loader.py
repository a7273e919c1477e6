"""Load the app that the user names: `module:app`, a path to a `.py` file, or a folder of such files."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Annotated, Any

import typer

from kairos.app import Kairos, SyncKairos
from kairos.cli.database_option import DatabaseChoice
from kairos.config import Settings
from kairos.errors import BadRequest, ConfigError, KairosError, NoDatabase
from kairos.machine.registry import Registry


def app_argument(metavar: str, default: str | bool) -> Any:
    """Return the argument that names an app; `default` says what is used without one."""
    return typer.Argument(
        metavar=metavar,
        envvar="KAIROS_APP",
        show_default=default,
        help="module:app, path/to/file.py, path/to/file.py:app or a folder of such files.",
    )


OptionalApp = Annotated[str | None, app_argument("[APP]", "the built-in actions alone")]
# The app of a worker that was started without one.
BUILTIN_APP = "kairos.cli.builtin_app:app"
_PACKAGE = Path(__file__).parents[1]
# Methods of Kairos that refuse a name or a call of the user's, with a sentence that says what to write.
_REFUSING = ("__getattr__", "__call__", "__enter__", "asgi")


def split_words(words: Sequence[str], names: int, usage: str) -> tuple[str, list[str]]:
    """Split the words of a command, `[APP]`, `names` names, then `KEY=VALUE`, into the app and the other words.

    If there is one name more than `names`, the first one is the app; otherwise KAIROS_APP names it.
    """
    if len(words) > names and "=" not in words[names]:
        return words[0], list(words[1:])
    app = os.environ.get("KAIROS_APP")
    if not app or len(words) < names or "=" in words[names - 1]:
        raise BadRequest(f"The command needs an app and {usage}, or set KAIROS_APP to the app.")
    return app, list(words)


class BadApp(ConfigError):
    """The app cannot be loaded; `trace` holds the traceback if the error is in the app's own code."""

    code = "BAD_APP"

    def __init__(self, message: str, *, trace: str = "", files: tuple[Path, ...] = ()) -> None:
        super().__init__(message)
        self.trace = trace
        self.files = files


@dataclass(frozen=True, slots=True)
class Loaded:
    """The loaded app or, from a folder, several apps that share one database."""

    name: str
    apps: tuple[Kairos | SyncKairos, ...]
    registry: Registry
    settings: Settings


def load_app(name: str, database: DatabaseChoice) -> Loaded:
    """Import the app; the options in `database` choose its database."""
    database.export()
    apps = tuple(_find(name))
    registry = apps[0].registry
    if len(apps) > 1:
        registry = Registry()
        for app in apps:
            registry.include(app.registry)
    settings = apps[0].settings
    if any(app.settings != settings for app in apps):
        raise BadApp(f"The apps in {name} name different databases: run them one by one.")
    database.check(settings, name)
    return Loaded(name, apps, registry, settings)


def _find(name: str) -> list[Kairos | SyncKairos]:
    path, attribute = _split(name)
    if path is None:
        module, _, attribute = name.partition(":")
        if not all(part.isidentifier() for part in module.split(".")):
            raise BadApp(f"{name!r} names no app: write module:app or path/to/file.py.")
        _prepend_to_path(Path.cwd())
        return [_app(_import(module, name), attribute, name)]
    if path.is_dir():
        loaded = [(file, _import_file(file, str(file))) for file in sorted(path.glob("*.py"))]
        found = [_app(module, "", str(file)) for file, module in loaded if _apps(module)]
        if not found:
            raise BadApp(f"No file in {path} has a Kairos app: write `app = Kairos()` in one.")
        return found
    if not path.is_file():
        raise BadApp(f"There is no file {path}.")
    return [_app(_import_file(path, name), attribute, name)]


def _split(name: str) -> tuple[Path | None, str]:
    """Split `path:app` into its parts; the path is None if `name` is a module."""
    whole = Path(name)
    if name and (whole.suffix == ".py" or whole.is_dir()):
        return whole, ""
    file, colon, attribute = name.rpartition(":")
    if colon and Path(file).suffix == ".py":
        return Path(file), attribute
    return (whole, "") if "/" in name else (None, "")


def _import_file(path: Path, name: str) -> ModuleType:
    """Import a file under the module name that other modules use, so that process steps can import it too."""
    path = path.resolve()
    parts, root = [path.stem], path.parent
    while (root / "__init__.py").exists():
        parts, root = [root.name, *parts], root.parent
    _prepend_to_path(root)
    module = _import(".".join(parts), name)
    if Path(module.__file__ or "").resolve() != path:
        raise BadApp(f"{path.name} is hidden by another module called {path.stem!r}: rename it.")
    return module


def _prepend_to_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _import(module: str, name: str) -> ModuleType:
    importlib.invalidate_caches()
    try:
        return importlib.import_module(module)
    except NoDatabase as error:
        opens = _from_user_code(error.__traceback__)
        raise BadApp(
            f"{name} opens its app while it is imported, before there is a database (line "
            f'{opens.tb_lineno if opens else "?"}): put what runs jobs under `if __name__ == "__main__":`.',
            files=_files(error),
        ) from error
    except KairosError as error:
        where = _line(error, name)  # in full, since a refused phrase is shown with its suggestions
        raise BadApp(f"{name} cannot be loaded{where}: {error}", files=_files(error)) from error
    except (Exception, SystemExit) as error:
        if (
            isinstance(error, ModuleNotFoundError)
            and error.name
            and f"{module}.".startswith(f"{error.name}.")
        ):
            raise BadApp(
                f"There is no module {error.name!r} to load {name} from, neither in this folder nor installed: "
                "name a file (`app.py`) or a module that can be imported from here."
            ) from error
        trace = "".join(_user_traceback(error).format())
        why = f"{type(error).__name__}: {error}"
        raise BadApp(f"{name} cannot be loaded: {why}", trace=trace, files=_files(error)) from error


def _from_user_code(trace: TracebackType | None) -> TracebackType | None:
    """Drop the frames of the import machinery from a traceback."""
    while trace is not None and (
        trace.tb_frame.f_code.co_filename.startswith("<frozen importlib")
        or trace.tb_frame.f_code.co_filename in (__file__, importlib.__file__)
    ):
        trace = trace.tb_next
    return trace


def _user_traceback(error: BaseException) -> traceback.TracebackException:
    """Return the traceback without the frames that loaded the app and those of Kairos that refuse a name or a call."""
    shown = traceback.TracebackException(type(error), error, _from_user_code(error.__traceback__))
    while shown.stack and _is_ours(shown.stack[-1]) and shown.stack[-1].name in _REFUSING:
        shown.stack.pop()
    return shown


def _line(error: BaseException, name: str) -> str:
    """Return the line of the app's code that led to the error, in brackets; its file too, if another one is loaded."""
    frames = traceback.extract_tb(_from_user_code(error.__traceback__))
    last = next((frame for frame in reversed(frames) if not _is_ours(frame)), None)
    if last is None:
        return ""
    file = Path(last.filename).name
    known = file == Path(name.partition(":")[0]).name
    return f" (line {last.lineno})" if known else f" ({file}, line {last.lineno})"


def _is_ours(frame: traceback.FrameSummary) -> bool:
    return Path(frame.filename).is_relative_to(_PACKAGE)


def _files(error: BaseException) -> tuple[Path, ...]:
    """Return every file in the traceback: a change of any of them may fix the error."""
    named = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        named.append(error.filename)
    return tuple(path for each in named if (path := Path(each)).is_file())


def _apps(module: ModuleType) -> dict[str, Kairos | SyncKairos]:
    return {name: value for name, value in vars(module).items() if isinstance(value, Kairos | SyncKairos)}


def _app(module: ModuleType, attribute: str, name: str) -> Kairos | SyncKairos:
    found = _apps(module)
    wanted = attribute or ("app" if "app" in found else "")
    if wanted in found:
        return found[wanted]
    if attribute:
        if hasattr(module, attribute):
            kind = type(getattr(module, attribute)).__name__
            raise BadApp(f"{name} is {'an' if kind[0] in 'AEIOU' else 'a'} {kind}, not a Kairos app.")
        raise BadApp(f"{module.__name__} has no {attribute!r}; its apps: {', '.join(found) or 'none'}.")
    if not found:
        raise BadApp(f"{name} has no Kairos app: write `app = Kairos()` in it.")
    if len({id(app) for app in found.values()}) > 1:
        raise BadApp(f"{name} has several apps ({', '.join(found)}): say which, as in {name}:{min(found)}.")
    return next(iter(found.values()))
