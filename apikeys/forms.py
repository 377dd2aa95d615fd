"""The forms that create a key, at most one however often they are sent."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils import timezone

from apikeys import validators as names
from apikeys.models import ApiKey
from apikeys.states import today
from config.console.object_page import OnceForm
from workspaces.forms import OwnWorkspaceForm
from workspaces.models import Workspace

ON_A_DAY = "day"
EXPIRY = [
    ("", "Never"),
    ("90", "In 90 days"),
    ("365", "In a year"),
    (ON_A_DAY, "At the end of a day"),
]
FURTHEST = timedelta(days=5 * 365 + 2)  # five years with two leap days
NEVER = "never"
OLD_KEY_ENDS = {  # the hours until the old key ends
    "0": "Now",
    "1": "In 1 hour",
    "24": "In 24 hours",
    "168": "In 7 days",
    NEVER: "Not by itself: I will revoke it",
}
NAMES_SHOWN = 200  # names in use that the form can warn about


class EditForm(forms.Form):
    """What a key is called, and what it is for."""

    name = forms.CharField(
        max_length=names.LENGTH,
        help_text="Such as “CRM sync”.",
        widget=forms.TextInput(attrs={"autofocus": True}),
    )
    note = forms.CharField(
        label="What it is for (optional)",
        required=False,
        max_length=names.NOTE_LENGTH,
        help_text="Such as who runs the program, and where.",
    )

    def clean_name(self) -> str:
        return names.clean(self.cleaned_data["name"])

    def clean_note(self) -> str:
        return names.clean_note(self.cleaned_data["note"])


class KeyForm(OnceForm, EditForm):
    """A new key, and when it expires."""

    expires = forms.ChoiceField(
        label="Expires",
        required=False,
        choices=EXPIRY,
        help_text="A key that expires is safer: if it leaks, it does not work for ever. From then "
        "on, requests with it get 401; 14 days before, the start page and the list of keys warn.",
    )
    expires_on = forms.DateField(
        label="Last day (UTC)",
        required=False,
        widget=forms.DateInput({"type": "date"}, format="%Y-%m-%d"),
        error_messages={"invalid": "This is not a day. Write one as 2026-03-01."},
        validators=[
            MinValueValidator(today, "This day has passed."),
            MaxValueValidator(
                lambda: today() + FURTHEST,
                "Choose a day within the next five years: %(limit_value)s at the latest.",
            ),
        ],
        help_text="Only for “At the end of a day”.",
    )

    def __init__(self, *args: Any, by: User, **kwargs: Any) -> None:
        super().__init__(*args, by=by, **kwargs)
        in_use = ApiKey.objects.active().filter(workspace__in=Workspace.objects.administered_by(by))
        self.names_in_use = list(
            in_use.order_by("name").values_list("name", "workspace_id")[:NAMES_SHOWN]
        )

    def clean_expires_on(self) -> Any:
        day, wanted = self.cleaned_data["expires_on"], self.cleaned_data.get("expires") == ON_A_DAY
        if day and not wanted:
            raise forms.ValidationError("Choose “At the end of a day” for this day.")
        if wanted and not day:
            raise forms.ValidationError("Enter the day.")
        return day

    def values(self) -> dict[str, Any]:
        """What `ApiKeyManager.issue` and `ApiKey.roll` need; the form must be valid."""
        values = self.cleaned_data
        expires_at = None
        if values["expires"] == ON_A_DAY:
            expires_at = datetime.combine(values["expires_on"], time(23, 59, 59), UTC)
        elif values["expires"]:
            expires_at = timezone.now() + timedelta(days=int(values["expires"]))
        names = {"name": values["name"], "note": values["note"]}
        return {**names, "expires_at": expires_at, "id": values["new_id"]}


class NewKeyForm(OwnWorkspaceForm, KeyForm):
    """Asks for the workspace too, if the user is an admin of several."""

    field_order = ("workspace", "name")


class RollForm(KeyForm):
    """A key that replaces another one, and when that one ends."""

    old_key_ends = forms.ChoiceField(
        label="The present key ends",
        choices=list(OLD_KEY_ENDS.items()),
        initial="24",
        help_text="Until then both keys work, so that programs can change over.",
    )
    field_order = ("old_key_ends", "name")

    def ends_in(self) -> timedelta | None:
        """How long the old key still works; None if it does not end by itself."""
        chosen = self.cleaned_data["old_key_ends"]
        return None if chosen == NEVER else timedelta(hours=int(chosen))


class DeleteForm(forms.Form):
    """Has the name of the key, or the number of keys, typed if a program seems to use them."""

    typed = forms.CharField(required=False, widget=forms.TextInput({"autofocus": True}))

    def __init__(self, *args: Any, keys: list[ApiKey]) -> None:
        super().__init__(*args)
        if len(keys) == 1:
            self.expected = keys[0].name
            label = "This key was used within the last day. Type its name to delete it: {}"
        else:
            self.expected = str(len(keys))
            label = (
                "Keys that were used within the last day are among these. Type the number of keys "
                "to delete them: {}"
            )
        self.fields["typed"].label = label.format(self.expected)
        if not any(key.was_used_lately for key in keys):
            del self.fields["typed"]

    def clean_typed(self) -> str:
        typed: str = self.cleaned_data["typed"]
        if typed != self.expected:
            raise forms.ValidationError("Nothing was deleted: the text differs.")
        return typed
