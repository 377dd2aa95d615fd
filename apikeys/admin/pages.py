"""The pages of one key: what is known of it, and what can be done with it."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html

from apikeys.admin.texts import LIST, end_of, link, refusal_warning, replaced_by, require_plan
from apikeys.forms import RenameForm, RollForm
from apikeys.models import AlreadyEnded, AlreadyIssued, ApiKey
from apikeys.usage import report
from apikeys.usage.models import KeyAddress
from audit.admin.links import filtered_log_url, refused_requests_url
from audit.admin.search import parsed
from audit.models import Action, AuditEntry
from config.console.object_page import ActionPage, ObjectPage, Prompt, Refused
from workspaces.directory import label_for, own_workspaces

REFUSED_SHOWN = 5


class KeyPage(ObjectPage):
    """All that is known of the key. The page of a deleted one leads to what it did."""

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
        days = report.daily("key_id", [key.id])[key.id]
        return {
            "title": key.name,
            "key": key,
            "end": end_of(key),
            "replaced_by": replaced_by(key),
            "usage": report.total(days),
            "chart": report.chart(days),
            "refused": report.refused(for_support=False, key_id=key.id)[:REFUSED_SHOWN],
            "refused_url": refused_requests_url(key_id__exact=key.id),
            "addresses": KeyAddress.objects.filter(key_id=key.id).order_by("-last_seen", "address"),
            "workspace_label": label_for(self.request, key.workspace),
            "refusal": refusal_warning(key.workspace),
            "log_url": filtered_log_url(key_id__exact=key.id),
        }


class RenameKey(ActionPage):
    """Its name."""

    obj: ApiKey
    form_class = RenameForm
    title = "Rename “{0.name}”"
    button = "Save"
    text = "Programs notice nothing. Audit entries so far keep the name that it had."

    def form_arguments(self) -> dict[str, Any]:
        return {"initial": {"name": self.obj.name}}

    def run(self) -> str:
        self.obj.rename(self.form.cleaned_data["name"], by=self.user)
        return "The changes are saved."


class RollKey(ActionPage):
    """Asks when this key ends, and shows the one that replaces it, once."""

    obj: ApiKey
    template_name = "admin/apikeys/apikey/new.html"
    form_class = RollForm

    def check(self) -> None:
        require_plan([self.obj.workspace])
        if self.obj.state.has_ended:
            raise self.ended()

    def ended(self) -> Refused:
        text = 'Nothing was created: “{}” has ended already. <a href="{}">Create a key</a>'
        return Refused(format_html(text, self.name, reverse("admin:apikeys_apikey_add")))

    def form_arguments(self) -> dict[str, Any]:
        return {"by": self.user}

    def prompt(self) -> Prompt:
        warnings = [refusal_warning(self.obj.workspace)]
        if successor := replaced_by(self.obj):
            text = (
                "This key was rolled already, and replaced by {}. Use that one if you have it: "
                "rolling again creates a further key."
            )
            warnings.append(format_html(text, successor))
        text = (
            "A new key beside “{}” (<code>{}…</code>), with the same name and for the same "
            "workspace. Both work until the present one ends, so that programs can change over."
        )
        return Prompt(
            title=f"Roll “{self.name}”",
            button="Roll the key",
            sentences=[format_html(text, self.name, self.obj.prefix)],
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
    """Ends the key.

    Attributes:
        verb: the label of the button, from which the message follows.
        next_step: the end of the message, after the name of the key.
    """

    template_name = "admin/apikeys/apikey/end.html"
    asks_password = False
    obj: ApiKey
    verb = next_step = ""

    def prompt(self) -> Prompt:
        title = f"{self.verb} “{self.name}”?"
        return Prompt(
            title=title, button=f"{self.verb} this key", sentences=[self.text], danger=True
        )

    def end(self) -> None:
        raise NotImplementedError

    def context(self) -> dict[str, Any]:
        return {"key": self.obj, "workspace": label_for(self.request, self.obj.workspace)}

    def run(self) -> str:
        key = link(self.obj)
        self.end()
        return format_html(
            '{} is {}. {} <a href="{}">create another key</a>.',
            key,
            f"{self.verb.lower()}d",
            self.next_step,
            reverse("admin:apikeys_apikey_add"),
        )

    @property
    def next_url(self) -> str:
        return reverse(LIST)


class RevokeKey(EndKey):
    """It stays in the list."""

    verb = "Revoke"
    text = (
        "A revoked key stops immediately and for good: the next request with it gets 401. "
        "It stays in the list, marked as revoked."
    )
    next_step = "Requests with it get 401 from now on. If a program still needs access,"

    def end(self) -> None:
        self.obj.revoke(by=self.user)


class DeleteKey(EndKey):
    """It leaves the list."""

    verb = "Delete"
    text = (
        "A deleted key stops immediately and leaves the list; the next request gets 401. "
        "Its name and first characters stay in the audit log."
    )
    next_step = "The audit log keeps what it did. If a program still needs access,"

    def end(self) -> None:
        self.obj.delete_by(by=self.user)
