"""The people on a document, as the admin shows them."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from config.times import exact
from documents.models import Document, Recipient
from documents.support import may_view


class RecipientInline(admin.TabularInline):  # type: ignore[type-arg]
    """The people on a document, in the signing order."""

    model = Recipient
    ordering = ("order", "id")
    fields = readonly_fields = (
        "name",
        "email",
        "role",
        "status",
        "order",
        "sent",
        "viewed",
        "completed",
        "declined",
        "decline_reason",
    )
    can_delete = False
    empty_value_display = "–"
    show_change_link = False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may_view(request, "view_recipient")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description="sent")
    def sent(self, recipient: Recipient) -> str:
        return when(recipient.sent_at)

    @admin.display(description="viewed")
    def viewed(self, recipient: Recipient) -> str:
        return when(recipient.viewed_at)

    @admin.display(description="signed or approved")
    def completed(self, recipient: Recipient) -> str:
        return when(recipient.completed_at)

    @admin.display(description="declined")
    def declined(self, recipient: Recipient) -> str:
        return when(recipient.declined_at)


def in_order(document: Document) -> list[Recipient]:
    """The document's recipients in the signing order, as they were read with it."""
    return sorted(document.recipients.all(), key=lambda each: (each.order, each.id))


def when(moment: datetime | None) -> str:
    return exact(moment) if moment else "–"
