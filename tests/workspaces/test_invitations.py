"""Invitations: a link that works once, for one e-mail address, workspace and role."""

import logging
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from audit.models import Action, AuditEntry
from tests.support import factories, staff
from tests.support.factories import Tenant
from tests.support.fixtures import AccessLog
from tests.support.mails import sent
from tests.support.staff import START, body, give_password, told
from workspaces.accounts import invitation_views, invitations
from workspaces.accounts.recording import NOT_CONFIRMED
from workspaces.accounts.throttle import Limit
from workspaces.models import ConfirmedAddress, Invitation, Membership, Session, Workspace
from workspaces.permissions import is_operator

PAGE = reverse("invitation")
EVE = "eve@acme.example"
SECRET = "a long enough passphrase"
ACCOUNT = {"first_name": "Eve", "last_name": "Ek", "password1": SECRET, "password2": SECRET}


def workspace_page(workspace: Workspace, name: str = "change") -> str:
    return reverse(f"admin:workspaces_workspace_{name}", args=[workspace.pk])


def invite(client: Client, workspace: Workspace, email: str = EVE) -> Any:
    return client.post(workspace_page(workspace, "invite"), {"email": email})


def link(acme: Tenant, email: str = EVE) -> str:
    """The link that an invitation shows to an operator, without a mail server."""
    html = body(invite(staff.signed_in(staff.operator()), acme.workspace, email))
    [found] = re.findall(r'<pre class="copyable secret"[^>]*>http://testserver(\S+)</pre>', html)
    return str(found)


def opened(url: str, client: Client | None = None) -> Client:
    client = client or Client()
    assert client.get(url)["Location"] == PAGE
    return client


# --- Inviting


def mailed_link(acme: Tenant, settings: Any, email: str = EVE) -> str:
    """The link in the e-mail of an invitation, which no page shows."""
    settings.EMAIL_HOST = "mail.example"
    mail.outbox.clear()
    ada = staff.signed_in(acme.admin)
    html = body(ada.post(workspace_page(acme.workspace, "invite"), {"email": email}, follow=True))
    assert f"An e-mail with the link goes to {email}, once the service sends e-mails" in html
    [message] = [each for each in sent() if each.to == [email]]
    assert message.subject == f"Invitation to {acme.workspace}"
    assert f"{acme.admin} invites you as admin of the workspace" in message.body
    [path] = re.findall(r"^http://testserver(\S+)$", message.body, re.MULTILINE)
    assert path not in html
    return str(path)


def test_invitation_s_link_is_shown_once_and_hashed(acme: Tenant, desk: Client) -> None:
    html = body(invite(desk, acme.workspace, "Eve@Acme.example"))
    [token] = re.findall(r"\?token=(\S+)</pre>", html)
    assert len(token) == 43
    invitation = Invitation.objects.get()
    assert invitation.email == EVE
    assert token not in str(list(Invitation.objects.values()))
    assert token not in str(list(AuditEntry.objects.values()))
    assert invitation.expires_at - invitation.created_at < timedelta(days=7, minutes=1)
    assert token not in body(desk.get(workspace_page(acme.workspace)))
    [entry] = told()
    assert entry[0] == Action.INVITATION_CREATED
    assert entry[2:] == (EVE, "as admin")


def test_invitations_a_day_are_limited(
    acme: Tenant, desk: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invitations, "MOST_A_DAY", 1)
    invite(desk, acme.workspace)
    assert "Try again tomorrow." in body(invite(desk, acme.workspace))
    Invitation.objects.update(created_at=timezone.now() - timedelta(days=2))
    assert "Copy the link now" in body(invite(desk, acme.workspace))
    assert told()[-1][3] == "as admin; replaces the earlier one"


def test_invitation_is_for_operators_and_own_admins(acme: Tenant, umbrella: Tenant) -> None:
    bob = staff.member(acme.workspace, "bob@acme.example")
    for user, status in ((umbrella.admin, 404), (bob, 403), (staff.support(), 403)):
        client = staff.signed_in(user)
        assert client.get(workspace_page(acme.workspace, "invite")).status_code == status
        assert invite(client, acme.workspace).status_code == status
        url = workspace_page(acme.workspace, "revoke_invitation")
        assert client.post(url, {"chosen": "1"}).status_code == status
    assert told() == []


# --- A new user


def test_invited_user_chooses_a_password_and_is_a_member_then(acme: Tenant) -> None:
    eve = opened(link(acme))
    assert f"{staff.operator()} invites {EVE} as admin" in body(eve.get(PAGE))
    assert not User.objects.filter(username=EVE).exists()
    response = eve.post(PAGE, ACCOUNT, follow=True)
    assert response.redirect_chain == [(START, 302)]  # signed in
    assert "You are now an admin of Acme." in body(response)
    account = User.objects.get(username=EVE)
    assert account.check_password(SECRET)
    assert (account.email, account.get_full_name()) == (EVE, "Eve Ek")
    assert (account.is_staff, account.is_superuser) == (True, False)
    assert Membership.objects.admins().filter(user=account, workspace=acme.workspace).exists()
    by = f"invited by {staff.operator()}; {NOT_CONFIRMED}"
    assert told()[1:] == [
        (Action.ACCOUNT_CREATED, EVE, EVE, f"may sign in here; {NOT_CONFIRMED}"),
        (Action.INVITATION_ACCEPTED, EVE, EVE, by),
        (Action.MEMBER_ADDED, EVE, EVE, "as admin"),
        (Action.LOGIN, EVE, "", ""),
    ]
    assert ConfirmedAddress.of(account) is None
    form = {"username": EVE, "password": SECRET, "next": START}
    assert Client().post(reverse("admin:login"), form).status_code == 302


def test_invited_user_who_needs_a_second_factor_sets_it_up_next(
    acme: Tenant, settings: Any
) -> None:
    eve = opened(link(acme))
    settings.SECOND_FACTOR = "admins"
    assert eve.post(PAGE, ACCOUNT)["Location"] == reverse("admin:login_set_up")
    assert eve.get(START).status_code == 302


def test_invitation_that_was_sent_by_mail_confirms_the_address(acme: Tenant, settings: Any) -> None:
    opened(mailed_link(acme, settings)).post(PAGE, ACCOUNT)
    account = User.objects.get(username=EVE)
    assert told()[1:] == [
        (Action.ACCOUNT_CREATED, EVE, EVE, "may sign in here"),
        (Action.ADDRESS_CONFIRMED, EVE, EVE, EVE),
        (Action.INVITATION_ACCEPTED, EVE, EVE, f"invited by {acme.admin}"),
        (Action.MEMBER_ADDED, EVE, EVE, "as admin"),
        (Action.LOGIN, EVE, "", ""),
    ]
    assert ConfirmedAddress.of(account) is not None
    account.username = account.email = "mallory@x.example"
    account.save()
    assert ConfirmedAddress.of(account) is None


def test_invited_user_chooses_neither_login_nor_rights(acme: Tenant) -> None:
    forged = {"email": "root@x.example", "username": "root", "is_superuser": "on"}
    opened(link(acme)).post(PAGE, {**ACCOUNT, **forged})
    assert not User.objects.get(username=EVE).is_superuser


# --- A user who has an account


def test_invited_user_with_an_account_accepts_and_looks_at_the_new_workspace(
    acme: Tenant, umbrella: Tenant
) -> None:
    Workspace.objects.filter(pk=umbrella.workspace.pk).update(name="A first one")
    login = give_password(umbrella.admin, SECRET).username
    uma = opened(link(acme, login.upper()))
    html = body(uma.get(PAGE))
    assert "Sign in to accept." in html
    assert "password1" not in html
    assert uma.post(PAGE, ACCOUNT).status_code == 200  # neither a new account nor a new password
    assert not acme.workspace.memberships.filter(user=umbrella.admin).exists()
    [url] = re.findall(r'href="(/admin/login/[^"]+)"', html)
    assert uma.post(url, {"username": login, "password": SECRET, "next": PAGE})["Location"] == PAGE
    assert "Accept" in body(uma.get(PAGE))
    start = uma.post(PAGE, follow=True)
    assert "You are now an admin of Acme." in body(start)
    assert start.context["looked_at"] == acme.workspace
    assert acme.workspace.memberships.get(user=umbrella.admin).role == "ADMIN"
    by = f"invited by {staff.operator()}; {NOT_CONFIRMED}"
    assert told()[-2:] == [
        (Action.INVITATION_ACCEPTED, login, login, by),
        (Action.MEMBER_ADDED, login, login, "as admin"),
    ]


def test_invited_user_who_became_a_member_meanwhile_is_made_an_admin(acme: Tenant) -> None:
    url = link(acme)
    eve = staff.member(acme.workspace, EVE)
    assert "You are now an admin of Acme." in body(
        opened(url, staff.signed_in(eve)).post(PAGE, follow=True)
    )
    assert Workspace.objects.administered_by(eve).contains(acme.workspace)
    assert told()[-1] == (Action.MEMBER_ROLE_CHANGED, EVE, EVE, "from member to admin")


def test_invitation_of_somebody_else_cannot_be_accepted(acme: Tenant, umbrella: Tenant) -> None:
    uma = opened(link(acme), staff.signed_in(umbrella.admin))
    for response in (uma.get(PAGE), uma.post(PAGE, ACCOUNT)):
        html = body(response)
        assert f"You are signed in as {umbrella.admin}, and only {EVE} can accept." in html
    assert Membership.objects.filter(workspace=acme.workspace).count() == 1
    assert not User.objects.filter(username=EVE).exists()


@pytest.mark.parametrize("closed", ["is_active", "is_staff"])
def test_invitation_opens_no_deactivated_account(acme: Tenant, closed: str) -> None:
    account = factories.user(EVE, **{"is_staff": True, "is_superuser": True, closed: False})
    eve = opened(link(acme))
    account.refresh_from_db()
    assert not is_operator(account)
    assert "Ask the operator of this service to activate it" in body(eve.get(PAGE))
    eve.post(PAGE, ACCOUNT)
    assert not acme.workspace.memberships.filter(user__username=EVE).exists()


def test_invitation_of_an_account_without_access_to_the_admin_is_accepted(acme: Tenant) -> None:
    eve = give_password(factories.user(EVE), SECRET)
    browser = opened(link(acme))
    form = {"username": EVE, "password": SECRET, "next": PAGE}
    assert browser.post(reverse("admin:login"), form)["Location"] == PAGE
    assert "You are now an admin of Acme." in body(browser.post(PAGE, follow=True))
    assert Workspace.objects.administered_by(eve).contains(acme.workspace)


def test_invitation_is_not_accepted_without_the_second_factor(acme: Tenant, settings: Any) -> None:
    eve = staff.signed_in(factories.user(EVE, is_staff=True))
    opened(link(acme), eve)
    settings.SECOND_FACTOR = "admins"
    assert "without the second factor that you need" in body(eve.post(PAGE))
    assert not acme.workspace.memberships.filter(user__username=EVE).exists()


# --- The link


def test_invitation_s_token_reaches_no_log(
    acme: Tenant, caplog: pytest.LogCaptureFixture, access_log: AccessLog
) -> None:
    url = link(acme)
    token = url.partition("token=")[2]
    caplog.set_level(logging.DEBUG)
    client = Client()
    response = client.get(url)
    assert response["Location"] == PAGE
    assert response["Referrer-Policy"] == "no-referrer"
    shown = client.get(PAGE)
    for each in (response, shown):
        assert "no-store" in each["Cache-Control"]
        assert "frame-ancestors 'none'" in each["Content-Security-Policy"]
    assert token not in body(shown)
    assert token not in str(client.session.items())
    assert Session.objects.count() > 0
    lines = access_log()
    assert [line["path"] for line in lines][-1] == PAGE
    assert token not in str(lines) + caplog.text


def test_invitation_is_used_once(acme: Tenant) -> None:
    url = link(acme)
    eve, second = opened(url), opened(url)
    eve.post(PAGE, ACCOUNT)
    response = Client().get(url, follow=True)
    assert response.status_code == 410
    assert "has been accepted already" in body(response)
    assert second.post(PAGE, ACCOUNT).status_code == 410
    assert User.objects.filter(username=EVE).count() == 1


@pytest.mark.parametrize("why", ["expired", "revoked", "replaced"])
def test_invitation_that_has_ended_is_refused(acme: Tenant, why: str) -> None:
    url = link(acme)
    eve, ada = opened(url), staff.signed_in(acme.admin)
    if why == "expired":
        Invitation.objects.update(expires_at=timezone.now())
    elif why == "revoked":
        revoke = workspace_page(acme.workspace, "revoke_invitation")
        form = {"chosen": str(Invitation.objects.get().pk)}
        ada.post(revoke, form)
        assert told()[1:] == [(Action.INVITATION_REVOKED, acme.admin.username, EVE, "as admin")]
    else:
        opened(link(acme))
        assert Invitation.objects.pending().count() == 1
    for response in (Client().get(url, follow=True), eve.get(PAGE), eve.post(PAGE, ACCOUNT)):
        assert response.status_code == 410
    assert not User.objects.filter(username=EVE).exists()


def test_invitation_that_does_not_exist_is_no_error(db: None) -> None:
    for query in ("?token=x", "?token=", "?token=%00", ""):
        response = Client().get(f"{PAGE}{query}", follow=True)
        assert response.status_code == 404, query
        assert "This is not the link of an invitation." in body(response)
    assert not Session.objects.exists()
    assert Client().post(PAGE, ACCOUNT).status_code == 404
    assert Client().delete(PAGE).status_code == 405


@pytest.mark.usefixtures("still_windows")
def test_invitations_are_throttled(acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invitation_views, "WRONG_LINKS", Limit("invitation", 2))
    url = link(acme)
    for _ in range(2):
        assert Client(REMOTE_ADDR="192.0.2.1").get(f"{PAGE}?token=x").status_code == 404
    response = Client(REMOTE_ADDR="192.0.2.1").get(url)
    assert response.status_code == 429
    assert int(response["Retry-After"]) > 0
    opened(url, Client(REMOTE_ADDR="192.0.2.2"))
