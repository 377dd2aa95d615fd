"""The pages of one key: what is known of it, and what can be done with it."""

from collections.abc import Callable
from typing import Any

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect

from apikeys.forms import NewKeyForm, RollForm
from apikeys.models import AlreadyIssued, ApiKey
from apikeys.templatetags.keys import refusals, refused_of, sentence
from apikeys.usage import report
from apikeys.usage.models import KeyUsage, RefusedRequest
from audit.models import Action, AuditEntry
from audit.scope import own_scope
from config.console.links import LOG, REFUSED, filtered, parsed
from config.console.object_page import ActionPage, ObjectPage, Prompt, Refused
from workspaces.plans import WITH_API


class KeyPage(ObjectPage):
    template_name = "admin/apikeys/apikey/key.html"
    obj: ApiKey

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """A deleted key leads to its entries in the audit log."""
        try:
            return super().dispatch(request, *args, **kwargs)
        except Http404:
            visible = AuditEntry.objects.filter(own_scope(request).visible())
            key_id = parsed(kwargs["object_id"])
            deletion = visible.filter(action=Action.KEY_DELETED, key_id=key_id).first()
            if deletion is None:
                raise
            of = {"workspace_id__exact": deletion.workspace_id, "key_id__exact": key_id}
            return HttpResponseRedirect(filtered(LOG, **of))

    def context(self) -> dict[str, Any]:
        key = self.obj
        of: Any = {"workspace_id__exact": key.workspace_id, "key_id__exact": key.id}
        log: Any = self.section.admin_site.get_model_admin(RefusedRequest)
        refused = log.rows(self.request).filter(key_id=key.id).order_by("-created_at", "-id")
        access = [] if key.state.has_ended else refusals(key.workspace)
        keys: Any = self.section
        ends = [sentence("expires", key=each) for each in keys.ending(self.request, Q(pk=key.pk))]
        return {
            "title": self.obj,
            "key": key,
            "usage": report.panel(KeyUsage.objects.filter(key_id=key.id), **of),
            "lines": log.lines(self.request, refused[: report.LATEST]),
            "refused_url": filtered(REFUSED, **of),
            "addresses": report.addresses(key.id),
            "warnings": [*access, *refused_of(Q(key_id=key.pk)), *ends],
            "may_roll": self.section.has_add_permission(self.request),
            "log_url": filtered(LOG, **of),
        }


class NewKey(ActionPage):
    """Its response to a valid form is the only one that contains the raw key."""

    template_name = "admin/apikeys/apikey/new.html"
    done = ""

    @property
    def workspace(self) -> Any:
        return own_scope(self.request).workspace

    def is_allowed(self) -> bool:
        return self.section.has_view_permission(self.request)

    def check(self) -> None:
        if self.workspace.plan not in WITH_API:
            raise Refused(sentence("no_plan", workspace=self.workspace))

    def issue(self, **new: Any) -> tuple[ApiKey, str]:
        raise NotImplementedError

    def run(self) -> HttpResponse:
        id, expires_at = self.form.cleaned_data["new_id"], self.form.expires_at()
        try:
            key, raw = self.issue(by=self.user, id=id, expires_at=expires_at)
        except AlreadyIssued:
            raise Refused(
                "Nothing was created: this form has already created its key. A key is shown only "
                "once; if you did not copy it, delete it and create another."
            ) from None
        return self.render_page(
            "admin/secret.html",
            title=self.done,
            what="key",
            of=str(key),
            raw=raw,
            if_lost="We keep only a fingerprint. If the key gets lost, create another.",
            about=[sentence("new", key=key, old=self.obj)],
            next_steps="admin/apikeys/apikey/next_steps.html",
            warnings=refusals(key.workspace),
            base=self.request.build_absolute_uri("/").rstrip("/"),
            back=self.section.list_url(),
        )


class CreateKey(NewKey):
    form_class = NewKeyForm
    done = "API key created"

    def prompt(self) -> Prompt:
        return Prompt(
            title="Create an API key",
            button="Create the key",
            warnings=refusals(self.workspace),
            workspace=self.workspace,
        )

    def issue(self, **new: Any) -> tuple[ApiKey, str]:
        name = self.form.cleaned_data["name"]
        return ApiKey.objects.issue(workspace=self.workspace, name=name, **new)


class RollKey(NewKey):
    obj: ApiKey
    form_class = RollForm
    done = "API key rolled"

    def check(self) -> None:
        super().check()
        if self.obj.state.has_ended:
            raise Refused(sentence("has_ended", key=self.obj))

    def prompt(self) -> Prompt:
        warnings = refusals(self.workspace)
        new = self.obj.replaced_by
        if new and not new.state.has_ended:
            warnings.append(sentence("rolled", key=new))
        text = "A new key beside this one, with the same name and for the same workspace."
        return Prompt(f"Roll “{self.obj}”", "Roll the key", [text], warnings)

    def issue(self, **new: Any) -> tuple[ApiKey, str]:
        return self.obj.roll(ends_in=self.form.ends_in(), **new)


class EndKey(ActionPage):
    template_name = "admin/apikeys/apikey/end.html"
    asks_password = False
    obj: ApiKey
    what = text = ""
    end: Callable[..., None]  # of a key

    def prompt(self) -> Prompt:
        title, button = f"{self.what} “{self.obj}”?", f"{self.what} this key"
        rolled = ApiKey.objects.active().filter(replaced_by=self.obj, expires_at__isnull=False)
        warnings = [sentence("needed", key=key) for key in rolled]
        return Prompt(title, button, [self.text], warnings, danger=True)

    def context(self) -> dict[str, Any]:
        usage = report.total(report.by_day(KeyUsage.objects.filter(key_id=self.obj.pk)))
        return {"requests": usage.requests, "last": report.addresses(self.obj.pk)[:1]}

    def run(self) -> str:
        self.end(self.obj, by=self.user)
        return sentence("done", key=self.obj, what=self.what)

    @property
    def next_url(self) -> str:
        return self.section.list_url()


class RevokeKey(EndKey):
    what = "Revoke"
    text = (
        "A revoked key stops immediately and for good: the next request with it gets 401. It stays "
        "in the list, marked as revoked."
    )
    end = staticmethod(ApiKey.revoke)


class DeleteKey(EndKey):
    what = "Delete"
    text = (
        "A deleted key stops immediately and leaves the list; the next request gets 401. The audit "
        "log keeps its name and first characters. If you revoke it instead, you can still see "
        "whether a program sends it."
    )
    end = staticmethod(ApiKey.delete_by)
