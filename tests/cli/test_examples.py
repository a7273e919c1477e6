"""The examples tell the truth: each runs its whole story."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.terminal import Process

EXAMPLES = Path(__file__).parents[2] / "examples"
STORIES = {
    "hello": ["greet -> Hello, world!", "fetch -> fetched at attempt 2", "report -> {'pages': 5}"],
    "order": ["order -> {'at': 'noon', 'order': 42, 'charge': 'ch_42'}"],
    "fanout": ["census -> {'cities': 3, 'letters': 12}"],
}


@pytest.mark.parametrize("name", STORIES)
def test_an_example_runs_its_story(start: Callable[..., Process], database: str, name: str) -> None:
    process = start(EXAMPLES / f"{name}.py", program=Path(sys.executable), KAIROS_DATABASE_URL=database)
    assert process.end() == 0, process.said
    assert [line for line in process.said.splitlines() if " -> " in line] == STORIES[name]
    assert "locals" not in process.said  # of the frames of an error: they would show arguments


def test_every_example_has_a_story() -> None:
    assert sorted(STORIES) == sorted(path.stem for path in EXAMPLES.glob("*.py"))
