"""Write the OpenAPI document into the docs.

`python -m kairos.api.export_openapi` writes it; `--check` fails when it is stale.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kairos.api.app import build
from kairos.app import Kairos

FILE = Path(__file__).parents[3] / "docs" / "reference" / "openapi.gen.json"


def main(arguments: list[str]) -> int:
    """Write the document, or with `--check` say that it is stale and return 1."""
    document = build(Kairos("postgresql://nobody@localhost/none")).openapi()  # nothing is connected to
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    is_stale = not FILE.exists() or FILE.read_text() != text
    if is_stale and "--check" in arguments:
        sys.stderr.write(f"{FILE.name} is stale: run `python -m kairos.api.export_openapi`.\n")
        return 1
    if is_stale:
        FILE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
