"""The dashboard: files that were exported beforehand, served to whatever path no route takes.

Nothing is looked up in the file system by what a caller sends: the export is read once, and a path is a key in it.
"""

from __future__ import annotations

import base64
import gzip
import re
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from kairos.api.guard import CONTENT_SECURITY, path_within

EXPORT = Path(__file__).parents[1] / "ui"

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
_SHRINKS = frozenset({".css", ".html", ".js", ".json", ".map", ".svg", ".txt"})
# Their names change with their content.
_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_FIRST = "no-cache"
_INLINE_SCRIPT = re.compile(rb"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.S | re.I)
_JOB = re.compile(r"/jobs/(\d{1,19})/?")
_NOT_PAGES = re.compile(r"/(api|metrics|healthz|readyz|openapi\.json)(/|$)")


@dataclass(frozen=True)
class File:
    """One file of the export, as it is sent."""

    content: bytes
    kind: str
    keep: str
    policy: str | None  # the content security policy of a page, with its own inline scripts
    shrinks: bool

    @cached_property
    def tag(self) -> str:
        return f'"{sha256(self.content).hexdigest()[:32]}"'

    @cached_property
    def small(self) -> bytes:
        return gzip.compress(self.content, 6, mtime=0)


class Pages:
    """Answers every path that no route takes: with a page, or with the envelope where programs look."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = path_within(scope)
        if scope["type"] != "http" or not self._files or _NOT_PAGES.match(path):
            raise HTTPException(404)
        if scope["method"] != "GET":  # HEAD comes as GET
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        await self._answer(path, scope)(scope, receive, send)

    def _answer(self, path: str, scope: Scope) -> Response:
        root = scope.get("root_path", "")
        if job := _JOB.fullmatch(path):
            return RedirectResponse(f"{root}/job/?id={job[1]}", 307)
        if f"{path}/" in self._files:
            query = scope["query_string"].decode("latin-1")
            return RedirectResponse(f"{root}{path}/" + (f"?{query}" if query else ""), 308)
        if file := self._files.get(path):
            return _send(file, 200, Headers(scope=scope))
        if missing := self._files.get("/404.html") or self._files.get("/404/"):
            return _send(missing, 404, Headers(scope=scope))
        raise HTTPException(404)

    @cached_property
    def _files(self) -> dict[str, File]:
        """Every file by the path it is served at; empty if nothing was exported."""
        if not (self._folder / "index.html").is_file():
            return {}
        found = {}
        for file in sorted(self._folder.rglob("*")):
            if file.is_file() and not file.is_symlink():
                path = "/" + file.relative_to(self._folder).as_posix()
                found[path.removesuffix("index.html") if file.name == "index.html" else path] = _read(
                    file, path
                )
        return found


def _read(file: Path, path: str) -> File:
    content = file.read_bytes()
    is_page = file.suffix == ".html"
    return File(
        content,
        _TYPES.get(file.suffix, "application/octet-stream"),
        _FOR_EVER if path.startswith("/_next/static/") else _ASK_FIRST,
        _with_scripts(content) if is_page else None,
        file.suffix in _SHRINKS and len(content) > 1000,
    )


def _with_scripts(page: bytes) -> str:
    """The policy of a page: its own inline scripts may run, by their hashes, and no others."""
    hashes = {
        base64.b64encode(sha256(script).digest()).decode()
        for script in _INLINE_SCRIPT.findall(page)
        if script
    }
    return CONTENT_SECURITY.format(scripts="".join(f" 'sha256-{each}'" for each in sorted(hashes)))


def _send(file: File, status: int, headers: Headers) -> Response:
    ours = {"ETag": file.tag, "Cache-Control": file.keep, "Vary": "Accept-Encoding"}
    if file.policy is not None:
        ours["Content-Security-Policy"] = file.policy
    if status == 200 and file.tag in headers.get("if-none-match", ""):
        return Response(status_code=304, headers=ours)
    if file.shrinks and "gzip" in headers.get("accept-encoding", ""):
        return Response(file.small, status, {**ours, "Content-Encoding": "gzip"}, file.kind)
    return Response(file.content, status, ours, file.kind)
