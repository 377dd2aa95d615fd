"""The pages that end keys: revoke and delete them."""

from typing import Any

from django.db import transaction
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join

from apikeys.admin.create import KeyAction
from apikeys.admin.texts import LIST, link
from apikeys.forms import DeleteForm
from apikeys.models import ApiKey
from config.console.object_page import Prompt, Refused
from workspaces.directory import label_for


class EndKeys(KeyAction):
    """Ends the key that the URL names, or those that were selected in the list.

    Attributes:
        selected: those; the user may change them.
        verb: the label of the button, from which the list's action and the message follow.
        consequence: the text of the confirmation.
        next_step: the end of the message, after the names of the keys.
    """

    template_name = "admin/apikeys/apikey/confirm.html"
    asks_password = False
    selected: tuple[ApiKey, ...] = ()
    verb = consequence = next_step = ""

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
                ("action", f"{self.verb.lower()}_selected"),
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
            f"{self.verb.lower()}d",
            self.next_step,
            reverse("admin:apikeys_apikey_add"),
        )

    @property
    def next_url(self) -> str:
        return reverse(LIST)


class RevokeKeys(EndKeys):
    """Revokes keys: they stay in the list."""

    verb = "Revoke"
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

    verb = "Delete"
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
