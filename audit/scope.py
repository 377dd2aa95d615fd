"""What a user may see, and the one workspace that an admin looks at; checked for every request."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from django.apps import apps
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponseBase

from config.console.base import ADMINS, READ_ALL, SectionAdmin, request_user, set_cookie
from config.console.links import parsed
from config.console.lists import LogFilter

WORKSPACE = "workspace_id__exact"  # the URL parameter
COOKIE = "workspace"  # signed: the id of the workspace that the user looked at last


@dataclass(eq=False, repr=False)
class Scope:
    """What a user may see.

    Attributes:
        own: the workspaces whose admin the user is.
        everything: whether the user sees what all have, and entries without a workspace.
        workspace: of the user's own workspaces, the one that is looked at: that of the object that
            the URL names, the one of the form that is sent, the one in the URL, the one that was
            looked at last, or the first. None without any, or for a form of a foreign one; a URL
            with a foreign one does not exist.
    """

    own: QuerySet[Any]
    everything: bool = False
    asked: str = ""
    last: str = ""
    sent: str = ""

    @cached_property
    def workspace(self) -> Any:
        if self.sent:
            return self.own.filter(pk=parsed(self.sent)).first()
        for id in filter(None, (self.asked, self.last)):
            if found := self.own.filter(pk=parsed(id)).first():
                return found
            if id == self.asked and not self.everything:
                self.asked = ""  # the page that says so asks again
                raise Http404
        return self.own.order_by("name", "id").first()

    def is_own(self, workspace_id: UUID | None) -> bool:
        if self.workspace is not None and self.workspace.pk == workspace_id:
            return True
        return self.own.filter(pk=workspace_id).exists()

    def look_at(self, workspace_id: UUID | None) -> None:
        """From now on, the page is of this workspace, if it is one of the user's."""
        if self.workspace and self.workspace.pk != workspace_id:
            self.workspace = self.own.filter(pk=workspace_id).first() or self.workspace

    def condition(self) -> Q:
        """What lists show: one range of an index, however many workspaces the user has."""
        if self.everything:
            return Q()
        return Q(workspace_id=self.workspace.pk) if self.workspace else Q(pk__in=[])

    def visible(self, field: str = "workspace_id") -> Q:
        """What may be opened."""
        return Q() if self.everything else Q(**{f"{field}__in": self.own.values("pk")})


def has_right(user: User | AnonymousUser, permission: str) -> bool:
    return user.is_active and user.is_staff and user.has_perm(permission)


def scope_of(request: HttpRequest) -> Scope:
    """The scope of the signed-in user, read once per request."""
    scope: Scope | None = getattr(request, "audit_scope", None)
    if scope is None:
        user = request_user(request)
        workspaces: Any = apps.get_model("workspaces", "Workspace")  # whose app is above this one
        scope = Scope(
            workspaces.objects.administered_by(user),
            everything=has_right(user, READ_ALL),
            asked=request.GET.get(WORKSPACE, ""),
            last=str(request.get_signed_cookie(COOKIE, "", salt=COOKIE)),
            sent=request.POST.get("workspace", ""),  # a form is of the one that it was opened in
        )
        request.audit_scope = scope  # type: ignore[attr-defined]
    return scope


def own_scope(request: HttpRequest) -> Scope:
    """The same without what support staff and operators see of other workspaces."""
    scope = scope_of(request)
    own = copy(scope)
    own.workspace, own.everything = scope.workspace, False
    return own


class ScopedAdmin(SectionAdmin):
    """Rows of workspaces. The list shows an admin those of the workspace that is looked at.

    The page of a row may be of another workspace of the user's, which is looked at then.
    """

    seen_by: Sequence[str] = (READ_ALL, ADMINS)
    links = (WORKSPACE,)
    filter_form: type[LogFilter] = LogFilter

    def scope(self, request: HttpRequest) -> Scope:
        return scope_of(request)

    def shows_one_workspace(self, request: HttpRequest) -> bool:
        return not self.scope(request).everything

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return self.rows(request).filter(self.scope(request).condition())

    def rows(self, request: HttpRequest) -> QuerySet[Any]:
        """The rows of every workspace, with what a page needs of them."""
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows

    def openable(self, request: HttpRequest) -> QuerySet[Any]:
        return self.rows(request).filter(self.scope(request).visible())

    def get_filter_form(self, request: HttpRequest) -> Any:
        """It keeps the workspace, whatever an admin has opened meanwhile."""
        data = request.GET.dict()
        if self.shows_one_workspace(request):
            data[WORKSPACE] = str(self.scope(request).workspace.pk)
        return self.filter_form(data)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """With a chip for the workspace that a link has set."""
        changelist = super().get_changelist_instance(request)
        workspaces: Any = apps.get_model("workspaces", "Workspace")._default_manager
        asked = "" if self.shows_one_workspace(request) else request.GET.get(WORKSPACE, "")
        found = workspaces.filter(pk=parsed(asked))
        changelist.chips = [("Workspace", each.name, "?") for each in found]
        return changelist

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        try:
            row = self.openable(request).get(pk=self.opts.pk.to_python(object_id))
        except (self.model.DoesNotExist, ValidationError, ValueError):
            return None
        scope_of(request).look_at(row.workspace_id)
        return row


def remember(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """From now on, the user looks at the workspace of this page; `console.js` keeps it in a tab."""
    scope: Any = getattr(request, "audit_scope", None)
    if workspace := scope and vars(scope).get("workspace"):  # None if no view has asked which it is
        set_cookie(response, COOKIE, str(workspace.pk), salt=COOKIE)
    return response
