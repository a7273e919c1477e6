"""Links of the repository's pages, rewritten for the site, where only some files are pages."""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REPOSITORY = "https://github.com/kairos-scheduler/kairos"
# Files beside `docs` that are pages of the site too.
PROJECT_PAGES = {
    "README.md": "project/readme.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
}

_LINK = re.compile(r"(\]\()([^)\s]+)(\))")
_IMAGE = re.compile(r'((?:src|srcset)=")([^"]+)(")')
_FENCED = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"^<!-- [\w -]+ -->\n", re.MULTILINE)
_EXAMPLE = re.compile(r"^\[`(examples/[\w/.-]+)`\]\([^)]+\)$", re.MULTILINE)


def for_site(markdown: str, source: str, page: str) -> str:
    """Return a page's text with its links as the site needs them, and examples in place of links to them.

    `source` is the file within the repository, `page` its place within the site.
    """

    def rewritten(found: re.Match[str]) -> str:
        return found[1] + target(found[2], source, page) + found[3]

    parts = _FENCED.split(_COMMENT.sub("", markdown))
    for index in range(0, len(parts), 2):
        text = _EXAMPLE.sub(_source_of, parts[index])
        parts[index] = _IMAGE.sub(rewritten, _LINK.sub(rewritten, text))
    return "".join(parts)


def target(link: str, source: str, page: str) -> str:
    """Where a link of a file leads on the site: to a page, or to the file in the repository."""
    if re.match(r"[a-z]+:|#", link):
        return link
    path, hash_, heading = link.partition("#")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    if file in PROJECT_PAGES:
        place = PROJECT_PAGES[file]
    elif file.startswith("docs/") and (ROOT / file).is_file():
        place = file.removeprefix("docs/")
    elif (ROOT / file).exists():
        kind = "tree" if (ROOT / file).is_dir() else "blob"
        return f"{REPOSITORY}/{kind}/main/{file}{hash_}{heading}"
    else:
        return link  # the build refuses it
    return os.path.relpath(place, posixpath.dirname(page) or ".") + hash_ + heading


def _source_of(found: re.Match[str]) -> str:
    file = ROOT / found[1]
    if not file.is_file():
        raise FileNotFoundError(f"A page shows {found[1]}, which does not exist.")
    language = {".py": "python", ".yaml": "yaml", ".yml": "yaml"}.get(file.suffix, "text")
    return f'```{language} title="{found[1]}"\n{file.read_text().rstrip()}\n```'
