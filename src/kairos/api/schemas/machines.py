"""The schemas of machines."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from kairos.api.schemas.base import Answer, extended, one, page
from kairos.shapes.machine import MachineRow

Machine = extended("Machine", MachineRow, versions=list[int])
MachineAnswer = one("MachineAnswer", machine=Machine)
MachineList = page("MachineList", machines=Machine)


class Diagram(Answer):
    diagram: dict[str, Any]
    mermaid: str


class SchemaAnswer(Answer):
    schema_: dict[str, Any] = Field(alias="schema")
