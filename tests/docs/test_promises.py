"""The page of promises: each has a number, what it does not promise, and tests that exist."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest
from tests.docs.pages import ROOT, text

PAGE = text("docs/promises.md")
SECTION = re.compile(r"^### (P\d+) · (.+?)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
PROMISES = {number: body for number, _, body in SECTION.findall(PAGE)}
# Several tenants in one database are not a feature yet.
LATER = {25}


def test_every_promise_is_there_once() -> None:
    assert sorted(PROMISES, key=lambda each: int(each[1:])) == [
        f"P{number}" for number in range(1, 28) if number not in LATER
    ]
    assert len(SECTION.findall(PAGE)) == len(PROMISES)


@pytest.mark.parametrize("number", PROMISES)
def test_a_promise_has_one_sentence_its_limit_and_tests_that_exist(number: str) -> None:
    promise, limit, *rest = re.split(r"\n\n", PROMISES[number].strip())
    assert promise.count(". ") == 0 and promise.endswith("."), promise
    assert limit.startswith("Not promised: ") and limit.endswith("."), limit
    named = re.findall(r"^- `(tests/[\w/]+\.py)::(\w+)`$", "\n".join(rest), re.MULTILINE)
    assert named and len(named) == "\n".join(rest).count("\n- ") + 1
    assert [f"{file}::{test}" for file, test in named if test not in collected_from(file)] == []


@cache
def collected_from(file: str) -> set[str]:
    """What pytest collects from a file: its functions whose names begin so."""
    path = ROOT / file
    if not path.is_file() or not path.name.startswith("test_"):
        return set()
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, functions) and node.name.startswith("test_")
    }
