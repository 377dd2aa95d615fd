"""The form that creates a key, at most one however often it is sent."""

import uuid
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core import signing

from apikeys import validators as names
from workspaces.models import Workspace
from workspaces.permissions import administered_by


class NewKeyForm(forms.Form):
    """Asks for a name, and for the workspace if the user is an admin of several.

    The form contains the id of the new key, signed for its user. If it is sent again (reload, back
    button, double click), the key already exists.
    """

    name = forms.CharField(
        max_length=names.LENGTH,
        help_text="What the key is for, such as “CRM sync”. It cannot be changed later.",
        widget=forms.TextInput(attrs={"class": "vTextField", "autofocus": True}),
    )
    workspace = forms.ModelChoiceField(
        Workspace.objects.none(), empty_label="Choose where the key belongs"
    )
    key_id = forms.CharField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, by: User, **kwargs: Any) -> None:
        self.signer = signing.Signer(salt=f"apikeys.forms:{by.pk}")  # for this user's forms only
        kwargs.setdefault("initial", {})["key_id"] = self.signer.sign(str(uuid.uuid4()))
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        self.workspaces = list(administered_by(by).order_by("name", "id"))
        if len(self.workspaces) == 1:
            del self.fields["workspace"]
        else:
            choices = self.fields["workspace"]
            choices.queryset = administered_by(by).order_by("name", "id")  # type: ignore[attr-defined]

    def clean_name(self) -> str:
        return names.clean(self.cleaned_data["name"])

    def clean_key_id(self) -> uuid.UUID:
        try:
            return uuid.UUID(self.signer.unsign(self.cleaned_data["key_id"]))
        except signing.BadSignature:
            raise forms.ValidationError("Please open this form again.") from None

    def chosen_workspace(self) -> Workspace:
        """The workspace of the new key; the form must be valid."""
        chosen: Workspace = self.cleaned_data.get("workspace") or self.workspaces[0]
        return chosen
