"""The schemas of groups of failures."""

from __future__ import annotations

from kairos.api.schemas.base import AgedAnswer, page
from kairos.shapes.error_group import ErrorGroup

ErrorGroupList = page("ErrorGroupList", base=AgedAnswer, errors=ErrorGroup)
