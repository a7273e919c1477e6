"""Serve the exported files of the dashboard at every path that no route matches.

The export is read once into memory, and a path is a key in it: no request reaches the file system.
"""

from __future__ import annotations

import base64
import gzip
import re
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from kairos.api.request_limits import CONTENT_SECURITY, path_within

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
_COMPRESSIBLE = frozenset({".css", ".html", ".js", ".json", ".map", ".svg", ".txt"})
# For files whose names change with their content.
_CACHE_FOR_EVER = "public, max-age=31536000, immutable"
_REVALIDATE = "no-cache"
_INLINE_SCRIPT = re.compile(rb"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.S | re.I)
_JOB = re.compile(r"/jobs/(\d{1,19})/?")
# The files are kept for at most this many mount points: a server may take the root path from a proxy's header.
_MOST_MOUNTED = 8
_NOT_PAGES = re.compile(r"/(api|metrics|healthz|readyz|openapi\.json)(/|$)")


@dataclass(frozen=True)
class File:
    """One file of the export, with its headers."""

    content: bytes
    media_type: str
    cache_control: str
    content_security: str | None  # of a page, which allows its own inline scripts
    is_compressible: bool

    @cached_property
    def etag(self) -> str:
        return f'"{sha256(self.content).hexdigest()[:32]}"'

    @cached_property
    def gzipped(self) -> bytes:
        return gzip.compress(self.content, 6, mtime=0)


class Pages:
    """Answer every path that no route matches: with a page or, below /api, with the error envelope."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mounted: dict[str, dict[str, File]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = path_within(scope)
        if scope["type"] != "http" or not self._export or _NOT_PAGES.match(path):
            raise HTTPException(404)
        if scope["method"] != "GET":  # HEAD comes as GET
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        await self._answer(path, scope)(scope, receive, send)

    def _answer(self, path: str, scope: Scope) -> Response:
        root = scope.get("root_path", "")
        files = self._files_at(root)
        if job := _JOB.fullmatch(path):
            return RedirectResponse(f"{root}/job/?id={job[1]}", 307)
        if f"{path}/" in files:
            query = scope["query_string"].decode("latin-1")
            return RedirectResponse(f"{root}{path}/" + (f"?{query}" if query else ""), 308)
        if file := files.get(path):
            return _send(file, 200, Headers(scope=scope))
        if missing := files.get("/404.html") or files.get("/404/"):
            return _send(missing, 404, Headers(scope=scope))
        raise HTTPException(404)

    def _files_at(self, root: str) -> dict[str, File]:
        """Return every file by its path, rewritten for a service that is mounted at `root`."""
        if root not in self._mounted:
            if len(self._mounted) >= _MOST_MOUNTED:
                self._mounted.clear()
            self._mounted[root] = {
                path.removesuffix("index.html") if path.endswith("/index.html") else path: _file(
                    path, content, root
                )
                for path, content in self._export.items()
            }
        return self._mounted[root]

    @cached_property
    def _export(self) -> dict[str, bytes]:
        """Return the content of every exported file; empty if nothing was exported."""
        if not (self._folder / "index.html").is_file():
            return {}
        return {
            "/" + file.relative_to(self._folder).as_posix(): file.read_bytes()
            for file in sorted(self._folder.rglob("*"))
            if file.is_file() and not file.is_symlink()
        }


def _file(path: str, content: bytes, root: str) -> File:
    suffix = PurePosixPath(path).suffix
    if root and suffix in _COMPRESSIBLE:
        content = _mounted_at(quote(root).encode(), content)
    return File(
        content,
        _TYPES.get(suffix, "application/octet-stream"),
        _CACHE_FOR_EVER if path.startswith("/_next/static/") else _REVALIDATE,
        _content_security(content) if suffix == ".html" else None,
        suffix in _COMPRESSIBLE and len(content) > 1000,
    )


def _mounted_at(root: bytes, content: bytes) -> bytes:
    """Return a file for a service that is mounted at `root`: it loads assets from there, and a page names `root`."""
    content = content.replace(b"/_next/", root + b"/_next/")
    return content.replace(b"<head>", b'<head><meta name="kairos-base" content="%s">' % root, 1)


def _content_security(page: bytes) -> str:
    """Return the content security policy of a page, which allows only its own inline scripts, by their hashes."""
    hashes = {
        base64.b64encode(sha256(script).digest()).decode()
        for script in _INLINE_SCRIPT.findall(page)
        if script
    }
    return CONTENT_SECURITY.format(scripts="".join(f" 'sha256-{each}'" for each in sorted(hashes)))


def _send(file: File, status: int, headers: Headers) -> Response:
    ours = {"ETag": file.etag, "Cache-Control": file.cache_control, "Vary": "Accept-Encoding"}
    if file.content_security is not None:
        ours["Content-Security-Policy"] = file.content_security
    if status == 200 and file.etag in headers.get("if-none-match", ""):
        return Response(status_code=304, headers=ours)
    if file.is_compressible and "gzip" in headers.get("accept-encoding", ""):
        return Response(file.gzipped, status, {**ours, "Content-Encoding": "gzip"}, file.media_type)
    return Response(file.content, status, ours, file.media_type)
