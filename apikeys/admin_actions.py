"""The two ways a key ends, as the admin offers them: each with its words and its deed."""

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
from config.admin.base import AuditedAdmin, request_user
from config.admin.formatting import ago, exact

LIST = "admin:apikeys_apikey_changelist"
REVOKE_URL = "apikeys_apikey_revoke"
CONFIRM = "admin/apikeys/apikey/confirm.html"


@dataclass(frozen=True)
class KeyAction:
    """One way to end keys.

    Attributes:
        action: the name of the list's action.
        verb: what the button says.
        done: what has happened then.
        consequence: what the confirmation says will happen.
        applies: whether a key can still end so.
        end: the deed, which writes the audit entry too.
    """

    action: str
    verb: str
    done: str
    consequence: str
    applies: Callable[[ApiKey], bool]
    end: Callable[[ApiKey, User], None]


REVOKE = KeyAction(
    action="revoke_selected",
    verb="Revoke",
    done="revoked",
    consequence="A revoked key stops at once and for good: the next request with it gets 401. "
    "It stays in the list, marked as revoked.",
    applies=lambda key: key.revoked_at is None,
    end=lambda key, by: key.revoke(by=by),
)
DELETE = KeyAction(
    action="delete_selected",
    verb="Delete",
    done="deleted",
    consequence="A deleted key stops at once and leaves the list; the next request gets 401. "
    "Its name and first characters stay in the audit history.",
    applies=lambda key: True,
    end=lambda key, by: key.delete_by(by=by),
)


class KeyActionsAdmin(AuditedAdmin):
    """The part of the keys' admin that ends them: one from its page, several from the list."""

    actions = ("revoke_selected", "delete_selected")

    def get_urls(self) -> list[URLPattern]:
        revoke = self.admin_site.admin_view(self.revoke_view)
        # Before Django's own, the last of which takes any path.
        return [path("<path:object_id>/revoke/", revoke, name=REVOKE_URL), *super().get_urls()]

    def revoke_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Asks, then revokes one key."""
        return self.end(request, REVOKE, [self.visible_or_404(request, object_id)])

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Asks, then deletes one key."""
        return self.end(request, DELETE, [self.visible_or_404(request, object_id)])

    @admin.action(description="Revoke selected keys", permissions=["view"])
    def revoke_selected(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> HttpResponse:
        return self.end(request, REVOKE, list(keys))

    @admin.action(description="Delete selected keys", permissions=["delete"])
    def delete_selected(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> HttpResponse:
        return self.end(request, DELETE, list(keys))

    def end(self, request: HttpRequest, ending: KeyAction, keys: list[ApiKey]) -> HttpResponse:
        """Ends the keys when the person has confirmed it, and asks otherwise."""
        keys = [key for key in keys if ending.applies(key)]
        if keys and not (request.method == "POST" and "confirmed" in request.POST):
            title = f"{ending.verb} {'this key' if len(keys) == 1 else f'these {len(keys)} keys'}?"
            rows = [{"key": key, "used": last_used(key)} for key in keys]
            return self.page(request, CONFIRM, title=title, ending=ending, rows=rows)
        with transaction.atomic():
            for key in keys:
                ending.end(key, request_user(request))
        names = ", ".join(f"“{key.name}”" for key in keys)
        messages.info(request, f"{names}: {ending.done}." if keys else "Nothing was left to do.")
        return HttpResponseRedirect(reverse(LIST))


def last_used(key: ApiKey) -> str:
    """When the key was last used, exactly and in words."""
    return f"{exact(key.last_used_at)} ({ago(key.last_used_at)})" if key.last_used_at else "never"
