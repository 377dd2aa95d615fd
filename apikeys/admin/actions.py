"""What a workspace's admin does with keys: create, roll, revoke and delete them."""

from typing import Any

from django.db import transaction
from django.http import HttpResponse
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join

from apikeys.admin.texts import LIST, link, refusal_warning, replaced_by
from apikeys.forms import DeleteForm, KeyForm, NewKeyForm, RollForm
from apikeys.managers import AlreadyIssued
from apikeys.models import AlreadyEnded, ApiKey
from config.console.object_page import ActionPage, Prompt, Refused
from workspaces.directory import label_for
from workspaces.models import Workspace


class KeyAction(ActionPage):
    """For admins of the key's workspace."""

    obj: ApiKey | None

    def is_allowed(self) -> bool:
        return bool(self.section.has_delete_permission(self.request, self.obj))


class CreateKey(KeyAction):
    """Asks for a new key, and shows it, once."""

    template_name = "admin/apikeys/apikey/new.html"
    form_class: type[KeyForm] = NewKeyForm
    done = "API key created"

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


class RollKey(CreateKey):
    """Asks for the key that replaces this one, and when this one ends."""

    obj: ApiKey
    form_class = RollForm
    done = "API key rolled"

    def check(self) -> None:
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


class EndKeys(KeyAction):
    """Ends the key that the URL names, or those that were selected in the list.

    Attributes:
        selected: those; the user may change them.
        action: the list's action.
        verb: the label of the button.
        done: the past participle for the message.
        consequence: the text of the confirmation.
        next_step: the end of the message, after the names of the keys.
    """

    template_name = "admin/apikeys/apikey/confirm.html"
    asks_password = False
    selected: tuple[ApiKey, ...] = ()
    action = verb = done = consequence = next_step = ""

    def applies(self, key: ApiKey) -> bool:
        return True

    def end(self, key: ApiKey) -> None:
        raise NotImplementedError

    @cached_property
    def keys(self) -> list[ApiKey]:
        return list(filter(self.applies, [self.obj] if self.obj else self.selected))

    def check(self) -> None:
        if not self.keys:
            raise Refused("Nothing was left to do.", reverse(LIST))

    def is_sent(self) -> bool:
        """The list posts here too, when keys were selected."""
        return self.is_confirmed()

    def labelled(self) -> list[tuple[ApiKey, str]]:
        """The keys, each with its workspace."""
        return [(key, label_for(self.request, key.workspace)) for key in self.keys]

    def prompt(self) -> Prompt:
        which = "this key" if len(self.keys) == 1 else f"these {len(self.keys)} keys"
        return Prompt(
            title=f"{self.verb} {which}?",
            button=f"{self.verb} {which}",
            sentences=[self.consequence],
            danger=True,
            hidden=[
                ("confirmed", "yes"),
                ("action", self.action),
                *(("_selected_action", key.pk) for key in self.keys),
            ],
        )

    @transaction.atomic
    def run(self) -> str:
        """The message has links to the keys' pages, and the next step."""
        for key in self.keys:
            self.end(key)
        return format_html(
            '{} {} {}. {} <a href="{}">create another key</a>.',
            format_html_join(", ", "{}", ((link(key),) for key in self.keys)),
            "is" if len(self.keys) == 1 else "are",
            self.done,
            self.next_step,
            reverse("admin:apikeys_apikey_add"),
        )

    @property
    def next_url(self) -> str:
        return reverse(LIST)


class RevokeKeys(EndKeys):
    """Revokes keys: they stay in the list."""

    action = "revoke_selected"
    verb = "Revoke"
    done = "revoked"
    consequence = (
        "A revoked key stops immediately and for good: the next request with it gets 401. "
        "It stays in the list, marked as revoked."
    )
    next_step = "Requests with it get 401 from now on. If a program still needs access,"

    def applies(self, key: ApiKey) -> bool:
        return key.revoked_at is None

    def end(self, key: ApiKey) -> None:
        key.revoke(by=self.user)


class DeleteKeys(EndKeys):
    """Deletes keys. A name or number is typed if a program seems to need one of them."""

    action = "delete_selected"
    verb = "Delete"
    done = "deleted"
    consequence = (
        "A deleted key stops immediately and leaves the list; the next request gets 401. "
        "Its name and first characters stay in the audit log."
    )
    next_step = "Its page and the audit log keep what it did. If a program still needs access,"
    form_class = DeleteForm

    def form_arguments(self) -> dict[str, Any]:
        return {"keys": self.keys}

    def end(self, key: ApiKey) -> None:
        key.delete_by(by=self.user)
