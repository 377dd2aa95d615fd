from datetime import datetime, timedelta

from django import forms
from django.utils import timezone

from apikeys import keys
from config.console.object_page import OnceForm

NEVER = "never"
EXPIRY = [("90", "In 90 days"), ("365", "In a year"), (NEVER, "Never")]
OLD_KEY_ENDS = {  # the hours until the old key ends
    "0": "Now",
    "1": "In 1 hour",
    "24": "In 24 hours",
    "168": "In 7 days",
    NEVER: "Not by itself: I will revoke it",
}


class ExpiryForm(OnceForm):
    expires = forms.ChoiceField(
        label="The new key expires",
        choices=EXPIRY,
        initial="90",
        help_text="A key that expires is safer: if it leaks, it does not work for ever. From then "
        "on, requests with it get 401. Its state warns 14 days before, and so does an e-mail if "
        "this service sends any.",
    )

    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["expires"]
        return None if days == NEVER else timezone.now() + timedelta(days=int(days))


class NewKeyForm(ExpiryForm):
    name = forms.CharField(
        max_length=keys.NAME_LENGTH,
        help_text="Such as “CRM sync”. It cannot be changed later.",
        widget=forms.TextInput(attrs={"autofocus": True}),
    )
    field_order = ("name",)

    def clean_name(self) -> str:
        return keys.clean_name(self.cleaned_data["name"])


class RollForm(ExpiryForm):
    old_key_ends = forms.ChoiceField(
        label="The present key ends",
        choices=list(OLD_KEY_ENDS.items()),
        initial="24",
        help_text="Until then both keys work, so that programs can change over.",
    )
    field_order = ("old_key_ends", "expires")

    def ends_in(self) -> timedelta | None:
        chosen = self.cleaned_data["old_key_ends"]
        return None if chosen == NEVER else timedelta(hours=int(chosen))
