"""The console's pages of the audit log."""

from audit.admin.list import AuditEntryAdmin

__all__ = ["AuditEntryAdmin"]
