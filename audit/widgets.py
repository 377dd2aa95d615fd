"""Inputs of the audit log's filters."""

from typing import Any
from uuid import UUID

from django import forms
from django.urls import reverse

from audit.models import AuditEntry


class WorkspaceSelect(forms.Select):
    """Any workspace, with autocompletion, since there may be 100,000."""

    class Media:
        js = (
            "admin/js/vendor/jquery/jquery.min.js",
            "admin/js/vendor/select2/select2.full.min.js",
            "admin/js/jquery.init.js",
            "admin/js/autocomplete.js",
        )
        css = {
            "screen": (
                "admin/css/vendor/select2/select2.min.css",
                "admin/css/autocomplete.css",
            )
        }

    def build_attrs(
        self, base_attrs: dict[str, Any], extra_attrs: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        return super().build_attrs(base_attrs, extra_attrs) | {
            "class": "admin-autocomplete",
            "data-ajax--url": reverse("admin:audit_auditentry_workspaces"),
            "data-ajax--delay": 250,  # milliseconds
            "data-theme": "admin-autocomplete",
            "data-allow-clear": "true",
            "data-placeholder": "Any workspace",
        }

    def optgroups(
        self, name: str, value: list[str], attrs: dict[str, Any] | None = None
    ) -> list[Any]:
        """The empty choice and the selected one."""
        chosen = [(each, name_of_workspace(each)) for each in value if each]
        self.choices = [("", ""), *chosen]
        return super().optgroups(name, value, attrs)


def name_of_workspace(workspace_id: str) -> str:
    """The workspace's name in its newest entry, even if it was deleted; its id without one."""
    try:
        entries = AuditEntry.objects.filter(workspace_id=UUID(workspace_id))
    except ValueError:
        return workspace_id
    newest = entries.order_by("-created_at", "-id").values_list("workspace_name", flat=True)
    return newest.first() or workspace_id
