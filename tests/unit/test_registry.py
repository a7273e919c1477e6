"""The machines an app knows."""

from __future__ import annotations

from typing import Any

import pytest

from kairos import Kairos
from kairos.errors import BadDefinition, UnknownAction


def versions(*numbers: int) -> Kairos:
    app = Kairos()
    for number in numbers:

        @app.job(name="send", version=number)
        def send() -> Any: ...

    return app


def test_versions_live_side_by_side_and_new_jobs_begin_on_the_newest() -> None:
    app = versions(2, 10, 9)
    assert len(app.registry) == 3
    assert app.action("send").machine.version == 10
    assert [app.registry.find("send", number) is not None for number in (1, 2, 9, 10)] == [
        False,
        True,
        True,
        True,
    ]


def test_the_same_name_and_version_twice_is_refused() -> None:
    with pytest.raises(BadDefinition, match="registered twice"):
        versions(1, 1)


def test_an_unknown_action_is_refused_with_the_known_ones_named() -> None:
    with pytest.raises(UnknownAction, match="Did you mean 'send'") as refused:
        versions(1).action("sned")
    assert refused.value.field == "action"
    with pytest.raises(UnknownAction, match="Known: none"):
        Kairos().action("send")
