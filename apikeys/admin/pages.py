"""The pages of one key: what is known of it, and what can be done with it."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html

from apikeys.admin.warnings import refusal_warning, sentence
from apikeys.forms import NewKeyForm, RollForm
from apikeys.models import AlreadyEnded, AlreadyIssued, ApiKey
from apikeys.usage import report
from apikeys.usage.models import KeyAddress, KeyUsage, RefusedRequest
from audit.models import Action, AuditEntry
from audit.scope import own_scope
from config.console.formatting import isolated
from config.console.links import LOG, REFUSED, filtered, parsed
from config.console.object_page import ActionPage, ObjectPage, Prompt, Refused
from workspaces.models import Workspace
from workspaces.plans import WITH_API

LIST = "admin:apikeys_apikey_changelist"
REFUSED_SHOWN = 5
ALREADY_ISSUED = (
    "Nothing was created: this form has already created its key. A key is shown only once; if you "
    "did not copy it, delete it and create another."
)


class KeyPage(ObjectPage):
    template_name = "admin/apikeys/apikey/key.html"
    obj: ApiKey

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().dispatch(request, *args, **kwargs)
        except Http404:
            key_id = parsed(kwargs["object_id"])
            deleted = AuditEntry.objects.filter(
                own_scope(request).visible(), action=Action.KEY_DELETED, key_id=key_id
            )
            if key_id is None or not (entry := deleted.first()):
                raise
            of = {"workspace_id__exact": entry.workspace_id, "key_id__exact": key_id}
            return HttpResponseRedirect(filtered(LOG, **of))

    def context(self) -> dict[str, Any]:
        key = self.obj
        days = report.daily(KeyUsage.objects.filter(key_id=key.id), "key_id")[key.id]
        of: Any = {"workspace_id__exact": key.workspace_id}
        log: Any = self.section.admin_site.get_model_admin(RefusedRequest)
        refused = log.rows(self.request).filter(key_id=key.id).order_by("-created_at", "-id")
        url = filtered(REFUSED, key_id__exact=key.id, **of)
        return {
            "title": self.name,
            "key": key,
            "usage": report.panel(days, key_id__exact=key.id, **of),
            "refused": log.panel(self.request, "Refused requests", refused[:REFUSED_SHOWN], url),
            "addresses": KeyAddress.objects.filter(key_id=key.id).order_by("-last_seen", "address"),
            "refusal": refusal_warning(key.workspace),
            "log_url": filtered(LOG, key_id__exact=key.id, **of),
        }


def require_plan(workspace: Workspace) -> None:
    if workspace.plan not in WITH_API:
        raise Refused(sentence("no_plan", workspace=workspace))


class CreateKey(ActionPage):
    template_name = "admin/apikeys/apikey/new.html"
    form_class = NewKeyForm

    def is_allowed(self) -> bool:
        """Without a plan that has the API, `check` says so."""
        allowed: bool = self.section.has_view_permission(self.request)
        return allowed

    def check(self) -> None:
        require_plan(own_scope(self.request).workspace)

    def form_arguments(self) -> dict[str, Any]:
        return {"by": self.user, "workspace": own_scope(self.request).workspace}

    def prompt(self) -> Prompt:
        return Prompt(
            title="Create an API key",
            button="Create the key",
            warnings=filter(None, [refusal_warning(own_scope(self.request).workspace)]),
            facts=self.form.facts(),
        )

    def run(self) -> HttpResponse:
        values = self.form.cleaned_data
        require_plan(values["workspace"])
        try:
            key, raw = ApiKey.objects.issue(
                workspace=values["workspace"],
                name=values["name"],
                by=self.user,
                expires_at=self.form.expires_at(),
                id=values["new_id"],
            )
        except AlreadyIssued:
            raise Refused(ALREADY_ISSUED) from None
        response: HttpResponse = self.section.created(self.request, key, raw)
        return response


class RollKey(ActionPage):
    obj: ApiKey
    template_name = "admin/apikeys/apikey/new.html"
    form_class = RollForm

    def check(self) -> None:
        require_plan(self.obj.workspace)
        if self.obj.state.has_ended:
            raise self.ended()

    def ended(self) -> Refused:
        return Refused(sentence("has_ended", key=self.obj))

    def form_arguments(self) -> dict[str, Any]:
        return {"by": self.user}

    def prompt(self) -> Prompt:
        warnings = [refusal_warning(self.obj.workspace)]
        if self.obj.replaced_by:
            warnings.append(sentence("rolled", key=self.obj.replaced_by))
        text = "A new key beside {}, with the same name and for the same workspace."
        return Prompt(
            title=f"Roll “{self.name}”",
            button="Roll the key",
            sentences=[format_html(text, isolated(self.name))],
            warnings=filter(None, warnings),
            facts={"Workspace": self.obj.workspace.name},
        )

    def run(self) -> HttpResponse:
        form = self.form
        new = {"id": form.cleaned_data["new_id"], "expires_at": form.expires_at()}
        try:
            key, raw = self.obj.roll(by=self.user, ends_in=form.ends_in(), **new)
        except AlreadyEnded:
            raise self.ended() from None
        except AlreadyIssued:
            raise Refused(ALREADY_ISSUED, reverse(LIST)) from None
        response: HttpResponse = self.section.created(self.request, key, raw, old=self.obj)
        return response


class EndKey(ActionPage):
    template_name = "admin/apikeys/apikey/end.html"
    asks_password = False
    obj: ApiKey
    done = ""

    def context(self) -> dict[str, Any]:
        return {"key": self.obj, "workspace": self.obj.workspace.name}

    def end(self) -> None:
        raise NotImplementedError

    def run(self) -> str:
        message = sentence("done", key=self.obj, done=self.done)
        self.end()
        return message

    @property
    def next_url(self) -> str:
        return reverse(LIST)


class RevokeKey(EndKey):
    """It stays in the list."""

    done = "is revoked. Requests with it get 401 from now on."

    def prompt(self) -> Prompt:
        text = (
            "A revoked key stops immediately and for good: the next request with it gets 401. It "
            "stays in the list, marked as revoked."
        )
        return Prompt(f"Revoke “{self.name}”?", "Revoke this key", [text], danger=True)

    def end(self) -> None:
        self.obj.revoke(by=self.user)


class DeleteKey(EndKey):
    """It leaves the list."""

    done = "is deleted. The audit log keeps what it did."

    def prompt(self) -> Prompt:
        text = (
            "A deleted key stops immediately and leaves the list; the next request gets 401. Its "
            "name and first characters stay in the audit log."
        )
        return Prompt(f"Delete “{self.name}”?", "Delete this key", [text], danger=True)

    def end(self) -> None:
        self.obj.delete_by(by=self.user)
