"""The section of the keys: their list, its filters, and the page that creates one."""

from functools import partialmethod
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import ValidationError
from django.db.models import Case, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.safestring import SafeString

from apikeys.admin.pages import LIST, DeleteKey, KeyPage, RevokeKey, RollKey, require_plan
from apikeys.admin.warnings import ended_warnings, limit_warnings, refusal_warning
from apikeys.forms import NewKeyForm
from apikeys.keys import ENDED, State
from apikeys.models import AlreadyIssued, ApiKey, ApiKeyQuerySet
from apikeys.usage import report
from apikeys.usage.models import KeyUsage
from audit.admin.links import AuditHistory
from audit.admin.search import parsed, redirect_without_key
from config.console.base import ChoiceFilter, request_user
from config.console.formatting import Bad
from config.console.object_page import Prompt, Refused
from config.console.reauthentication import recent_sign_in_required
from workspaces.api_access import access_warning
from workspaces.directory import label_for, own_workspaces
from workspaces.models import Workspace
from workspaces.plans import WITH_API

CHARTS = 5  # workspaces with a chart on the start page


class StateFilter(ChoiceFilter):
    title = "State"
    parameter_name = "state"
    options = {
        State.ACTIVE: ("Active", ApiKeyQuerySet.active),
        State.EXPIRES_SOON: ("Expires soon", ApiKeyQuerySet.expiring),
        State.EXPIRED: ("Expired", lambda keys: keys.filter(ENDED, revoked_at=None)),
        State.REVOKED: ("Revoked", lambda keys: keys.filter(revoked_at__isnull=False)),
    }


class WorkspaceFilter(ChoiceFilter):
    title = "Workspace"
    parameter_name = "workspace"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(id), name) for id, name in own_workspaces(request).items()]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        chosen = self.value()
        return queryset.filter(workspace_id=parsed(chosen)) if chosen else queryset


class KeyChangeList(ChangeList):
    """Django's change list, with the usage of the keys on its page."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.workspaces = own_workspaces(request)

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
                "workspace": self.workspaces[key.workspace_id],
                "is_refused": not key.state.has_ended and bool(access_warning(key.workspace)),
                "chart": report.chart(usage[key.pk], small=True),
                "usage": report.total(usage[key.pk]),
            }
            for key in found
        ]


@admin.register(ApiKey)
class ApiKeyAdmin(AuditHistory):
    """The list of keys, and the pages that it leads to.

    Only admins of a key's workspace see it: not support staff, not operators. All access goes
    through `get_queryset`, so that for anybody else the key does not exist.
    """

    nouns = "developer settings"  # as the 401 calls the place where a key is created
    audit_lookup = "key_id"
    menu_position = 10
    add_text = "Create a key"
    add_form_template = "admin/apikeys/apikey/new.html"
    search_fields = ["name", "prefix"]
    search_help_text = "Any part of a name, or the first characters"
    list_filter = [StateFilter, WorkspaceFilter]
    list_display = ("name",)  # the list's template has the other columns
    list_per_page = 50
    sortable_by = ()
    actions = None
    pages = {
        "change": KeyPage,
        "roll": RollKey,
        "revoke": RevokeKey,
        "delete": DeleteKey,
    }
    already_issued = (
        "Nothing was created: this form has already created its key. A key is shown only once; if "
        "you did not copy it, delete it and create another."
    )

    # --- Access

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        keys: QuerySet[ApiKey] = super().get_queryset(request)
        keys = keys.filter(workspace__in=list(own_workspaces(request)))
        return keys.select_related("workspace", "created_by", "revoked_by", "replaced_by")

    def has_view_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        own = own_workspaces(request)
        return bool(own) if obj is None else obj.workspace_id in own

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        own = list(own_workspaces(request))
        return Workspace.objects.filter(pk__in=own, plan__in=WITH_API).exists()

    def has_pages_of(self, request: HttpRequest, workspace_id: UUID | None) -> bool:
        return workspace_id in own_workspaces(request)

    # --- The list

    def get_ordering(self, request: HttpRequest) -> Any:
        return [Case(When(ENDED, then=Value(1)), default=Value(0)), "-created_at", "-id"]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[KeyChangeList]:
        return KeyChangeList

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return redirect_without_key(request) or super().changelist_view(request, extra_context)

    def urgent_warnings(self, request: HttpRequest) -> list[str]:
        """The user's own workspaces whose keys are refused, then keys with problems."""
        own = list(own_workspaces(request))
        workspaces = Workspace.objects.filter(pk__in=own).order_by("name", "id")
        refused = map(Bad, filter(None, map(refusal_warning, workspaces)))
        return [*refused, *ended_warnings(own), *limit_warnings(own)]

    def panels(self, request: HttpRequest) -> list[SafeString]:
        names = dict(list(own_workspaces(request).items())[:CHARTS])
        rows = KeyUsage.objects.filter(workspace_id__in=list(names))
        usage = report.daily(rows, "workspace_id")
        return [report.panel(name, usage[id], id) for id, name in names.items()]

    # --- A new key

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        try:
            if self.has_view_permission(request):
                require_plan(Workspace.objects.administered_by(request_user(request)))
                recent_sign_in_required(request)
            return super().add_view(request, form_url, extra_context)
        except AlreadyIssued:
            messages.warning(request, self.already_issued)
        except Refused as exc:
            messages.warning(request, exc.text)
        except ValidationError as exc:  # too many keys
            messages.warning(request, exc.message)
        return HttpResponseRedirect(reverse(LIST))

    def get_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        given = {"__init__": partialmethod(NewKeyForm.__init__, by=request_user(request))}
        return type("Form", (NewKeyForm,), given)

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        return ["name"]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        form = context["adminform"].form
        warnings = map(refusal_warning, Workspace.objects.administered_by(request_user(request)))
        title = "Create an API key"
        context |= {
            "form": form,
            "title": title,
            "back": reverse(LIST),
            "crumbs": [self.crumb()],
            "prompt": Prompt(
                title=title,
                button="Create the key",
                warnings=filter(None, warnings),
                facts=form.facts(),
            ),
        }
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        workspace = form.chosen_workspace()
        require_plan([workspace])
        obj.issued = ApiKey.objects.issue(
            workspace=workspace,
            name=obj.name,
            by=request_user(request),
            expires_at=form.expires_at(),
            id=form.cleaned_data["new_id"],
        )

    def log_addition(self, *args: Any) -> Any:
        """The audit log has it."""

    def response_add(self, request: HttpRequest, obj: Any, *args: Any) -> HttpResponse:
        return self.created(request, *obj.issued)

    def created(
        self, request: HttpRequest, key: ApiKey, raw: str, old: ApiKey | None = None
    ) -> HttpResponse:
        """The response to a POST, the only one that contains the raw key."""
        return self.page(
            request,
            "admin/apikeys/apikey/created.html",
            title="API key rolled" if old else "API key created",
            what="key",
            of=label_for(request, key.workspace),
            raw=raw,
            key=key,
            old=old,
            warnings=filter(None, [refusal_warning(key.workspace)]),
            base=request.build_absolute_uri("/").rstrip("/"),
            back=reverse(LIST),
        )
