"""The pages that create a key: a new one, or one that replaces another. Each shows it, once."""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.html import format_html

from apikeys.admin.texts import LIST, refusal_warning, replaced_by
from apikeys.forms import EditForm, KeyForm, NewKeyForm, RollForm
from apikeys.models import AlreadyEnded, AlreadyIssued, ApiKey
from config.console.object_page import ActionPage, Prompt, Refused
from workspaces.directory import label_for
from workspaces.models import Workspace
from workspaces.plans import WITH_API


class KeyAction(ActionPage):
    """For admins of the key's workspace."""

    obj: ApiKey | None

    def is_allowed(self) -> bool:
        return bool(self.section.has_delete_permission(self.request, self.obj))


def require_plan(workspaces: Iterable[Workspace]) -> None:
    """Raises `Refused` if no plan of these workspaces has keys."""
    given = list(workspaces)
    if not any(each.plan in WITH_API for each in given):
        text = (
            "Nothing was created: keys are available on the plans Pro and Business, and {} is on "
            'another one. <a href="{}">Change the plan</a>'
        )
        raise Refused(format_html(text, given[0], settings.UPGRADE_URL))


class CreateKey(KeyAction):
    """Asks for a new key, and shows it, once."""

    template_name = "admin/apikeys/apikey/new.html"
    form_class: type[KeyForm] = NewKeyForm
    done = "API key created"

    def check(self) -> None:
        require_plan(Workspace.objects.administered_by(self.user))

    def form_arguments(self) -> dict[str, Any]:
        return {"by": self.user}

    def prompt(self) -> Prompt:
        return Prompt(
            title="Create an API key",
            button="Create the key",
            warnings=filter(
                None, map(refusal_warning, Workspace.objects.administered_by(self.user))
            ),
            facts=self.form.facts(),
        )

    def make(self) -> tuple[ApiKey, str]:
        workspace = self.form.chosen_workspace()
        require_plan([workspace])
        return ApiKey.objects.issue(workspace=workspace, by=self.user, **self.form.values())

    def run(self) -> HttpResponse:
        """The response to this POST is the only one that contains the raw key."""
        try:
            key, raw = self.make()
        except AlreadyIssued:
            raise Refused(
                "Nothing was created: this form has already created its key. A key is shown only "
                "once; if you did not copy it, delete it and create another.",
                reverse(LIST),
            ) from None
        same_name = ApiKey.objects.active().filter(workspace=key.workspace, name=key.name)
        return self.page(
            "admin/apikeys/apikey/created.html",
            title=self.done,
            what="key",
            of=label_for(self.request, key.workspace),
            raw=raw,
            key=key,
            old=self.obj,
            same_name=not self.obj and same_name.exclude(pk=key.pk).exists(),
            warnings=filter(None, [refusal_warning(key.workspace)]),
            base=self.request.build_absolute_uri("/").rstrip("/"),
            back=reverse(LIST),
        )


class EditKey(KeyAction):
    """Its name and its note."""

    obj: ApiKey
    form_class = EditForm

    def form_arguments(self) -> dict[str, Any]:
        return {"initial": {"name": self.obj.name, "note": self.obj.note}}

    def prompt(self) -> Prompt:
        text = "Programs notice nothing. Audit entries so far keep the name that it had."
        return Prompt(title=f"Edit “{self.name}”", button="Save", sentences=[text])

    def run(self) -> str:
        try:
            self.obj.change(**self.form.cleaned_data, by=self.user)
        except ApiKey.DoesNotExist:  # deleted meanwhile
            raise Http404 from None
        return "The changes are saved."


class RollKey(CreateKey):
    """Asks for the key that replaces this one, and when this one ends."""

    obj: ApiKey
    form_class = RollForm
    done = "API key rolled"

    def check(self) -> None:
        require_plan([self.obj.workspace])
        if self.obj.state.has_ended:
            raise self.ended()

    def ended(self) -> Refused:
        text = 'Nothing was created: “{}” has ended already. <a href="{}">Create a key</a>'
        return Refused(format_html(text, self.name, reverse("admin:apikeys_apikey_add")))

    def form_arguments(self) -> dict[str, Any]:
        return {"by": self.user, "initial": {"name": self.obj.name, "note": self.obj.note}}

    def prompt(self) -> Prompt:
        warnings = [refusal_warning(self.obj.workspace)]
        if successor := replaced_by(self.obj):
            text = (
                "This key was rolled already, and replaced by {}. Use that one if you have it: "
                "rolling again creates a further key."
            )
            warnings.append(format_html(text, successor))
        return Prompt(
            title=f"Roll “{self.name}”",
            button="Roll the key",
            sentences=[
                format_html(
                    "A new key beside “{}” (<code>{}…</code>), for the same workspace. Both work "
                    "until the present one ends, so that programs can change over.",
                    self.name,
                    self.obj.prefix,
                )
            ],
            warnings=filter(None, warnings),
            facts={"Workspace": label_for(self.request, self.obj.workspace)},
        )

    def make(self) -> tuple[ApiKey, str]:
        try:
            return self.obj.roll(by=self.user, ends_in=self.form.ends_in(), **self.form.values())
        except AlreadyEnded:
            raise self.ended() from None
