"""The forms of accounts: one that an operator makes or changes, and an invited user's own."""

from django import forms
from django.contrib.auth.forms import BaseUserCreationForm, SetPasswordMixin
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from workspaces.accounts.logins import TAKEN, with_login
from workspaces.forms import login_of
from workspaces.models import LOGIN_LENGTH


class AccountForm(forms.ModelForm):  # type: ignore[type-arg] # generic only in the stubs
    class Meta:
        model = User
        fields = ("email", "first_name", "last_name")

    email = forms.EmailField(
        label="E-mail",
        max_length=LOGIN_LENGTH,
        help_text="It is the login, unless the account has one that is no e-mail address.",
        widget=forms.EmailInput({"autocomplete": "off"}),
    )

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        if email != self.instance.email:
            email = login_of(email)
        if with_login(email).exclude(pk=self.instance.pk).exists():
            raise ValidationError(TAKEN)
        # A login that is no e-mail address, from `createsuperuser`, stays as it is.
        if self.instance.username in ("", self.instance.email):
            self.instance.username = email
        return email


class InvitedAccountForm(BaseUserCreationForm):  # type: ignore[type-arg]
    """The account of an invited user, whose login the invitation has fixed.

    Django's validators compare the password with the names and the address.
    """

    class Meta:
        model = User
        fields = ("first_name", "last_name")
        widgets = {
            "first_name": forms.TextInput({"autocomplete": "given-name"}),
            "last_name": forms.TextInput({"autocomplete": "family-name"}),
        }

    password1, password2 = SetPasswordMixin.create_password_fields("Password", "Password again")
