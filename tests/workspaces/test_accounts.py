"""Each change of an account is in the audit log, made by a page, a command or a shell."""

import os
import pwd
import re
import subprocess
import sys
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import DatabaseError
from django.test import Client
from django.urls import reverse

from audit.models import Action, AuditEntry
from tests.support import factories, server
from tests.support.database import no_entries
from tests.support.server import ROOT
from tests.support.staff import OLGA, START, body, signed_in
from workspaces.accounts.recording import NOT_CONFIRMED

BOB = "bob@acme.example"


@pytest.fixture
def bob(db: None) -> User:
    return factories.user(BOB)


def told() -> list[tuple[str, str, str, str]]:
    entries = AuditEntry.objects.filter(action__startswith="account.").order_by("id")
    return list(entries.values_list("action", "member", "person", "detail"))


def save(desk: Client, user: User, **changed: Any) -> None:
    user.refresh_from_db()
    form = {"email": user.email, "first_name": user.first_name, **changed}
    response = desk.post(reverse("admin:auth_user_change", args=[user.pk]), form)
    assert response.status_code == 302, response.content.decode()


# --- In the admin


def test_account_that_an_operator_changes_is_recorded(desk: Client, bob: User) -> None:
    save(desk, bob, email="rob@acme.example", first_name="Rob")  # under the earlier login
    detail = (
        f"username changed from {BOB} to rob@acme.example; "
        f"email address changed from {BOB} to rob@acme.example; first name changed from none to Rob"
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
    assert session.get(START).status_code == 302
    assert told() == [(Action.PASSWORD_CHANGED, BOB, OLGA, "")]
    entry = AuditEntry.objects.latest("id")
    assert (entry.address, len(entry.request_id)) == ("127.0.0.1", 32)
    assert link.split("/")[-2] not in str(AuditEntry.objects.values())


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
    who = f"{me}, by command createsuperuser, sudo says 'petra'"
    detail = f"made an operator; may sign in here; {NOT_CONFIRMED}"
    assert told() == [(Action.ACCOUNT_CREATED, "root@x.example", who, detail)]


def test_createsuperuser_makes_no_second_account_of_a_login_in_another_case(bob: User) -> None:
    for login in (BOB, BOB.capitalize()):
        with pytest.raises(CommandError, match="already taken"):
            call_command("createsuperuser", interactive=False, username=login, email=BOB)


@pytest.mark.usefixtures("as_owner")
def test_deletion_in_a_shell_is_recorded(bob: User) -> None:
    bob.delete()
    assert [(action, member) for action, member, *_ in told()] == [(Action.ACCOUNT_DELETED, BOB)]


# --- The entry and the change are one


def test_account_changes_only_if_the_entry_can_be_added(transactional_db: None) -> None:
    bob = factories.user(BOB)
    bob.is_superuser = True
    for change in (bob.save, bob.delete, lambda: User.objects.create_superuser("eve@acme.example")):
        with no_entries(), pytest.raises(DatabaseError, match="permission denied"):
            change()
    [stored] = User.objects.all()
    assert (stored.username, stored.is_superuser) == (BOB, False)
