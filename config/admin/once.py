"""Forms that create something at most once, however often they are sent."""

import uuid
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core import signing


class OnceForm(forms.Form):
    """Contains the id of what it creates, signed for its user.

    If it is sent again (reload, back button, double click), something has that id already.
    """

    new_id = forms.CharField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, by: User, **kwargs: Any) -> None:
        self.signer = signing.Signer(salt=f"{type(self).__module__}:{by.pk}")
        new_id = {"new_id": self.signer.sign(str(uuid.uuid4()))}
        kwargs["initial"] = kwargs.get("initial", {}) | new_id
        super().__init__(*args, **kwargs)

    def clean_new_id(self) -> uuid.UUID:
        try:
            return uuid.UUID(self.signer.unsign(self.cleaned_data["new_id"]))
        except signing.BadSignature:
            raise forms.ValidationError("Please open this form again.") from None
