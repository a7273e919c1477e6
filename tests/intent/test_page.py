"""The page “When things run” is true: what it shows is understood, or refused, as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.every_row import every_row
from tests.intent.tables import NOW

from kairos.schedule import IntentError, when

PAGE = Path(__file__).parents[2] / "docs" / "learn" / "when-things-run.md"


def lines(language: str) -> list[str]:
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@every_row(lines("when"))
def test_a_phrase_that_the_page_shows_is_understood_and_reads_back(text):
    plan = when(text, now=NOW)
    assert plan.ticks(after=NOW, limit=1)
    assert when(plan.sentence, now=NOW) == plan


@every_row(lines("refused"))
def test_a_phrase_that_the_page_calls_refused_is_refused_with_suggestions(text):
    with pytest.raises(IntentError) as caught:
        when(text, now=NOW)
    assert caught.value.suggestions


def test_the_page_shows_enough_to_learn_from():
    assert len(lines("when")) > 60
    assert len(lines("refused")) > 15
