"""Each change of an account is in the audit log, made by a page, a command or a shell."""

import os
import pwd
import re
import subprocess
import sys
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import DatabaseError
from django.test import Client
from django.urls import reverse

from audit.models import Action, AuditEntry
from tests.support import factories, server
from tests.support.database import no_entries
from tests.support.server import ROOT
from tests.support.staff import body, signed_in, support
from workspaces.accounts.recording import NOT_CONFIRMED

SECRET = "a long enough passphrase"
OLGA = "olga@operators.example"
BOB = "bob@acme.example"


@pytest.fixture
def bob(db: None) -> User:
    return factories.user(BOB)


def told() -> list[tuple[str, str, str, str]]:
    """The entries about accounts, in order."""
    entries = AuditEntry.objects.filter(action__startswith="account.").order_by("id")
    return list(entries.values_list("action", "member", "person", "detail"))


def save(desk: Client, user: User, **changed: Any) -> None:
    """Sends the account's page with some fields changed."""
    user.refresh_from_db()
    form = {"email": user.email, "first_name": user.first_name, **changed}
    response = desk.post(reverse("admin:auth_user_change", args=[user.pk]), form)
    assert response.status_code == 302, response.content.decode()


# --- In the admin


def test_account_that_an_operator_changes_is_recorded(desk: Client, bob: User) -> None:
    save(desk, bob, email="rob@acme.example", first_name="Rob")  # under the earlier login
    detail = (
        f"username: {BOB} → rob@acme.example; email address: {BOB} → rob@acme.example; "
        "first name:  → Rob"
    )
    assert told() == [(Action.ACCOUNT_CHANGED, BOB, OLGA, detail)]


def test_operator_ends_a_password_and_passes_a_link_on(desk: Client, bob: User) -> None:
    url = reverse("admin:auth_user_password", args=[bob.pk])
    assert desk.post(url).status_code == 302  # to the account, with the reason
    User.objects.filter(pk=bob.pk).update(is_staff=True)
    bob.refresh_from_db()
    session = signed_in(bob)
    [link] = re.findall(r"http://testserver(/admin/reset/first-\S+/)<", body(desk.post(url)))
    bob.refresh_from_db()
    assert not bob.has_usable_password()
    assert session.get(reverse("admin:index")).status_code == 302
    assert told() == [(Action.PASSWORD_CHANGED, BOB, OLGA, "")]
    entry = AuditEntry.objects.latest("id")
    assert (entry.address, len(entry.request_id)) == ("127.0.0.1", 32)
    assert link.split("/")[-2] not in str(AuditEntry.objects.values())


def test_signing_in_is_no_change_of_the_account_even_if_the_hash_is_renewed(db: None) -> None:
    sam = support()
    old = PBKDF2PasswordHasher().encode(SECRET, "salt", 1)
    User.objects.filter(pk=sam.pk).update(password=old)
    form = {"username": sam.username, "password": SECRET}
    assert Client().post(reverse("admin:login"), form).status_code == 302
    sam.refresh_from_db()
    assert sam.password != old
    assert sam.last_login is not None
    assert told() == []
    assert AuditEntry.objects.get().action == Action.LOGIN


# --- By a command, or in a shell


def test_createsuperuser_is_recorded(transactional_db: None) -> None:
    """`test_request_context.py` has other ways to call a command."""
    subprocess.run(
        [sys.executable, "manage.py", "createsuperuser", "--noinput"]
        + ["--username", "root@x.example", "--email", "a@b.cz"],
        cwd=ROOT,
        env={**os.environ, "SUDO_USER": "petra", "DATABASE_URL": server.test_database_url()},
        check=True,
        timeout=60,
    )
    me = pwd.getpwuid(os.getuid()).pw_name
    who = f"{me} (manage.py createsuperuser, sudo says 'petra')"
    detail = f"superuser status: no → yes; staff status: no → yes; {NOT_CONFIRMED}"
    assert told() == [(Action.ACCOUNT_CREATED, "root@x.example", who, detail)]


def test_changepassword_is_recorded(bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getpass", lambda **_: SECRET)
    call_command("changepassword", BOB, stdout=StringIO())
    [(action, member, person, detail)] = told()
    assert (action, member, detail) == (Action.PASSWORD_CHANGED, BOB, "")
    assert person.startswith(pwd.getpwuid(os.getuid()).pw_name)


@pytest.mark.usefixtures("as_owner")
def test_deletion_in_a_shell_is_recorded(bob: User) -> None:
    bob.delete()
    assert [(action, member) for action, member, *_ in told()] == [(Action.ACCOUNT_DELETED, BOB)]


def test_change_has_the_fields_that_were_saved_and_is_cut_at_its_end(bob: User) -> None:
    bob.is_superuser = bob.is_staff = True
    bob.save(update_fields=["is_staff"])
    bob.username, bob.email = "u" * 150, "e" * 254
    bob.first_name, bob.last_name = "f" * 150, "l" * 150
    bob.save()
    User.objects.filter(pk=bob.pk).update(first_name="g" * 150, last_name="m" * 150)
    bob.username, bob.email = "v" * 150, "d" * 254
    bob.save()
    first, second, third = (detail for *_, detail in told())
    assert first == "staff status: no → yes"
    assert second.startswith("superuser status: no → yes; username: ")
    assert len(third) == 1000
    assert third.endswith("…")


# --- The entry and the change are one


def test_account_changes_only_if_the_entry_can_be_added(transactional_db: None) -> None:
    bob = factories.user(BOB)
    bob.is_superuser = True
    for change in (
        bob.save,
        bob.delete,
        lambda: User.objects.create_superuser("eve@acme.example"),
    ):
        with no_entries(), pytest.raises(DatabaseError, match="permission denied"):
            change()
    [stored] = User.objects.all()
    assert (stored.username, stored.is_superuser) == (BOB, False)
