"""The HTTP service: parse, then a verb or a read, then render.

`build` is imported when it is asked for: the settings alone must not cost a command line half a second.
"""

from typing import TYPE_CHECKING, Any

from kairos.api.settings import ServiceSettings, load_service

if TYPE_CHECKING:
    from kairos.api.app import build

__all__ = ["ServiceSettings", "build", "load_service"]


def __getattr__(name: str) -> Any:
    if name == "build":
        from kairos.api.app import build

        return build
    raise AttributeError(name)
