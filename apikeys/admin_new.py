"""Creating and rolling keys in the admin: the pages that show a raw key, once."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apikeys.admin_access import KEY, LIST, refusal_warning, replaced_by
from apikeys.admin_actions import KeyActionsAdmin
from apikeys.forms import NewKeyForm, RollForm
from apikeys.managers import AlreadyIssued
from apikeys.models import AlreadyEnded, ApiKey
from config.admin.base import request_user
from config.admin.formatting import exact
from config.admin.reauthentication import recent_sign_in_required
from workspaces.directory import own_workspaces
from workspaces.permissions import administered_by

FORM = "admin/apikeys/apikey/new.html"
ROLL_URL = "apikeys_apikey_roll"


class NewKeyAdmin(KeyActionsAdmin):
    """Adds the pages that create a key."""

    def get_urls(self) -> list[URLPattern]:
        roll = self.admin_site.admin_view(self.roll_view)
        return [path("<path:object_id>/roll/", roll, name=ROLL_URL), *super().get_urls()]

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        recent_sign_in_required(request)
        user = request_user(request)
        form = NewKeyForm(request.POST or None, by=user)
        if request.method == "POST" and form.is_valid():
            return self.create(request, form)
        warnings = [refusal_warning(each) for each in administered_by(user)]
        return self.page(
            request,
            FORM,
            title="Create an API key",
            form=form,
            workspaces=own_workspaces(request),
            warnings=[text for text in warnings if text],
        )

    def create(self, request: HttpRequest, form: NewKeyForm) -> HttpResponse:
        try:
            key, raw = ApiKey.objects.issue(
                workspace=form.chosen_workspace(),
                name=form.cleaned_data["name"],
                note=form.cleaned_data["note"],
                expires_at=form.expires_at(),
                by=request_user(request),
                id=form.cleaned_data["new_id"],
            )
        except AlreadyIssued:
            return self.nothing_created(request)
        return self.created_page(request, key, raw, title="API key created")

    def roll_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Asks for the key that replaces this one, and when this one ends."""
        key = self.own_key(request, object_id)
        recent_sign_in_required(request)
        if key.state.has_ended:
            return self.ended_already(request, key)
        initial = {"name": key.name, "note": key.note}
        form = RollForm(request.POST or None, by=request_user(request), initial=initial)
        if request.method == "POST" and form.is_valid():
            return self.roll(request, key, form)
        return self.page(
            request,
            FORM,
            title=f"Roll “{key.name}”",
            form=form,
            old=key,
            replaced_by=replaced_by(key),
            workspaces={key.workspace_id: self.workspace_label(request, key.workspace)},
            warnings=filter(None, [refusal_warning(key.workspace)]),
        )

    def roll(self, request: HttpRequest, old: ApiKey, form: RollForm) -> HttpResponse:
        try:
            key, raw = old.roll(
                by=request_user(request),
                ends_in=form.ends_in(),
                name=form.cleaned_data["name"],
                note=form.cleaned_data["note"],
                expires_at=form.expires_at(),
                id=form.cleaned_data["new_id"],
            )
        except AlreadyIssued:
            return self.nothing_created(request)
        except AlreadyEnded:
            return self.ended_already(request, old)
        return self.created_page(request, key, raw, title="API key rolled", old=old)

    def created_page(
        self, request: HttpRequest, key: ApiKey, raw: str, *, title: str, old: ApiKey | None = None
    ) -> HttpResponse:
        """The page with the raw key: the response to this POST is the only one that contains it."""
        same_name = ApiKey.objects.active().filter(workspace=key.workspace, name=key.name)
        return self.page(
            request,
            "admin/apikeys/apikey/created.html",
            title=title,
            key=key,
            raw=raw,
            workspace=self.workspace_label(request, key.workspace),
            old=old,
            old_end=old and end_of(old),
            same_name=not old and same_name.exclude(pk=key.pk).exists(),
            expires=key.expires_at and exact(key.expires_at),
            warnings=filter(None, [refusal_warning(key.workspace)]),
            base=request.build_absolute_uri("/").rstrip("/"),
        )

    def nothing_created(self, request: HttpRequest) -> HttpResponse:
        """The form was sent again."""
        messages.warning(
            request,
            "Nothing was created: this form has already created its key. A key is shown only "
            "once; if you did not copy it, delete it and create another.",
        )
        return HttpResponseRedirect(reverse(LIST))

    def ended_already(self, request: HttpRequest, key: ApiKey) -> HttpResponse:
        messages.warning(
            request,
            format_html(
                'Nothing was created: “{}” has ended already. <a href="{}">Create a key</a>',
                key.name,
                reverse("admin:apikeys_apikey_add"),
            ),
        )
        return HttpResponseRedirect(reverse(KEY, args=[key.pk]))


def end_of(old: ApiKey) -> SafeString:
    """When the key that was rolled ends, as a sentence."""
    if old.expires_at is None:
        return SafeString("works until you revoke it")
    if old.state.has_ended:
        return SafeString("has ended")
    return format_html("works until {}", exact(old.expires_at))
