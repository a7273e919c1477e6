"""What comes from the database or over HTTP is data: no part of Kairos turns it into code."""

from __future__ import annotations

import ast
from pathlib import Path

import kairos

SOURCE = Path(kairos.__file__).parent
# Between a worker and the processes that it started itself, over their own pipes.
OWN_PIPES = {"worker/pickle_pipe.py", "worker/step_process.py", "worker/process_pool.py"}
# Between a worker and its client process of a cluster, and over the cluster's own transport, which pickles everything.
OWN_PIPES |= {f"worker/clusters/{name}.py" for name in ("pool", "connection", "bridge", "task")}
LOADERS = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "yaml", "jsonpickle"}
RUNNERS = {"eval", "exec", "compile", "__import__"}


def modules() -> dict[str, ast.Module]:
    return {str(path.relative_to(SOURCE)): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}


def test_nothing_but_a_workers_own_pipes_is_unpickled() -> None:
    found = {
        name
        for name, module in modules().items()
        for node in ast.walk(module)
        if (isinstance(node, ast.Import) and {each.name.partition(".")[0] for each in node.names} & LOADERS)
        or (isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in LOADERS)
    }
    assert found <= OWN_PIPES


def test_no_text_is_run_as_python() -> None:
    found = {
        f"{name}:{node.lineno}"
        for name, module in modules().items()
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RUNNERS
    }
    assert found == set()
