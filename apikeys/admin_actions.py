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
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from apikeys.admin_access import KEY, LIST, KeyAccessAdmin
from apikeys.models import ApiKey
from config.admin.base import request_user
from config.admin.formatting import ago, exact
from workspaces.permissions import administered_by

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
        next_step: the end of the message, after the names of the keys.
        types_to_confirm: whether something has to be typed if a key was used within a day.
        applies: whether the action applies to a key.
        run: runs the action and writes the audit entry.
    """

    name: str
    verb: str
    done: str
    consequence: str
    next_step: str
    types_to_confirm: bool
    applies: Callable[[ApiKey], bool]
    run: Callable[[ApiKey, User], None]


REVOKE = KeyAction(
    name="revoke_selected",
    verb="Revoke",
    done="revoked",
    consequence="A revoked key stops immediately and for good: the next request with it gets 401. "
    "It stays in the list, marked as revoked.",
    next_step="Requests with it get 401 from now on. If a program still needs access,",
    types_to_confirm=False,
    applies=lambda key: key.revoked_at is None,
    run=lambda key, user: key.revoke(by=user),
)
DELETE = KeyAction(
    name="delete_selected",
    verb="Delete",
    done="deleted",
    consequence="A deleted key stops immediately and leaves the list; the next request gets 401. "
    "Its name and first characters stay in the audit log.",
    next_step="Its page and the audit log keep what it did. If a program still needs access,",
    types_to_confirm=True,
    applies=lambda key: True,
    run=lambda key, user: key.delete_by(by=user),
)


class KeyActionsAdmin(KeyAccessAdmin):
    """The actions of the keys' admin: for one key on its page, for several in the list."""

    actions = ("revoke_selected", "delete_selected")

    def get_urls(self) -> list[URLPattern]:
        revoke = self.admin_site.admin_view(self.revoke_view)
        # Before Django's own URLs, the last of which matches any path.
        return [path("<path:object_id>/revoke/", revoke, name=REVOKE_URL), *super().get_urls()]

    def revoke_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self.confirm_or_run(request, REVOKE, [self.own_key(request, object_id)])

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return self.confirm_or_run(request, DELETE, [self.own_key(request, object_id)])

    @admin.action(description="Revoke selected keys", permissions=["delete"])
    def revoke_selected(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> HttpResponse:
        return self.confirm_or_run(request, REVOKE, own(request, keys))

    @admin.action(description="Delete selected keys", permissions=["delete"])
    def delete_selected(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> HttpResponse:
        return self.confirm_or_run(request, DELETE, own(request, keys))

    def confirm_or_run(
        self, request: HttpRequest, action: KeyAction, keys: list[ApiKey]
    ) -> HttpResponse:
        """Runs the action if the user has confirmed it; otherwise shows the confirmation."""
        keys = [key for key in keys if action.applies(key)]
        to_type = text_to_type(action, keys)
        sent = request.method == "POST" and "confirmed" in request.POST
        mistyped = sent and to_type != request.POST.get("typed", "").strip()
        if keys and (mistyped or not sent):
            return self.confirmation(request, action, keys, to_type, mistyped=mistyped)
        with transaction.atomic():
            for key in keys:
                action.run(key, request_user(request))
        messages.success(request, done_message(action, keys) if keys else "Nothing was left to do.")
        return HttpResponseRedirect(reverse(LIST))

    def confirmation(
        self,
        request: HttpRequest,
        action: KeyAction,
        keys: list[ApiKey],
        to_type: str,
        *,
        mistyped: bool,
    ) -> HttpResponse:
        """The page that asks whether the action shall be run."""
        title = f"{action.verb} {'this key' if len(keys) == 1 else f'these {len(keys)} keys'}?"
        rows = [
            {
                "key": key,
                "workspace": self.workspace_label(request, key.workspace),
                "used": last_used(key),
                "warned": key.was_used_lately,
            }
            for key in keys
        ]
        return self.page(
            request,
            CONFIRM,
            title=title,
            action=action,
            rows=rows,
            to_type=to_type,
            mistyped=mistyped,
        )


def own(request: HttpRequest, keys: QuerySet[ApiKey]) -> list[ApiKey]:
    """Those that the user may change; support staff may select others in a list too."""
    return list(keys.filter(workspace__in=administered_by(request_user(request))))


def text_to_type(action: KeyAction, keys: list[ApiKey]) -> str:
    """What confirms the deletion of keys that a program seems to need: the name, or the number."""
    if not (action.types_to_confirm and any(key.was_used_lately for key in keys)):
        return ""
    return keys[0].name if len(keys) == 1 else str(len(keys))


def done_message(action: KeyAction, keys: list[ApiKey]) -> SafeString:
    """What was done, with a link to each key's page, and the next step."""
    links = format_html_join(
        ", ", '“<a href="{}">{}</a>”', ((reverse(KEY, args=[key.pk]), key.name) for key in keys)
    )
    return format_html(
        '{} {} {}. {} <a href="{}">create another key</a>.',
        links,
        "is" if len(keys) == 1 else "are",
        action.done,
        action.next_step,
        reverse("admin:apikeys_apikey_add"),
    )


def last_used(key: ApiKey) -> str:
    """When the key was last used: the exact time, and how long ago."""
    return f"{exact(key.last_used_at)} ({ago(key.last_used_at)})" if key.last_used_at else "never"
