"""When a session ends, and that signing out is recorded."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from audit.models import Action, AuditEntry
from tests.support import staff
from tests.support.factories import Tenant
from tests.support.staff import asked

INDEX = reverse("admin:index")
Wait = Callable[[float], None]


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch) -> Wait:
    """Moves Django's clock by so many minutes."""
    real, waited = timezone.now, timedelta()

    def wait(minutes: float) -> None:
        nonlocal waited
        waited += timedelta(minutes=minutes)

    monkeypatch.setattr(timezone, "now", lambda: real() + waited)
    return wait


def is_signed_in(client: Client) -> bool:
    return client.get(INDEX).status_code == 200


def test_session_that_is_not_used_for_an_hour_ends(ada: Client, wait: Wait) -> None:
    for _ in range(3):
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


def test_idle_time_is_a_setting(acme: Tenant, wait: Wait, settings: Any) -> None:
    settings.SESSION_IDLE_MINUTES = 8 * 60
    ada = staff.signed_in(acme.admin)
    wait(7.9 * 60)
    assert is_signed_in(ada)
    wait(7)
    assert not is_signed_in(ada)


def test_session_of_the_release_before_ends_too(ada: Client, wait: Wait) -> None:
    session = ada.session
    del session["signed_in_at"], session["_session_expiry"]
    session.save()
    assert is_signed_in(ada)
    wait(61)
    assert not is_signed_in(ada)


def test_session_is_stored_once_a_minute(ada: Client, wait: Wait) -> None:

    def stored() -> list[str]:
        return [sql for sql in asked(ada, INDEX) if sql.startswith('UPDATE "django_session"')]

    assert stored() == []
    wait(1.1)
    assert len(stored()) == 1
    assert stored() == []


def test_access_log_names_a_page_s_user(acme: Tenant, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "access"):
        staff.signed_in(acme.admin).get(INDEX)
        Client().get(INDEX)
    page, anonymous = (vars(record)["fields"] for record in caplog.records)
    assert page["user"] == str(acme.admin.pk)
    assert "user" not in anonymous


def test_signing_out_is_recorded_and_ends_the_session(acme: Tenant, ada: Client) -> None:
    key = str(ada.session.session_key)
    for _ in range(2):  # the second time nobody is signed in
        ada.post(reverse("admin:logout"))
    [entry] = AuditEntry.objects.filter(action=Action.LOGOUT)
    assert (entry.person, entry.address) == (acme.admin.username, "127.0.0.1")
    assert key not in str(vars(entry))
    assert not Session.objects.exists()
