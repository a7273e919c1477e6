"""What is in `deploy/` is right: each file by its own tool, and every metric and option by the code itself."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from docsite.reference import metric_families
from tests.docs.pages import ROOT

from kairos.cli import root

DEPLOY = ROOT / "deploy"
BIN = Path(sys.executable).parent
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
# What each kind of metric is scraped as.
SUFFIXES = {"histogram": ("_bucket", "_count", "_sum"), "gauge": ("",), "counter": ("",), "info": ("",)}


def tool(name: str) -> str:
    """The path of a program, of the virtual environment first; the test is skipped where there is none."""
    found = shutil.which(name, path=str(BIN)) or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed here")
    return found


def check(*command: object) -> None:
    ended = subprocess.run([str(each) for each in command], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_dockerfile_passes_its_linter() -> None:
    check(tool("hadolint"), DEPLOY / "Dockerfile")


def test_the_image_is_built_in_stages_runs_as_nobody_special_and_tells_its_health() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    assert len(re.findall(r"^FROM ", text, re.MULTILINE)) == 2
    assert re.findall(r"^USER (.+)$", text, re.MULTILINE) == ["10001"]
    assert "HEALTHCHECK" in text


def test_what_the_image_copies_is_enough_to_build_the_package(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="hatchling is not installed outside of a build")
    for line in re.findall(r"^COPY (?!--)(.+) \S+$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE):
        for source in line.split():
            if (ROOT / source).is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "site")
                shutil.copytree(ROOT / source, tmp_path / source, ignore=ignored)
            else:
                shutil.copy(ROOT / source, tmp_path / source)
    build = "from hatchling.build import build_wheel; print(build_wheel('.'))"
    ended = subprocess.run(
        [sys.executable, "-c", build], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


def test_the_compose_file_fits_the_schema_of_compose() -> None:
    check(tool("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml")


@pytest.mark.parametrize("unit", ["kairos-worker@.service", "kairos-serve.service"])
def test_a_systemd_unit_passes_systemd_analyze(unit: str, tmp_path: Path) -> None:
    # The program and the account of the unit are not here: it is checked with others in their place.
    text = (DEPLOY / "systemd" / unit).read_text()
    copy = tmp_path / unit.replace("@", "@1")
    copy.write_text(text.replace("/srv/app/.venv/bin/kairos", "/bin/true").replace("=kairos\n", "=root\n"))
    ended = subprocess.run(
        [tool("systemd-analyze"), "verify", copy], capture_output=True, text=True, check=False
    )
    mine = [line for line in ended.stderr.splitlines() if copy.name in line]
    assert mine == []


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.stem)
def test_a_kubernetes_manifest_fits_the_schema_of_its_kind(manifest: Path) -> None:
    kubernetes_validate = pytest.importorskip(
        "kubernetes_validate", reason="kubernetes-validate is not installed"
    )
    for document in yaml.safe_load_all(manifest.read_text()):
        if "keda" not in document["apiVersion"]:  # a kind of its own, which Kubernetes has no schema for
            kubernetes_validate.validate(document, "1.31", strict=True)


def test_every_container_runs_without_privileges_and_has_its_probes() -> None:
    for manifest in MANIFESTS:
        for document in yaml.safe_load_all(manifest.read_text()):
            if document["kind"] == "Deployment":
                pod = document["spec"]["template"]["spec"]
                assert pod["securityContext"]["runAsNonRoot"] is True
                for container in pod["containers"]:
                    assert container["securityContext"]["capabilities"]["drop"] == ["ALL"]
                    assert "livenessProbe" in container


def test_the_termination_grace_of_an_orchestrator_is_20_seconds_longer_than_the_workers() -> None:
    worker = next(yaml.safe_load_all((DEPLOY / "kubernetes" / "worker.yaml").read_text()))
    pod = worker["spec"]["template"]["spec"]
    arguments = pod["containers"][0]["args"]
    grace = int(arguments[arguments.index("--grace") + 1].removesuffix("s"))
    assert pod["terminationGracePeriodSeconds"] == grace + 20
    assert f"TimeoutStopSec={grace + 20}\n" in (DEPLOY / "systemd" / "kairos-worker@.service").read_text()
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    assert compose["services"]["worker"]["stop_grace_period"] == f"{grace + 20}s"


def test_the_rules_and_the_scrape_configuration_pass_promtool(tmp_path: Path) -> None:
    promtool = tool("promtool")
    check(promtool, "check", "rules", DEPLOY / "prometheus" / "rules.yaml")
    shutil.copy(DEPLOY / "prometheus" / "scrape.yaml", tmp_path / "prometheus.yml")
    check(promtool, "check", "config", "--syntax-only", tmp_path / "prometheus.yml")


def test_rules_dashboard_and_scaler_name_only_metrics_and_labels_that_exist() -> None:
    there: dict[str, set[str]] = {}
    for name, kind, labels, _ in metric_families():
        for suffix in SUFFIXES[kind]:
            there[name + suffix] = {*labels, "le"} if suffix == "_bucket" else set(labels)
    used = [expression for file in ("rules", "dashboard", "keda") for expression in _expressions(file)]
    assert len(used) > 20
    for expression in used:
        names = re.findall(r"\bkairos_\w+", expression)
        assert names, expression
        assert set(names) <= there.keys(), expression
        labels = set(re.findall(r"(\w+)=~?\"", expression))
        for group in re.findall(r"by \(([^)]*)\)", expression):
            labels |= set(group.replace(" ", "").split(","))
        assert labels <= set().union(*(there[name] for name in names)), expression


def test_the_dashboard_is_what_its_script_writes() -> None:
    assert (DEPLOY / "grafana" / "kairos.json").read_text() == _dashboard_script().rendered()


def test_every_command_in_the_files_has_the_options_that_it_is_given() -> None:
    commands: Any = typer.main.get_command(root.app)
    found = list(_command_lines())
    assert {line[0] for line in found} >= {"worker", "serve", "migrate"}
    for name, *arguments in found:
        options = {each for parameter in commands.commands[name].params for each in parameter.opts}
        assert {each for each in arguments if each.startswith("--")} <= options, (name, arguments)


def _expressions(file: str) -> Iterator[str]:
    if file == "rules":
        for group in yaml.safe_load((DEPLOY / "prometheus" / "rules.yaml").read_text())["groups"]:
            yield from (rule["expr"] for rule in group["rules"])
    elif file == "dashboard":
        for panel in json.loads((DEPLOY / "grafana" / "kairos.json").read_text())["panels"]:
            yield from (target["expr"] for target in panel["targets"])
    else:
        scaler = yaml.safe_load((DEPLOY / "kubernetes" / "keda.yaml").read_text())
        yield from (trigger["metadata"]["query"] for trigger in scaler["spec"]["triggers"])


def _command_lines() -> Iterator[list[str]]:
    for service in yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"].values():
        if "command" in service and "entrypoint" not in service:
            yield service["command"]
    for manifest in MANIFESTS:
        for document in yaml.safe_load_all(manifest.read_text()):
            for container in document["spec"].get("template", {}).get("spec", {}).get("containers", []):
                yield container["args"]
    for unit in (DEPLOY / "systemd").glob("*.service"):
        yield from (
            line.split() for line in re.findall(r"^ExecStart=\S+ (.+)$", unit.read_text(), re.MULTILINE)
        )
    image = (DEPLOY / "Dockerfile").read_text()
    yield from (json.loads(line) for line in re.findall(r"^CMD (.+)$", image, re.MULTILINE))


def _dashboard_script() -> Any:
    spec = importlib.util.spec_from_file_location("make_dashboard", DEPLOY / "grafana" / "make_dashboard.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
