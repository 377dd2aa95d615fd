"""Revoking and deleting keys in the admin, each after a confirmation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse

from apikeys.models import ApiKey
from audit.links import AuditHistory
from config.admin.base import SectionAdmin, request_user
from config.admin.formatting import ago, exact

LIST = "admin:apikeys_apikey_changelist"
REVOKE_URL = "apikeys_apikey_revoke"
CONFIRM = "admin/apikeys/apikey/confirm.html"


@dataclass(frozen=True)
class KeyAction:
    """An action that ends keys.

    Attributes:
        name: the name of the list's action.
        verb: the label of the button.
        done: the past participle for the message.
        consequence: the text of the confirmation.
        applies: whether the action applies to a key.
        run: runs the action and writes the audit entry.
    """

    name: str
    verb: str
    done: str
    consequence: str
    applies: Callable[[ApiKey], bool]
    run: Callable[[ApiKey, User], None]


REVOKE = KeyAction(
    name="revoke_selected",
    verb="Revoke",
    done="revoked",
    consequence="A revoked key stops immediately and for good: the next request with it gets 401. "
    "It stays in the list, marked as revoked.",
    applies=lambda key: key.revoked_at is None,
    run=lambda key, user: key.revoke(by=user),
)
DELETE = KeyAction(
    name="delete_selected",
    verb="Delete",
    done="deleted",
    consequence="A deleted key stops immediately and leaves the list; the next request gets 401. "
    "Its name and first characters stay in the audit log.",
    applies=lambda key: True,
    run=lambda key, user: key.delete_by(by=user),
)


class KeyActionsAdmin(AuditHistory, SectionAdmin):
    """The actions of the keys' admin: for one key on its page, for several in the list."""

    actions = ("revoke_selected", "delete_selected")

    def get_urls(self) -> list[URLPattern]:
        revoke = self.admin_site.admin_view(self.revoke_view)
        # Before Django's own URLs, the last of which matches any path.
        return [path("<path:object_id>/revoke/", revoke, name=REVOKE_URL), *super().get_urls()]

    def revoke_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self.confirm_or_run(request, REVOKE, [self.visible_or_404(request, object_id)])

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return self.confirm_or_run(request, DELETE, [self.visible_or_404(request, object_id)])

    @admin.action(description="Revoke selected keys", permissions=["view"])
    def revoke_selected(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> HttpResponse:
        return self.confirm_or_run(request, REVOKE, list(keys))

    @admin.action(description="Delete selected keys", permissions=["delete"])
    def delete_selected(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> HttpResponse:
        return self.confirm_or_run(request, DELETE, list(keys))

    def confirm_or_run(
        self, request: HttpRequest, action: KeyAction, keys: list[ApiKey]
    ) -> HttpResponse:
        """Runs the action if the user has confirmed it; otherwise shows the confirmation."""
        keys = [key for key in keys if action.applies(key)]
        if keys and not (request.method == "POST" and "confirmed" in request.POST):
            title = f"{action.verb} {'this key' if len(keys) == 1 else f'these {len(keys)} keys'}?"
            rows = [{"key": key, "used": last_used(key)} for key in keys]
            return self.page(request, CONFIRM, title=title, action=action, rows=rows)
        with transaction.atomic():
            for key in keys:
                action.run(key, request_user(request))
        names = ", ".join(f"“{key.name}”" for key in keys)
        messages.info(request, f"{names}: {action.done}." if keys else "Nothing was left to do.")
        return HttpResponseRedirect(reverse(LIST))


def last_used(key: ApiKey) -> str:
    """When the key was last used: the exact time, and how long ago."""
    return f"{exact(key.last_used_at)} ({ago(key.last_used_at)})" if key.last_used_at else "never"
