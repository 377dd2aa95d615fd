"""The pages of one key: what is known of it, and what can be done with it."""

from collections.abc import Iterable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html

from apikeys.admin.warnings import refusal_warning, sentence
from apikeys.forms import RollForm
from apikeys.models import AlreadyEnded, AlreadyIssued, ApiKey
from apikeys.usage import report
from apikeys.usage.models import KeyAddress, KeyUsage, RefusedRequest
from audit.admin.links import filtered_log_url, refused_requests_url
from audit.admin.search import parsed
from audit.models import Action, AuditEntry
from config.console.formatting import isolated
from config.console.object_page import ActionPage, ObjectPage, Prompt, Refused
from workspaces.directory import label_for, own_workspaces
from workspaces.models import Workspace
from workspaces.plans import WITH_API

LIST = "admin:apikeys_apikey_changelist"
REFUSED_SHOWN = 5


class KeyPage(ObjectPage):
    template_name = "admin/apikeys/apikey/key.html"
    obj: ApiKey

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().dispatch(request, *args, **kwargs)
        except Http404:
            key_id, own = parsed(kwargs["object_id"]), list(own_workspaces(request))
            deleted = AuditEntry.objects.filter(workspace_id__in=own, action=Action.KEY_DELETED)
            if key_id is None or not deleted.filter(key_id=key_id).exists():
                raise
            return HttpResponseRedirect(filtered_log_url(key_id__exact=key_id))

    def context(self) -> dict[str, Any]:
        key = self.obj
        days = report.daily(KeyUsage.objects.filter(key_id=key.id), "key_id")[key.id]
        refused = RefusedRequest.objects.filter(key_id=key.id).order_by("-created_at", "-id")
        return {
            "title": key.name,
            "key": key,
            "usage": report.total(days),
            "chart": report.chart(days),
            "refused": refused[:REFUSED_SHOWN],
            "refused_url": refused_requests_url(key_id__exact=key.id),
            "addresses": KeyAddress.objects.filter(key_id=key.id).order_by("-last_seen", "address"),
            "workspace_label": label_for(self.request, key.workspace),
            "refusal": refusal_warning(key.workspace),
            "log_url": filtered_log_url(key_id__exact=key.id),
        }


def require_plan(workspaces: Iterable[Workspace]) -> None:
    given = list(workspaces)
    if not any(each.plan in WITH_API for each in given):
        raise Refused(sentence("no_plan", workspace=given[0]))


class RollKey(ActionPage):
    obj: ApiKey
    template_name = "admin/apikeys/apikey/new.html"
    form_class = RollForm

    def check(self) -> None:
        require_plan([self.obj.workspace])
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
        text = (
            "A new key beside “{}” (<code>{}…</code>), with the same name and for the same "
            "workspace. Both work until the present one ends, so that programs can change over."
        )
        return Prompt(
            title=f"Roll “{self.name}”",
            button="Roll the key",
            sentences=[format_html(text, isolated(self.obj.name), self.obj.prefix)],
            warnings=filter(None, warnings),
            facts={"Workspace": label_for(self.request, self.obj.workspace)},
        )

    def run(self) -> HttpResponse:
        form = self.form
        new = {"id": form.cleaned_data["new_id"], "expires_at": form.expires_at()}
        try:
            key, raw = self.obj.roll(by=self.user, ends_in=form.ends_in(), **new)
        except AlreadyEnded:
            raise self.ended() from None
        except AlreadyIssued:
            raise Refused(self.section.already_issued, reverse(LIST)) from None
        response: HttpResponse = self.section.created(self.request, key, raw, old=self.obj)
        return response


class EndKey(ActionPage):
    template_name = "admin/apikeys/apikey/end.html"
    asks_password = False
    danger = True
    obj: ApiKey
    done = ""

    def context(self) -> dict[str, Any]:
        return {"key": self.obj, "workspace": label_for(self.request, self.obj.workspace)}

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

    title, button = "Revoke “{0.name}”?", "Revoke this key"
    text = (
        "A revoked key stops immediately and for good: the next request with it gets 401. "
        "It stays in the list, marked as revoked."
    )
    done = "is revoked. Requests with it get 401 from now on."

    def end(self) -> None:
        self.obj.revoke(by=self.user)


class DeleteKey(EndKey):
    """It leaves the list."""

    title, button = "Delete “{0.name}”?", "Delete this key"
    text = (
        "A deleted key stops immediately and leaves the list; the next request gets 401. "
        "Its name and first characters stay in the audit log."
    )
    done = "is deleted. The audit log keeps what it did."

    def end(self) -> None:
        self.obj.delete_by(by=self.user)
