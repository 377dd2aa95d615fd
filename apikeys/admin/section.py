"""The section of the keys: their list, its filters, and the page that creates one."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Case, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apikeys.admin.pages import LIST, CreateKey, DeleteKey, KeyPage, RevokeKey, RollKey
from apikeys.admin.warnings import health, refusal_warning
from apikeys.keys import ENDED, State
from apikeys.models import ApiKey, ApiKeyQuerySet
from apikeys.usage import report
from apikeys.usage.models import KeyUsage
from audit.scope import Scope, ScopedAdmin, own_scope
from config.console.formatting import isolated, time_tag
from config.console.identify import Kind
from workspaces.api_access import access_warning
from workspaces.plans import WITH_API

SHOWN = 5  # keys on the start page

STATES: dict[str, tuple[str, Callable[[Any], QuerySet[ApiKey]]]] = {
    State.ACTIVE: ("Active", ApiKeyQuerySet.active),
    State.EXPIRES_SOON: ("Expires soon", ApiKeyQuerySet.expiring),
    State.EXPIRED: ("Expired or rolled", lambda keys: keys.filter(ENDED, revoked_at=None)),
    State.REVOKED: ("Revoked", lambda keys: keys.filter(revoked_at__isnull=False)),
}


class KeyStateFilter(admin.SimpleListFilter):
    title = "State"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, label) for value, (label, _) in STATES.items()]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        chosen = self.value()
        return STATES[chosen][1](queryset) if chosen in STATES else queryset


class KeyChangeList(ChangeList):
    """Django's change list, with the usage of the keys on its page."""

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The keys with what the template cannot find out."""
        found: list[ApiKey] = list(self.result_list)
        usage = report.daily(
            KeyUsage.objects.filter(key_id__in=[key.pk for key in found]), "key_id"
        )
        return [
            {
                "key": key,
                "is_refused": not key.state.has_ended and bool(access_warning(key.workspace)),
                "chart": report.chart(usage[key.pk], small=True),
                "usage": report.total(usage[key.pk].values()),
            }
            for key in found
        ]


@admin.register(ApiKey)
class ApiKeyAdmin(ScopedAdmin):
    """The list of keys, and the pages that it leads to.

    Only admins of a key's workspace see it: not support staff, not operators. All access goes
    through `get_queryset`, so that for anybody else the key does not exist.
    """

    nouns = "developer settings"  # as the 401 calls the place where a key is created
    menu_position = 10
    add_text = "Create a key"
    search_fields = ["name", "prefix"]
    search_help_text = "Any part of a name, or the first characters"
    list_filter = [KeyStateFilter]
    list_display = ("name",)  # the list's template has the other columns
    list_per_page = 50
    sortable_by = ()
    actions = None
    pages = {
        "add": CreateKey,
        "change": KeyPage,
        "roll": RollKey,
        "revoke": RevokeKey,
        "delete": DeleteKey,
    }
    # --- Access

    def scope(self, request: HttpRequest) -> Scope:
        return own_scope(request)

    def rows(self, request: HttpRequest) -> QuerySet[ApiKey]:
        keys: QuerySet[ApiKey] = super().rows(request)
        return keys.select_related("workspace", "created_by", "revoked_by", "replaced_by")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        workspace = own_scope(request).workspace
        return workspace is not None and workspace.plan in WITH_API

    def find(self, request: HttpRequest, kind: Kind, text: str) -> str:
        if kind != Kind.KEY:
            return super().find(request, kind, text)
        return self.url_of_found(self.openable(request).filter(prefix=text), text)

    # --- The list

    def get_ordering(self, request: HttpRequest) -> Any:
        return [Case(When(ENDED, then=Value(1)), default=Value(0)), "-created_at", "-id"]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[KeyChangeList]:
        return KeyChangeList

    def health(self, request: HttpRequest) -> dict[str, list[str]]:
        workspace = own_scope(request).workspace
        return health(workspace) if workspace else {}

    def panels(self, request: HttpRequest) -> list[SafeString]:
        """Thirty days of the workspace, and of its keys, most used first: from the same rows."""
        workspace = own_scope(request).workspace
        days = report.daily(KeyUsage.objects.filter(workspace_id=workspace.pk), "key_id")
        used = {key_id: report.total(each.values()).requests for key_id, each in days.items()}
        keys = list(self.get_queryset(request).order_by(*self.get_ordering(request)))
        keys.sort(key=lambda key: -used.get(key.pk, 0))
        rows = [
            {
                "key": key,
                "chart": report.chart(days[key.pk], small=True),
                "requests": used.get(key.pk, 0),
            }
            for key in keys[:SHOWN]
        ]
        others = sum(used.values()) - sum(row["requests"] for row in rows)
        summed = report.summed(days.values())
        return [
            report.panel(summed, workspace.name, workspace_id__exact=workspace.pk),
            render_to_string("admin/apikeys/panel.html", {"rows": rows, "others": others}),
        ]

    def created(
        self, request: HttpRequest, key: ApiKey, raw: str, old: ApiKey | None = None
    ) -> HttpResponse:
        """The response to a POST, the only one that contains the raw key."""
        about = [format_html("It belongs to {}.", isolated(key.workspace))]
        if key.expires_at:
            about.append(format_html("It expires on {}.", time_tag(key.expires_at)))
        if old:
            about.append(format_html("The old key, <code>{}…</code>, {}.", old.prefix, end_of(old)))
        return self.render_page(
            request,
            "admin/secret.html",
            title="API key rolled" if old else "API key created",
            what="key",
            of=str(key),
            raw=raw,
            if_lost="We keep only a fingerprint. If the key gets lost, create another.",
            about=about,
            next_steps="admin/apikeys/apikey/next_steps.html",
            warnings=filter(None, [refusal_warning(key.workspace)]),
            base=request.build_absolute_uri("/").rstrip("/"),
            back=reverse(LIST),
        )


def end_of(old: ApiKey) -> str:
    """When a key that was rolled stops, after its name."""
    if old.expires_at is None:
        return "works until you revoke it"
    if old.state.has_ended:
        return "has ended"
    return format_html("works until {}", time_tag(old.expires_at))
