"""The link with which the owner of a new account sets its password."""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from workspaces.accounts.passwords import NewPassword

DAYS = 7  # that a link is valid


class Tokens(PasswordResetTokenGenerator):
    """The tokens of new accounts; each is valid for some days, until a password is set."""

    key_salt = "workspaces.accounts.first_password"

    def make_token(self, user: Any) -> str:
        longer = DAYS * 24 * 60 * 60 - settings.PASSWORD_RESET_TIMEOUT
        time = self._num_seconds(self._now()) + longer
        return self._make_token_with_timestamp(user, time, self.secret)


class FirstPassword(NewPassword):
    """The link of a new account, which an operator has passed on: it confirms no address."""

    token_generator = Tokens()
    extra_context = {"valid_for": f"{DAYS} days"}


def link_for(account: User) -> str:
    """The path of the page where the owner of a new account sets the password."""
    uid = urlsafe_base64_encode(force_bytes(account.pk))
    token = FirstPassword.token_generator.make_token(account)
    return reverse("admin:first_password", args=[uid, token])
