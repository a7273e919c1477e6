"""The group of a failure: its action, its exception, and the last frame of the user's own code."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile

import pytest
from tests.unit.settling import claim

from kairos.machine.error_frame import CARRIED, own_frame
from kairos.worker.error_groups import fingerprint
from kairos.worker.settle import failure


def _raises(error: Exception) -> None:
    raise error


def caught(function: object, *arguments: object) -> BaseException:
    try:
        function(*arguments)  # type: ignore[operator]
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def test_the_last_frame_is_named_by_file_and_function() -> None:
    place, shown = own_frame(caught(_raises, ValueError("x")))
    assert place == "unit/test_error_groups.py in _raises"
    assert shown is not None and shown.startswith("unit/test_error_groups.py:")


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (json.loads, ("{",)),
        (subprocess.run, (["/no/such/program"],)),
        (tempfile.mkdtemp, ("", "", "/no/such/folder")),
    ],
)
def test_frames_of_the_standard_library_are_not_the_users(
    function: object, arguments: tuple[object, ...]
) -> None:
    assert own_frame(caught(function, *arguments))[0] == "unit/test_error_groups.py in caught"


def test_frames_of_installed_packages_and_of_kairos_are_not_the_users() -> None:
    from pydantic import TypeAdapter

    from kairos.durations import duration

    for function, arguments in (
        (TypeAdapter(int).validate_python, ("x",)),
        (TypeAdapter, (sys,)),
        (duration, ("soon", "delay")),
    ):
        assert own_frame(caught(function, *arguments))[0] == "unit/test_error_groups.py in caught"


def test_an_error_without_a_traceback_has_no_frame_but_may_carry_one() -> None:
    error = ValueError("x")
    assert own_frame(error) == ("", None)
    setattr(error, CARRIED, ("a.py in f", "a.py:1 in f"))
    assert own_frame(error) == ("a.py in f", "a.py:1 in f")


def test_messages_and_lines_do_not_part_a_group_and_actions_do() -> None:
    first = failure(claim(), caught(_raises, ValueError("order 7")))
    second = failure(claim(), caught(_raises, ValueError("order 8")))
    other = failure(claim(), caught(_raises, KeyError("order 8")))
    assert first.error_group == second.error_group != other.error_group
    assert fingerprint("a", "E", "f") != fingerprint("b", "E", "f")
    assert len(fingerprint("a", "E", "f")) == 16
