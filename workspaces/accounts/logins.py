from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import User, UserManager
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import QuerySet, Value
from django.db.models.functions import Collate, Lower

TAKEN = "There is an account with this e-mail address already."


def with_login(login: str) -> QuerySet[User]:
    """The account with this login, whatever the case of its ASCII letters, or none.

    Phones begin an e-mail address with a capital letter; the unique index account_login compares
    in the same way. In Unicode, and so in `iexact`, "ı" is an "i" and "ſ" an "s": the login of
    another domain's owner.
    """
    folded = Lower(Collate("username", "C"))
    return User.objects.alias(folded=folded).filter(folded=Lower(Collate(Value(login), "C")))


def by_login(accounts: UserManager[User], login: str) -> User:
    """What Django's own backend and commands look for an account with."""
    return with_login(login).get()


@contextmanager
def saving_login() -> Iterator[None]:
    """Saves an account; a ValidationError if its login is taken, also since it was looked up."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as exc:
        raise ValidationError({"email": TAKEN}) from exc


def loggable(login: str) -> str:
    """The login as the audit log may store it; "" for a text that could be a password.

    Users do type their password into the login field, so only an e-mail address or the login of an
    account is stored.
    """
    try:
        validate_email(login)
    except ValidationError:
        return login if with_login(login).exists() else ""
    return login
