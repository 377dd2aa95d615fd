"""Logins: the account that a typed one means."""

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db.models import QuerySet, Value
from django.db.models.functions import Collate, Lower


def with_login(login: str) -> QuerySet[User]:
    """The accounts with this login, whatever the case of its ASCII letters.

    In Unicode, and so in `iexact`, "ı" is an "i" and "ſ" an "s": the login of another domain's
    owner.
    """
    folded = Lower(Collate("username", "C"))
    return User.objects.alias(folded=folded).filter(folded=Lower(Collate(Value(login), "C")))


def account(login: str) -> User | None:
    """The account of a typed login: phones begin an e-mail address with a capital letter."""
    found = with_login(login)[:2]
    return found[0] if len(found) == 1 else User.objects.filter(username=login).first()


def loggable(login: str) -> str:
    """The login as the audit log may store it; "" for a text that could be a password.

    Users do type their password into the login field, so only an e-mail address or the login of an
    account is stored.
    """
    known = User.objects.filter(username=login).exists()
    try:
        validate_email(login)
    except ValidationError:
        return login if known else ""
    return login
