"""Tests observe what anybody may: none reads or replaces a private attribute of another object."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]
# Documented names of the standard library that begin with an underscore.
PUBLIC = {"_asdict", "_exit", "_fields", "_make", "_replace"}


def test_no_test_reads_or_replaces_a_private_attribute() -> None:
    found = {
        f"{path.relative_to(TESTS)}:{node.lineno} {name}"
        for path in sorted(TESTS.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        for name in names(node)
        if name.startswith("_") and not name.startswith("__") and name not in PUBLIC
    }
    assert found == set()


def names(node: ast.AST) -> list[str]:
    """The names that the node takes from another object: `x._y`, `setattr(x, "_y", …)`, `from x import _y`."""
    match node:
        case ast.Attribute(value=ast.Name(id="self" | "cls")):
            return []
        case ast.Attribute(attr=name):
            return [name]
        case ast.ImportFrom(names=imported):
            return [each.name for each in imported]
        case ast.Call(func=ast.Name(id=function) | ast.Attribute(attr=function), args=given) if function in {
            "getattr",
            "setattr",
            "delattr",
            "patch",
            "attrgetter",
        }:
            # The name is the second argument, or the end of a path such as "kairos.worker.flusher.STALLED_AFTER".
            texts = [each.value for each in given[:2] if isinstance(each, ast.Constant)]
            return [text.rpartition(".")[2] for text in texts if isinstance(text, str)][-1:]
    return []
