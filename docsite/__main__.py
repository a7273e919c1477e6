"""`./kairos docs`: build the documentation site; broken links, anchors and pages without a place fail it."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILT = ROOT / "build" / "site"
# `kairos serve` shows what is here at /docs; a release builds it before its wheel.
PACKAGED = ROOT / "src" / "kairos" / "api" / "site"


def main() -> int:
    parser = argparse.ArgumentParser(prog="kairos docs", description=__doc__)
    parser.add_argument("--serve", action="store_true", help="show it while you write")
    parser.add_argument("--package", action="store_true", help="put it into the package, for `kairos serve`")
    asked = parser.parse_args()
    mkdocs = [sys.executable, "-m", "mkdocs", "serve" if asked.serve else "build", "--strict"]
    # The theme prints advertisements for its successor otherwise.
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    code = subprocess.run(mkdocs, cwd=ROOT, env=environment, check=False).returncode
    if code == 0 and asked.package:
        shutil.rmtree(PACKAGED, ignore_errors=True)
        shutil.copytree(BUILT, PACKAGED, ignore=shutil.ignore_patterns("*.map", "sitemap*"))
    if code == 0 and not asked.serve:
        print(f"The site is in {(PACKAGED if asked.package else BUILT).relative_to(ROOT)}: open index.html.")
    return code


if __name__ == "__main__":
    sys.exit(main())
