"""When a session ends, and that signing out is recorded."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from audit.models import Action, AuditEntry
from tests.support import staff
from tests.support.factories import Tenant
from tests.support.fixtures import AccessLog
from tests.support.staff import OLGA, SECURITY, START, is_signed_in
from workspaces import changes
from workspaces.accounts import sessions
from workspaces.models import Session

Wait = Callable[[float], None]


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch) -> Wait:
    real, waited = timezone.now, timedelta()

    def wait(minutes: float) -> None:
        nonlocal waited
        waited += timedelta(minutes=minutes)

    monkeypatch.setattr(timezone, "now", lambda: real() + waited)
    return wait


def test_session_that_is_not_used_for_an_hour_ends(ada: Client, wait: Wait) -> None:
    wait(58)
    assert is_signed_in(ada)
    wait(61)
    assert not is_signed_in(ada)


def test_session_ends_a_working_day_after_sign_in(acme: Tenant, wait: Wait) -> None:
    ada = staff.signed_in(acme.admin)
    for _ in range(9):
        wait(53)
        assert is_signed_in(ada)
        staff.not_recent(ada)  # the session is stored
    wait(4)
    assert not is_signed_in(ada)
    ada.force_login(acme.admin)
    wait(30)
    assert is_signed_in(ada)


def test_access_log_names_a_page_s_user(acme: Tenant, access_log: AccessLog) -> None:
    staff.signed_in(acme.admin).get(START)
    Client().get(START)
    page, anonymous = access_log()
    assert page["user"] == str(acme.admin.pk)
    assert anonymous["user"] is None


def test_signing_out_is_recorded_and_ends_the_session(acme: Tenant, ada: Client) -> None:
    key = str(ada.session.session_key)
    for _ in range(2):  # the second time nobody is signed in
        ada.post(reverse("admin:logout"))
    [entry] = AuditEntry.objects.filter(action=Action.LOGOUT)
    assert (entry.person, entry.address) == (acme.admin.username, "127.0.0.1")
    assert key not in str(vars(entry))
    assert not Session.objects.exists()


FIREFOX = "Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1"
EDGE = "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0"


def opened(user: User, user_agent: str, address: str = "192.0.2.7") -> Client:
    """A session that has been used with this browser."""
    client = Client(headers={"user-agent": user_agent}, REMOTE_ADDR=address)
    client.force_login(user)
    session = client.session
    del session["_session_expiry"]  # the next page moves the end, so it stores the session
    session.save()
    assert is_signed_in(client)
    return client


def test_a_page_that_looks_by_itself_does_not_move_the_end_of_its_session(ada: Client) -> None:
    session, soon = ada.session, timezone.now() + timedelta(minutes=5)
    session.set_expiry(soon)
    session.save()
    ada.get(START, headers={"Unattended": "yes"})
    assert ada.session.get_expiry_date() == soon
    ada.get(START)
    assert ada.session.get_expiry_date() > soon


def listed(client: Client) -> list[Any]:
    response: Any = client.get(SECURITY)
    return list(response.context["sessions"])


def test_users_see_their_sessions_in_words_and_no_key(acme: Tenant, umbrella: Tenant) -> None:
    phone, desk = opened(acme.admin, SAFARI, "192.0.2.8"), opened(acme.admin, FIREFOX)
    opened(umbrella.admin, EDGE)
    page: Any = desk.get(SECURITY)
    assert {(each.browser, each.address) for each in listed(desk)} == {
        ("Firefox on Windows", "192.0.2.7"),
        ("Safari on iPhone", "192.0.2.8"),
    }
    html = page.content.decode()
    assert html.count("This one") == 1
    assert "Edge on Linux" not in html
    for client in (phone, desk):
        assert str(client.session.session_key) not in html


def test_users_end_one_session_or_all_others(acme: Tenant) -> None:
    phone, desk, other = (opened(acme.admin, each) for each in (SAFARI, FIREFOX, EDGE))
    [found] = (each for each in listed(desk) if each.browser == "Safari on iPhone")
    desk.post(SECURITY, {"session": found.digest})
    assert [is_signed_in(each) for each in (phone, desk, other)] == [False, True, True]
    desk.post(SECURITY, {"all": "yes"})
    assert [is_signed_in(each) for each in (desk, other)] == [True, False]
    entries = AuditEntry.objects.filter(action=Action.SESSIONS_ENDED)
    assert [(each.person, each.member) for each in entries] == [(acme.admin.username,) * 2] * 2
    assert found.session_key not in str([vars(each) for each in entries])


def test_nobody_ends_another_user_s_session(acme: Tenant, umbrella: Tenant) -> None:
    theirs, desk = opened(umbrella.admin, SAFARI), opened(acme.admin, FIREFOX)
    key = str(theirs.session.session_key)
    for name in ("session", "all"):
        for value in (sessions.digest(key), key, "", "\0"):
            assert desk.post(SECURITY, {name: value}).status_code == 302
    assert is_signed_in(theirs)
    assert not AuditEntry.objects.filter(action=Action.SESSIONS_ENDED).exists()


def test_account_that_is_opened_again_has_none_of_its_earlier_sessions(acme: Tenant) -> None:
    stolen = staff.signed_in(acme.admin)
    changes.deactivate(acme.admin, even_last_admin=True)
    assert not is_signed_in(stolen)
    acme.admin.is_active = True
    acme.admin.save()
    assert not is_signed_in(stolen)


def test_operator_ends_all_sessions_of_somebody(acme: Tenant) -> None:
    phone, desk = opened(acme.admin, SAFARI), staff.signed_in(staff.operator())
    url = reverse("admin:auth_user_end_sessions", args=[acme.admin.pk])
    assert opened(acme.admin, EDGE).post(url).status_code == 403
    desk.post(url)
    assert not is_signed_in(phone)
    entry = AuditEntry.objects.get(action=Action.SESSIONS_ENDED)
    assert (entry.person, entry.member) == (OLGA, acme.admin.username)
    assert entry.detail == "sessions: 2"
    own = reverse("admin:auth_user_end_sessions", args=[staff.operator().pk])
    assert desk.post(own)["Location"] == own.replace("end-sessions", "change")
    assert is_signed_in(desk)
