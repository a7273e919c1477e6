"""The schemas of sessions."""

from __future__ import annotations

from pydantic import Field, SecretStr

from kairos.api.schemas.base import Answer, Input, Output, examples
from kairos.shapes.key import Scope


class SignIn(Input):
    """The key to sign in with."""

    model_config = examples({"key": "kr_0123456789abcdef_…"})

    key: SecretStr = Field(min_length=1, max_length=200)


class Session(Output):
    """`csrf` goes into the header `X-CSRF-Token` of every change; `open` is present where no key is needed."""

    name: str
    scopes: list[Scope]
    csrf: str
    open: bool = False


class SessionAnswer(Answer):
    session: Session
