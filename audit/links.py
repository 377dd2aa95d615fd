"""Links from the admin's pages to the audit log."""

from typing import Any
from urllib.parse import urlencode

from django.db.models import Model
from django.urls import reverse
from django.utils.html import format_html


def log_url() -> str:
    return reverse("admin:audit_auditentry_changelist")


def filtered_log_url(**filters: Any) -> str:
    return f"{log_url()}?{urlencode(filters)}"


def log_link(text: str, **filters: Any) -> str:
    """The text as a link to the audit log, filtered by one field; plain text without a value."""
    [value] = filters.values()
    if not value:
        return text
    url = filtered_log_url(**filters)
    title = f"Only entries of {value}"
    return format_html('<a href="{}" title="{}">{}</a>', url, title, text or value)


class AuditHistory:
    """Makes the "History" of an object its entries in the audit log.

    Attributes:
        audit_lookup: the field of an audit entry that has the id of an object of this model.
    """

    audit_lookup = ""

    def history_url(self, obj: Model) -> str:
        return filtered_log_url(**{f"{self.audit_lookup}__exact": obj.pk})
