"""The schema of the audit log."""

from kairos.api.schemas.base import page
from kairos.shapes.audit import AuditRow

AuditList = page("AuditList", audit=AuditRow)
