"""The HTTP service: each route parses a request, runs an operation and renders the answer.

`build` is imported on first use: it loads FastAPI, which the command line rarely needs and the extra `server` brings.
"""

from typing import TYPE_CHECKING, Any

from kairos.api.settings import ServiceSettings, load_service
from kairos.extras import import_extra

if TYPE_CHECKING:
    from kairos.api.app import build

__all__ = ["ServiceSettings", "build", "load_service"]


def __getattr__(name: str) -> Any:
    if name == "build":
        return import_extra("kairos.api.app", "server", "The HTTP service").build
    raise AttributeError(name)
