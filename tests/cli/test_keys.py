"""`kairos keys`: made, listed and revoked straight in the database."""

from __future__ import annotations

import re

import pytest
from tests.cli.terminal import Terminal

from kairos import SyncKairos
from kairos.operations.keys import key_of


def test_a_key_is_made_shown_once_and_good(kairos: Terminal, client: SyncKairos) -> None:
    said = kairos("keys", "add", "the billing service", "--scope", "enqueue", "--scope", "read")
    assert said.code == 0
    (token,) = re.findall(r"^kr_\S+$", said.out, re.MULTILINE)
    listed = kairos("keys", "ls").out
    assert "the billing service" in listed and "never" in listed
    assert token.split("_", 2)[2] not in listed
    found = client.run(key_of(token))
    assert (found.name, found.scopes) == ("the billing service", ("read", "enqueue"))


def test_a_key_may_end_by_itself_or_be_ended(kairos: Terminal, client: SyncKairos) -> None:
    key = kairos("keys", "add", "x", "--scope", "admin", "--expires-in", "1h", "--json").json["key"]
    assert key["expiresAt"] > key["createdAt"] and key["createdBy"] == "cli"
    revoked = kairos("keys", "revoke", key["id"], "--json").json["key"]
    assert revoked["revokedAt"] is not None
    assert client.run(key_of(key["secret"])) is None
    assert "revoked" in kairos("keys", "ls").out
    assert [each["id"] for each in kairos("keys", "ls", "--json").json["keys"]] == [key["id"]]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["add", "x"], 64),
        (["add", "x", "--scope", "root"], 64),
        (["add", "", "--scope", "read"], 64),
        (["add", "x", "--scope", "read", "--expires-in", "soon"], 64),
        (["revoke", "0000"], 66),
    ],
    ids=["no scope", "an unknown scope", "no name", "no length of time", "no such key"],
)
def test_what_makes_no_sense_is_refused(kairos: Terminal, arguments: list[str], code: int) -> None:
    said = kairos("keys", *arguments)
    assert (said.code, said.out) == (code, "")
    assert said.err.startswith("kairos: ")


def test_without_keys_the_list_says_what_that_means(kairos: Terminal) -> None:
    assert "open to this machine" in kairos("keys", "ls").out
