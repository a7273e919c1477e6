"""What a release is made of: one version, links that work on the package index, workflows that fit their schema."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.docs.pages import ROOT, text

PROJECT = tomllib.loads(text("pyproject.toml"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_readme_of_the_package_has_no_relative_link() -> None:
    pytest.importorskip("hatchling", reason="hatchling is not installed outside of a build")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    hook: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    page = hook.absolute(text("README.md"))
    links = re.findall(r"\]\(([^)\s]+)\)", page) + re.findall(r'(?:src|srcset)="([^"]+)"', page)
    assert len(links) > 30
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert PROJECT["urls"]["Source"] == hook.REPOSITORY


def test_the_version_is_said_in_one_place_and_the_manifests_follow_it() -> None:
    images = {
        tag
        for manifest in (ROOT / "deploy" / "kubernetes").glob("*.yaml")
        for tag in re.findall(r"image: kairos:(\S+)", manifest.read_text())
    }
    assert images == {PROJECT["version"]}
    said = [
        str(file)
        for file in (ROOT / "src" / "kairos").rglob("*.py")
        if re.search(rf"\b{re.escape(PROJECT['version'])}\b", file.read_text())
    ]
    assert [file for file in said if "/actions/" not in file] == []  # there it is part of an address


def test_the_package_says_where_its_source_documentation_and_changes_are() -> None:
    assert {"Documentation", "Source", "Changelog", "Issues"} <= PROJECT["urls"].keys()


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_fits_its_schema(workflow: Path) -> None:
    tool = shutil.which("check-jsonschema", path=str(Path(sys.executable).parent))
    if tool is None:
        pytest.skip("check-jsonschema is not installed here")
    checked = subprocess.run(
        [tool, "--builtin-schema", "vendor.github-workflows", workflow],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_release_tests_its_wheel_on_every_python_that_the_package_names() -> None:
    named = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert f"python: {named}".replace("'", '"') in text(".github/workflows/release.yml")
