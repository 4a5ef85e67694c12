"""The audit: runs a fit against itself to see whether one entity shows. Everything it returns is internal, not private.

    plan, source ─► tape audit (D against D′, answer by answer) ─► AuditReport
                 ─► physical audit (the same, D and D′ two databases); source audit (D′ a copy of D without an entity)
                 ─► canary audit (many fits with and without one entity) ─► CanaryReport
    schema, source ─► what a fit would meet in the rows (`mare check --read-rows`) ─► RowsMet

It may open the stage, because it looks at true rows; nothing of what it finds may leave the house.
"""

from .canary import Session, canary_audit, mechanism_audit, session_audit
from .physical import SourceAudit, physical_audit, source_audit
from .report import (
    INTERNAL,
    AuditReport,
    CanaryReport,
    QueryAudit,
    ReplayAudit,
    audit_document,
    audit_in_words,
    read_audit,
)
from .tape import account_faults, tape_audit

__all__ = [
    "INTERNAL", "AuditReport", "CanaryReport", "QueryAudit", "ReplayAudit", "Session", "SourceAudit", "account_faults",
    "audit_document", "audit_in_words", "canary_audit", "mechanism_audit", "physical_audit", "read_audit", "session_audit",
    "source_audit", "tape_audit",
]  # fmt: skip
