"""Loads the app a person names: `module:app`, a path to a `.py` file, or a folder of such files."""

from __future__ import annotations

import importlib
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Annotated

import typer

from kairos.app import Kairos, SyncKairos
from kairos.cli.place import Place
from kairos.config import BUILT_IN, Settings
from kairos.errors import ConfigError, KairosError
from kairos.machine.registry import Registry

App = Annotated[
    str,
    typer.Argument(
        metavar="APP",
        envvar="KAIROS_APP",
        show_default=False,
        help="module:app, path/to/file.py, path/to/file.py:app or a folder of such files.",
    ),
]


OptionalApp = Annotated[
    str | None,
    typer.Argument(
        metavar="[APP]",
        envvar="KAIROS_APP",
        show_default="the built-in actions alone",
        help="module:app, path/to/file.py, path/to/file.py:app or a folder of such files.",
    ),
]
# What a worker runs that was named no app.
BARE = "kairos.cli.bare:app"


class BadApp(ConfigError):
    """The app cannot be loaded; `trace` are the lines that lead there, where the fault is in the app's own code."""

    code = "BAD_APP"

    def __init__(self, message: str, *, trace: str = "", files: tuple[Path, ...] = ()) -> None:
        super().__init__(message)
        self.trace = trace
        self.files = files


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was found: one app or, from a folder, several that share one database."""

    name: str
    apps: tuple[Kairos | SyncKairos, ...]
    registry: Registry
    settings: Settings


def load_app(name: str, place: Place) -> Loaded:
    """Import what `name` names; it looks for its database where `place` says."""
    place.export()
    apps = tuple(_find(name))
    registry = apps[0].registry
    if len(apps) > 1:
        registry = Registry()
        for app in apps:
            for machine in app.registry:
                if machine.name not in BUILT_IN or registry.find(machine.name, machine.version) is None:
                    registry.add(machine, app.registry.options(machine))
    settings = apps[0].settings
    if any(app.settings != settings for app in apps):
        raise BadApp(f"The apps in {name} name different databases: run them one by one.")
    place.check(settings, name)
    return Loaded(name, apps, registry, settings)


def _find(name: str) -> list[Kairos | SyncKairos]:
    path, attribute = _split(name)
    if path is None:
        module, _, attribute = name.partition(":")
        if not all(part.isidentifier() for part in module.split(".")):
            raise BadApp(f"{name!r} names no app: write module:app or path/to/file.py.")
        _look_first_in(Path.cwd())
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
    """The path and the name of the app in it; no path where `name` is a module's."""
    whole = Path(name)
    if name and (whole.suffix == ".py" or whole.is_dir()):
        return whole, ""
    file, colon, attribute = name.rpartition(":")
    if colon and Path(file).suffix == ".py":
        return Path(file), attribute
    return (whole, "") if "/" in name else (None, "")


def _import_file(path: Path, name: str) -> ModuleType:
    """Import a file under the name it has for other modules, so that a step's own process finds it too."""
    path = path.resolve()
    parts, root = [path.stem], path.parent
    while (root / "__init__.py").exists():
        parts, root = [root.name, *parts], root.parent
    _look_first_in(root)
    module = _import(".".join(parts), name)
    if Path(module.__file__ or "").resolve() != path:
        raise BadApp(f"{path.name} is hidden by another module called {path.stem!r}: rename it.")
    return module


def _look_first_in(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _import(module: str, name: str) -> ModuleType:
    importlib.invalidate_caches()
    try:
        return importlib.import_module(module)
    except KairosError as error:
        raise BadApp(f"{name} cannot be loaded: {error.message}", files=_files(error)) from error
    except (Exception, SystemExit) as error:
        if (
            isinstance(error, ModuleNotFoundError)
            and error.name
            and f"{module}.".startswith(f"{error.name}.")
        ):
            raise BadApp(f"There is no module {error.name!r} to load {name} from.") from error
        trace = "".join(traceback.format_exception(type(error), error, _from_user_code(error.__traceback__)))
        why = f"{type(error).__name__}: {error}"
        raise BadApp(f"{name} cannot be loaded: {why}", trace=trace, files=_files(error)) from error


def _from_user_code(trace: TracebackType | None) -> TracebackType | None:
    """The same traceback without the import machinery that leads to the app."""
    while trace is not None and (
        trace.tb_frame.f_code.co_filename.startswith("<frozen importlib")
        or trace.tb_frame.f_code.co_filename in (__file__, importlib.__file__)
    ):
        trace = trace.tb_next
    return trace


def _files(error: BaseException) -> tuple[Path, ...]:
    """Every file that had a part in the failure: one of them will be changed to mend it."""
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
            raise BadApp(f"{name} is a {kind}, not a Kairos app.")
        raise BadApp(f"{module.__name__} has no {attribute!r}; its apps: {', '.join(found) or 'none'}.")
    if not found:
        raise BadApp(f"{name} has no Kairos app: write `app = Kairos()` in it.")
    if len({id(app) for app in found.values()}) > 1:
        raise BadApp(f"{name} has several apps ({', '.join(found)}): say which, as in {name}:{min(found)}.")
    return next(iter(found.values()))
