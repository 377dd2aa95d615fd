"""E-mails: to set a new password, the same response for everybody; and about new browsers."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core import mail as outgoing
from django.test import Client
from django.urls import reverse
from django.utils.http import urlsafe_base64_encode
from django_otp.plugins.otp_totp.models import TOTPDevice

from audit.models import Action, AuditEntry
from tests.support import factories, staff
from tests.support.database import executed
from tests.support.factories import Tenant
from tests.support.mails import sent
from tests.support.server import Server, eventually
from tests.support.staff import OLGA, PASSWORD, body, give_password, reset_link, set_password
from workspaces.accounts import passwords
from workspaces.accounts.passwords import RESETS_BY_ADDRESS, RESETS_OF_ACCOUNT
from workspaces.accounts.throttle import Limit
from workspaces.models import ConfirmedAddress, Mail

pytestmark = pytest.mark.usefixtures("still_windows")

LOGIN, RESET = reverse("admin:login"), reverse("admin:password_reset")
SECOND = f"{PASSWORD} 2"
NEW = {"new_password1": SECOND, "new_password2": SECOND}


@pytest.fixture
def ada(acme: Tenant, settings: Any) -> User:
    """Acme's admin; there is a mail server."""
    ada = give_password(acme.admin)
    settings.EMAIL_HOST, settings.BASE_URL = "mail.example", "http://testserver"
    return ada


def ask(login: str, address: str = "192.0.2.1") -> Any:
    return Client(REMOTE_ADDR=address).post(RESET, {"email": login})


def sent_to(user: User) -> str:
    [message] = sent()
    assert message.to == [user.username]
    return str(message.body)


def entries() -> list[tuple[str, str, str]]:
    found = AuditEntry.objects.filter(action__startswith="account.password").order_by("id")
    return list(found.values_list("action", "member", "person"))[1:]  # without the fixture's


def test_link_of_an_email_sets_a_new_password(ada: User) -> None:
    response = ask(ada.username.capitalize())
    assert response["Location"] == RESET
    text = sent_to(ada)
    assert ada.username in text
    assert "within one hour" in text
    path = reset_link(text)
    assert "Sign in with your new password." in body(set_password(path, SECOND))
    ada.refresh_from_db()
    assert ada.check_password(SECOND)
    assert entries() == [
        (Action.PASSWORD_RESET_REQUESTED, ada.username.capitalize(), ""),
        (Action.PASSWORD_CHANGED, ada.username, ""),
    ]
    confirmed = AuditEntry.objects.get(action=Action.ADDRESS_CONFIRMED)
    assert (confirmed.member, confirmed.person, confirmed.detail) == (ada.username, "", ada.email)
    assert ConfirmedAddress.of(ada)
    assert "not valid" in Client().get(path).content.decode()  # it works once


def test_address_that_is_changed_is_told_and_its_links_end(ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(email="")  # the login is an address anyway
    ask(ada.username)
    reset = reset_link(sent_to(ada))
    outgoing.outbox.clear()
    desk, page = staff.signed_in(staff.operator()), reverse("admin:auth_user_change", args=[ada.pk])
    desk.post(page, {"email": ada.username, "first_name": "Ada"})
    desk.post(page, {"email": "mallory@evil.example", "first_name": "Ada"})
    text = sent_to(ada)  # one e-mail only
    assert "E-mail address changed: admin@acme.example at http://testserver\n" in text
    assert re.search(rf"When: \S+ \d\d:\d\d:\d\d UTC\nBy: {OLGA}\n", text)
    assert "evil" not in text
    assert "/reset/" not in text
    ada.refresh_from_db()
    assert (ada.username, ada.email) == ("mallory@evil.example",) * 2
    assert "not valid" in Client().get(reset, follow=True).content.decode()


def test_unknown_accounts_do_not_fill_the_log(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "RECORDED_UNKNOWN", Limit("test, unknown", 2, minutes=60))
    for number in range(4):  # each from a network of its own
        assert ask(f"nobody{number}@acme.example", f"192.0.2.{number}").status_code == 302
    ask(ada.username)
    recorded = AuditEntry.objects.filter(action=Action.PASSWORD_RESET_REQUESTED)
    assert list(recorded.order_by("id").values_list("member", flat=True)) == [
        "nobody0@acme.example",
        "nobody1@acme.example",
        ada.username,
    ]


def test_links_of_emails_ignore_the_host_header(ada: User, settings: Any) -> None:
    settings.BASE_URL = "https://api.acme.example"
    host = {"host": "testserver:1337"}
    Client().post(RESET, {"email": ada.username}, headers=host)
    Client().post(LOGIN, {"username": ada.username, "password": PASSWORD}, headers=host)
    assert len(sent()) == 2
    for message in outgoing.outbox:
        assert f"{settings.BASE_URL}/admin/" in message.body
        assert "testserver" not in message.body


def test_new_password_signs_nobody_in_and_ends_other_sessions(ada: User) -> None:
    other = staff.signed_in(ada)
    TOTPDevice.objects.create(user=ada, name="app")
    ask(ada.username)
    set_password(reset_link(sent_to(ada)), SECOND)
    assert other.get("/admin/").status_code == 302
    form = {"username": ada.username, "password": SECOND}
    # The mailbox is no second factor.
    assert Client().post(LOGIN, form)["Location"] == reverse("admin:login_code")


def page(response: Any) -> str:
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", response.content.decode())


def test_response_is_the_same_whether_the_account_exists(ada: User) -> None:
    hidden = factories.user("gone@acme.example", is_staff=True, is_active=False)
    plain = factories.user("signer@acme.example")
    logins = [ada.username, hidden.username, plain.username, "nobody@acme.example"]
    responses, written = [], []
    for login in logins:
        with executed() as statements:
            responses.append(Client().post(RESET, {"email": login}, follow=True))
        written.append([sql.split(" (")[0] for sql in statements if sql.startswith("INSERT")])
    assert written == [written[0]] * len(logins)  # so it takes as long
    assert {response.redirect_chain[-1] for response in responses} == {(RESET, 302)}
    [same] = {page(response) for response in responses}
    assert "If there is an account with this address" in same
    sent_to(ada)  # and to nobody else
    assert not Mail.objects.exists()
    assert len(entries()) == len(logins)


@pytest.mark.parametrize("why", ["an hour later", "is_staff", "is_active"])
def test_link_of_an_email_ends(ada: User, settings: Any, why: str) -> None:
    ask(ada.username)
    path = reset_link(sent_to(ada))
    assert settings.PASSWORD_RESET_TIMEOUT == 60 * 60
    if why == "an hour later":
        settings.PASSWORD_RESET_TIMEOUT = -1
    else:
        User.objects.filter(pk=ada.pk).update(**{why: False})
    assert "not valid" in Client().get(path).content.decode()


@pytest.mark.parametrize("login", ["admin@acme.example", "nobody@acme.example"])
def test_requests_are_limited_by_account_whether_it_exists_or_not(ada: User, login: str) -> None:
    for number in range(RESETS_OF_ACCOUNT.attempts):
        assert ask(login, f"192.0.2.{number}").status_code == 302
    response = ask(login.upper(), "192.0.2.99")
    assert response.status_code == 429
    assert 1 <= int(response["Retry-After"]) <= 3600
    for number in range(RESETS_BY_ADDRESS.attempts):
        assert ask(f"guess{number}@acme.example", "198.51.100.1").status_code == 302
    assert ask("other@acme.example", "198.51.100.1").status_code == 429
    assert ask("other@acme.example", "198.51.100.2").status_code == 302


def test_odd_addresses_and_links_are_refused(ada: User) -> None:
    for login in ("", "x", "a\x00b@acme.example", "x" * 300 + "@acme.example"):
        assert ask(login).status_code == 200, login
    for path in ("x/y", "MQ/x", "%00/x", "MQ/set-password", "MTIzNDU2Nzg5MDEy/x"):
        response = Client().get(f"{RESET}{path}/")
        assert response.status_code == 200, path
        assert "This link is not valid" in response.content.decode()
        assert Client().post(f"{RESET}{path}/", NEW).status_code == 200


def test_user_gets_an_email_when_a_new_browser_has_signed_in(ada: User) -> None:
    agent = "https://evil.example/ Firefox"
    browser = Client(REMOTE_ADDR="192.0.2.1", headers={"User-Agent": agent})
    form = {"username": ada.username, "password": PASSWORD}
    for _ in range(2):  # the second time it is known
        assert browser.post(LOGIN, form).status_code == 302
        browser.post(reverse("admin:logout"))
    text = sent_to(ada)
    assert "Address: 192.0.2.1\nBrowser: Firefox\n" in text
    assert "http://testserver/admin/security/" in text
    assert "evil" not in text
    assert Client().post(LOGIN, {**form, "password": "wrong"}).status_code == 200
    sent_to(ada)  # nothing more


def test_forms_with_a_password_name_the_account_for_password_managers(ada: User) -> None:
    client = staff.signed_in(ada)
    for name in ("password_change", "confirm_password"):
        assert f'value="{ada}" readonly' in body(client.get(reverse(f"admin:{name}")))
    assert f'value="{ada}" readonly' in body(Client().get(real_link(ada)[0], follow=True))


def real_link(user: User) -> tuple[str, str]:
    """A link's path, and its token."""
    uid = urlsafe_base64_encode(str(user.pk).encode())
    token = default_token_generator.make_token(user)
    return f"/admin/reset/{uid}/{token}/", token


def test_token_is_not_in_the_access_log(acme: Tenant, pages: Server) -> None:
    path, token = real_link(acme.admin)
    response = pages.request(path.rstrip("/"))  # a link that a mail program has cut
    assert (response.status, response.headers["location"]) == (301, path)
    assert eventually(lambda: "GET /admin/reset/" in pages.log_of(response))
    assert token not in pages.log()
