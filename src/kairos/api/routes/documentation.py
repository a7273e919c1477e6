"""The documentation at `/docs`, where the package has it; every other path goes on to the dashboard."""

from __future__ import annotations

from pathlib import Path

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from kairos.api.request_limits import path_within
from kairos.api.routes.ui import Pages

# `./kairos docs --package` builds it; a release has it, a clone does not.
SITE = Path(__file__).parents[1] / "site"
_PREFIX = "/docs"


class WithDocumentation:
    """Serves a built site below `/docs`, by the rules of the dashboard's files."""

    def __init__(self, others: ASGIApp, site: Path) -> None:
        self._others = others
        self._site = Pages(site)
        self._there = (site / "index.html").is_file()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = path_within(scope) if self._there and scope["type"] == "http" else ""
        root = scope.get("root_path", "") + _PREFIX
        if path == _PREFIX:
            await RedirectResponse(f"{root}/", 308)(scope, receive, send)
        elif path.startswith(f"{_PREFIX}/"):
            await self._site({**scope, "root_path": root}, receive, send)
        else:
            await self._others(scope, receive, send)
