from collections import Counter
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Case, Q, QuerySet, Value, When
from django.db.models.functions import Concat
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from apikeys.admin.pages import CreateKey, DeleteKey, KeyPage, RevokeKey, RollKey
from apikeys.keys import ENDED
from apikeys.models import ApiKey
from apikeys.templatetags.keys import refusals, refused_of, sentence
from apikeys.usage import report
from apikeys.usage.models import KeyUsage
from audit.scope import Scope, ScopedAdmin, own_scope
from config.console.base import ADMINS
from config.console.identify import Kind
from workspaces.plans import WITH_API

SHOWN = 5  # keys on the start page, and warnings of each kind


@admin.register(ApiKey)
class ApiKeyAdmin(ScopedAdmin):
    """Only admins of a key's workspace see it: for anybody else the key does not exist."""

    title = "Developer settings"  # as the 401 calls the place where a key is created
    seen_by = (ADMINS,)
    menu_position = 10
    add_text = "Create a key"
    ordering = (Case(When(ENDED, then=Value(1)), default=Value(0)), "-created_at", "-id")
    search_fields = ["name", "prefix"]
    search_help_text = "Any part of a name, or the first characters"
    found_by = {Kind.KEY: "prefix", Kind.TEXT: "shown__icontains"}
    pages = {
        "add": CreateKey,
        "change": KeyPage,
        "roll": RollKey,
        "revoke": RevokeKey,
        "delete": DeleteKey,
    }

    def scope(self, request: HttpRequest) -> Scope:
        return own_scope(request)

    def rows(self, request: HttpRequest) -> QuerySet[ApiKey]:
        """As pages show them: "dtd_7b28Xd2k… CRM"; the box finds any part of that."""
        shown = Concat("prefix", Value("… "), "name")
        keys: QuerySet[ApiKey] = super().rows(request).annotate(shown=shown)
        return keys.select_related("workspace", "created_by", "revoked_by", "replaced_by")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return getattr(own_scope(request).workspace, "plan", "") in WITH_API

    def health(self, request: HttpRequest) -> dict[str, list[str]]:
        workspace = own_scope(request).workspace
        of = Q(workspace=workspace)
        ending = self.ending(request, of)
        refused = refused_of(Q(key_id__in=ApiKey.objects.filter(of).values("pk")))
        return {
            "API access": [*refusals(workspace), *refused[:SHOWN]],
            "expiry of keys": [sentence("expires", key=key) for key in ending[:SHOWN]],
        }

    def needs_a_look(self, request: HttpRequest) -> Iterable[tuple[UUID, str, SafeString]]:
        scope = own_scope(request)
        others = scope.own.exclude(pk=scope.workspace.pk)
        for other in others.exclude(suspended=False, plan__in=WITH_API)[: report.MOST]:
            yield from ((other.pk, other.name, why) for why in refusals(other))
        for key in self.ending(request, scope.visible())[: report.MOST]:
            yield key.workspace_id, key.workspace.name, sentence("expires", key=key)

    def ending(self, request: HttpRequest, of: Q) -> Any:
        """Those of these keys that end soon, or are used though they were rolled."""
        keys: Any = self.rows(request).filter(of).order_by("expires_at", "-created_at")
        return keys.expiring() | keys.used_since_rolled()

    def panels(self, request: HttpRequest) -> list[SafeString]:
        """Thirty days of the workspace, and of the keys that are used most."""
        workspace = own_scope(request).workspace
        usage = KeyUsage.objects.filter(workspace_id=workspace.pk)
        requests = Counter[Any]()
        for day in report.by_day(usage, "key_id"):
            requests[day.key_id] += day.requests
        found = self.get_queryset(request).exclude(ENDED, last_used_at=None)
        keys = sorted(found, key=lambda key: (key.state.has_ended, -requests[key.pk]))[:SHOWN]
        others = requests.total() - sum(requests[key.pk] for key in keys)
        return [
            report.panel(usage, workspace.name, workspace_id__exact=workspace.pk),
            render_to_string("admin/apikeys/panel.html", {"keys": keys, "others": others}),
        ]
