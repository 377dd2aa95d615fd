import unicodedata
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from config.request.redaction import contains_raw_key
from workspaces import mails
from workspaces.models import LOGIN_LENGTH, Membership, Workspace


class TextField(forms.CharField):
    """A text on one line, without raw keys and control characters."""

    def clean(self, value: Any) -> str:
        text = " ".join(super().clean(value).split())
        if contains_raw_key(text):
            raise ValidationError(
                "This must not contain an API key: others can read it. Revoke that key, and write "
                "its name or first 12 characters instead."
            )
        if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
            raise ValidationError("This must not contain control characters.")
        return text


def login_of(email: str) -> str:
    """The login that the owner of a valid e-mail address gets.

    Raises ValidationError for letters that only look like others, such as "ı" in "bıg.example".
    """
    if not email.isascii():
        raise ValidationError(
            "Use only ASCII letters: write a domain such as bücher.example as "
            "xn--bcher-kva.example."
        )
    return email.lower()


class NewWorkspaceForm(forms.ModelForm):  # type: ignore[type-arg] # generic only in the stubs
    class Meta:
        model = Workspace
        fields = ("name", "plan")
        field_classes = {"name": TextField}
        widgets = {"name": forms.TextInput({"autofocus": True})}
        help_texts = {
            "name": "The customer’s name.",
            "plan": "Only Pro and Business include the API.",
        }


RenameForm = forms.modelform_factory(Workspace, NewWorkspaceForm, fields=["name"])


class ReasonForm(forms.Form):
    reason = TextField(
        max_length=500,
        widget=forms.Textarea({"rows": 3}),
        help_text="Required. It is kept in the audit log, which the workspace’s admins and support "
        "staff can read.",
        error_messages={"required": "Say why: the audit log keeps it."},
    )


class StaffForm(ReasonForm):
    typed = forms.CharField(widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}))

    def __init__(self, *args: Any, login: str) -> None:
        super().__init__(*args)
        self.login = login
        self.fields["typed"].label = f"Type {login}"
        told = " Other operators get an e-mail, and so does the user." if mails.available() else ""
        self.fields["reason"].help_text = f"Required. It is kept in the audit log.{told}"

    def clean_typed(self) -> str:
        typed: str = self.cleaned_data["typed"]
        if typed != self.login:
            raise ValidationError("Nothing was changed: the text differs.")
        return typed


class InvitationForm(forms.Form):
    email = forms.EmailField(
        label="E-mail",
        max_length=LOGIN_LENGTH,
        help_text="It becomes their login. Admins manage keys, webhooks and other admins, and read "
        "the audit log.",
        widget=forms.EmailInput({"autofocus": True, "autocomplete": "off"}),
    )

    def clean_email(self) -> str:
        return login_of(self.cleaned_data["email"])


class ChosenForm(forms.Form):
    chosen = forms.ModelChoiceField(Membership.objects.none(), widget=forms.HiddenInput)

    def __init__(self, *args: Any, rows: QuerySet[Any], gone: str) -> None:
        super().__init__(*args)
        field: Any = self.fields["chosen"]
        field.queryset = rows
        field.error_messages |= {"required": gone, "invalid_choice": gone}
