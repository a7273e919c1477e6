"""The machines an app knows."""

from __future__ import annotations

from typing import Any

import pytest

from kairos import Kairos
from kairos.errors import BadDefinition, UnknownAction
from kairos.machine.registry import Registry


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


def test_the_machines_of_several_apps_keep_their_limits_hooks_and_queues() -> None:
    one, two = Kairos(), Kairos()

    @one.job(queue="mail", rate=(10, "1m"))
    def send() -> None: ...

    @two.job(queue="reports")
    def report() -> None: ...

    two.registry.extra_queues.add("films")
    both = Registry()
    for app in (one, two):
        both.include(app.registry)
    assert both.limits == one.registry.limits != {}
    assert both.queues == ["default", "films", "mail", "reports"]

    @two.job(queue="mail")
    def other() -> None: ...

    both = Registry()
    both.include(one.registry)
    with pytest.raises(BadDefinition, match="The limits of 'send' are those of its queue 'mail'"):
        both.include(two.registry)
