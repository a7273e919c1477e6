"""The package index shows README.md without the repository around it: make its relative links absolute."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY = "https://github.com/kairos-scheduler/kairos"
_LINK = re.compile(r"(\]\()(?![a-z]+:|#)([^)\s]+)(\))")
_IMAGE = re.compile(r'((?:src|srcset)=")(?![a-z]+:)([^"]+)(")')
_COMMENT = re.compile(r"^<!-- [\w -]+ -->\n", re.MULTILINE)


def absolute(text: str) -> str:
    """Return the page with links that lead to the repository wherever it is shown."""
    text = _COMMENT.sub("", text)
    text = _IMAGE.sub(rf"\1{REPOSITORY}/raw/main/\2\3", text)
    return _LINK.sub(rf"\1{REPOSITORY}/blob/main/\2\3", text)


class AbsoluteReadme(MetadataHookInterface):
    """Gives the package its description."""

    def update(self, metadata: dict[str, Any]) -> None:
        page = Path(self.root) / "README.md"
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(page.read_text())}
