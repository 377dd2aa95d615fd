"""The second factor: asked for after the password, set up by who needs one, and recorded."""

import io
import logging
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from audit.models import Action, AuditEntry
from tests.support import factories, staff
from tests.support.factories import Tenant
from tests.support.staff import (
    ACCOUNTS,
    PASSWORD,
    SECURITY,
    START,
    body,
    code,
    give_password,
    is_signed_in,
)
from workspaces.accounts import recovery_codes, steps

pytestmark = pytest.mark.usefixtures("still_windows")

LOGIN, CODE, SET_UP = (reverse(f"admin:{n}") for n in ("login", "login_code", "login_set_up"))
APP, CODES, REMOVE = (reverse(f"admin:security_{n}") for n in ("app", "codes", "remove"))


@pytest.fixture(autouse=True)
def _required(settings: Any) -> None:
    settings.SECOND_FACTOR = "operators"


@pytest.fixture
def olga(db: None) -> User:
    return give_password(staff.operator())


@pytest.fixture
def ada(acme: Tenant) -> User:
    return give_password(acme.admin)


def app(user: User) -> TOTPDevice:
    device: TOTPDevice = TOTPDevice.objects.create(user=user, name="app")
    return device


def enter_password(user: User, next_url: str = START) -> tuple[Client, str]:
    """A browser after the password, and where it is led to."""
    client = Client()
    form = {"username": user.username, "password": PASSWORD, "next": next_url}
    return client, client.post(LOGIN, form)["Location"]


def entries() -> list[tuple[str, str, str]]:
    found = AuditEntry.objects.exclude(action__in=["account.changed", "account.password_changed"])
    return list(found.order_by("id").values_list("action", "member", "person"))


def shown_codes(response: Any) -> list[str]:
    return re.findall(r"\b(?:[a-z2-7]{4}-){3}[a-z2-7]{4}\b", body(response))


def test_user_without_a_second_factor_needs_one_if_required(ada: User, settings: Any) -> None:
    assert is_signed_in(enter_password(ada)[0])
    settings.SECOND_FACTOR = "admins"
    client, location = enter_password(ada)
    assert location == SET_UP
    assert not is_signed_in(client)


def test_code_is_asked_for_after_the_password_and_leads_where_one_wanted_to_go(olga: User) -> None:
    device = app(olga)
    client, location = enter_password(olga, ACCOUNTS)
    assert location == CODE
    assert entries() == []  # nobody has signed in
    response = client.post(CODE, {"code": code(device)})
    assert response["Location"] == ACCOUNTS
    assert client.get(ACCOUNTS).status_code == 200
    assert entries() == [(Action.LOGIN, "", olga.username)]
    assert "known_browser" in response.cookies
    device.delete()
    assert not is_signed_in(client)


def test_half_signed_in_session_opens_no_page(olga: User) -> None:
    app(olga)
    client, _ = enter_password(olga)
    urls = [START, ACCOUNTS, SECURITY, APP, CODES, REMOVE, reverse("admin:password_change")]
    for url in [*urls, reverse("admin:confirm_password")]:
        for method in (client.get, client.post):
            response: Any = method(url, {"start": "yes", "confirmed": "yes"})
            if response.status_code != 405:  # a page that nobody may send anything to
                assert response.status_code == 302, url
                assert response["Location"].startswith(LOGIN), url
    assert client.get(SET_UP)["Location"] == LOGIN  # the password cannot replace the app
    assert client.post(SET_UP, {"code": "000000"})["Location"] == LOGIN
    assert TOTPDevice.objects.count() == 1


@pytest.mark.parametrize("why", ["too late", "new password", "deactivated"])
def test_half_signed_in_session_ends(olga: User, why: str) -> None:
    device = app(olga)
    client, _ = enter_password(olga)
    if why == "too late":
        session = client.session
        session["password_accepted"]["until"] -= steps.SECONDS_FOR_CODE
        session.save()
    elif why == "new password":
        olga.set_password("another password")
        olga.save()
    else:
        User.objects.filter(pk=olga.pk).update(is_active=False)
    assert client.get(CODE)["Location"] == LOGIN
    assert client.post(CODE, {"code": code(device)})["Location"] == LOGIN
    assert not is_signed_in(client)


def test_wrong_code_is_refused_recorded_and_delays_the_next(olga: User) -> None:
    device = app(olga)
    client, _ = enter_password(olga)
    response = client.post(CODE, {"code": f"{(int(code(device)) + 1) % 10**6:06d}"})
    assert response.status_code == 200
    assert "The code is wrong" in body(response)
    assert entries() == [(Action.LOGIN_FAILED, "", olga.username)]
    assert AuditEntry.objects.latest("id").detail == "right password, wrong code"
    TOTPDevice.objects.update(throttling_failure_count=10)  # the delay doubles each time
    response = client.post(CODE, {"code": code(device)})
    assert response.status_code == 429
    assert 120 < int(response["Retry-After"]) <= 128
    TOTPDevice.objects.update(throttling_failure_timestamp=factories.at("2026-01-01 00:00:00"))
    assert client.post(CODE, {"code": code(device)}).status_code == 302


def test_code_may_be_typed_in_groups_and_odd_ones_are_just_wrong(olga: User) -> None:
    device = app(olga)
    recovery_codes.make(olga)
    client, _ = enter_password(olga)
    for typed in ("", "x" * 41, "a\x00b", "²²²²²²", "1_2_3_"):
        TOTPDevice.objects.update(throttling_failure_count=0)
        StaticDevice.objects.update(throttling_failure_count=0)
        assert client.post(CODE, {"code": typed}).status_code == 200, typed
        assert not is_signed_in(client)
    shown = code(device)
    TOTPDevice.objects.update(throttling_failure_count=0)
    assert client.post(CODE, {"code": f"{shown[:3]} {shown[3:]}"}).status_code == 302


def test_code_works_once_also_at_the_same_moment(transactional_db: None) -> None:
    user = give_password(staff.operator())
    device = app(user)
    clients = [enter_password(user)[0] for _ in range(4)]
    same = code(device)

    def enter(client: Client) -> int:
        with closing(connection):
            return client.post(CODE, {"code": same}).status_code

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(enter, clients)).count(302) == 1


def test_operator_without_one_sets_it_up_before_anything_else(olga: User) -> None:
    client, location = enter_password(olga, ACCOUNTS)
    assert location == SET_UP
    page = client.get(SET_UP)
    device = TOTPDevice.objects.get()
    assert not device.confirmed
    assert page.context["secret"] in body(page)
    client.post(SET_UP, {"code": "nonsense"})
    assert not is_signed_in(client)
    TOTPDevice.objects.update(throttling_failure_count=0)
    shown = client.post(SET_UP, {"code": code(device)})
    codes = shown_codes(shown)
    assert len(set(codes)) == recovery_codes.CODES
    assert f'href="{ACCOUNTS}"' in body(shown)
    assert client.get(ACCOUNTS).status_code == 200
    who = (olga.username, olga.username)
    assert entries() == [
        (Action.SECOND_FACTOR_ADDED, *who),
        (Action.RECOVERY_CODES_MADE, *who),
        (Action.LOGIN, "", olga.username),
    ]
    assert "no-store" in shown["Cache-Control"]
    assert client.get(SET_UP)["Location"] == LOGIN
    assert codes[0] not in body(client.get(SECURITY))


def test_recovery_code_signs_in_once_and_is_recorded_and_hashed(olga: User, ada: User) -> None:
    app(olga)
    theirs = recovery_codes.make(ada)[0]
    first, second, *_ = codes = recovery_codes.make(olga)
    stored = " ".join(StaticToken.objects.values_list("token", flat=True))
    assert not [each for each in codes if each in stored or each.replace("-", "") in stored]
    spelled = second.upper().replace("-", " ")
    for typed, status in [(theirs, 200), (first, 302), (first, 200), (spelled, 302)]:
        StaticDevice.objects.update(throttling_failure_count=0)
        assert enter_password(olga)[0].post(CODE, {"code": typed}).status_code == status
    assert recovery_codes.left(olga) == recovery_codes.CODES - 2
    used = (Action.RECOVERY_CODE_USED, "", olga.username)
    assert entries().count(used) == 2


def test_secrets_are_in_no_log_and_no_session(olga: User, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        client, _ = enter_password(olga)
        page = client.get(SET_UP)
        device = TOTPDevice.objects.get()
        typed = code(device)
        shown = client.post(SET_UP, {"code": typed})
        [recovery, *_] = shown_codes(shown)
        other, _ = enter_password(olga)
        other.post(CODE, {"code": recovery})
    elsewhere = caplog.text + str(list(AuditEntry.objects.values()))
    elsewhere += str(dict(client.session)) + str(dict(other.session)) + str(client.cookies)
    for secret in (device.key, page.context["secret"], recovery, f"code={typed}", f"'{typed}'"):
        assert secret not in elsewhere


def signed_in(user: User) -> Client:
    """A browser in which the user has entered password and code."""
    client, _ = enter_password(user)
    device = TOTPDevice.objects.filter(user=user, confirmed=True).first()
    if device is not None:
        TOTPDevice.objects.filter(pk=device.pk).update(last_t=-1, throttling_failure_count=0)
        assert client.post(CODE, {"code": code(device)}).status_code == 302
    return client


def test_session_of_a_new_operator_ends_until_there_is_a_second_factor(ada: User) -> None:
    client = signed_in(ada)
    User.objects.filter(pk=ada.pk).update(is_superuser=True)
    assert client.get(START)["Location"].startswith(LOGIN)
    assert client.get(LOGIN)["Location"] == LOGIN
    assert "_auth_user_id" not in client.session
    assert enter_password(ada)[1] == SET_UP


def test_security_page_sets_up_replaces_and_removes(ada: User) -> None:
    client = signed_in(ada)
    for times in (1, 2):  # the second time it replaces the first
        before = TOTPDevice.objects.filter(confirmed=True).first()
        assert client.post(APP, {"start": "yes"})["Location"] == APP
        if before:  # which works until the new one is confirmed
            signed_in(ada)
        device = TOTPDevice.objects.get(confirmed=False)
        assert len(shown_codes(client.post(APP, {"code": code(device)}))) == recovery_codes.CODES
        assert TOTPDevice.objects.get() == device
        assert StaticToken.objects.count() == recovery_codes.CODES
        actions = [action for action, *_ in entries()]
        assert actions.count(Action.SECOND_FACTOR_ADDED) == times
    assert is_signed_in(client)
    client.get(REMOVE)
    assert TOTPDevice.objects.exists()  # it asks first
    assert client.post(REMOVE)["Location"] == SECURITY
    assert not TOTPDevice.objects.exists()
    assert not StaticDevice.objects.exists()
    assert entries()[-1] == (Action.SECOND_FACTOR_REMOVED, ada.username, ada.username)


def test_required_second_factor_cannot_be_removed_by_its_user(olga: User) -> None:
    app(olga)
    client = signed_in(olga)
    assert REMOVE not in body(client.get(SECURITY))
    assert client.post(REMOVE).status_code == 403
    assert TOTPDevice.objects.exists()


def test_new_recovery_codes_replace_the_former_ones(ada: User) -> None:
    app(ada)
    old = recovery_codes.make(ada)[0]
    client = signed_in(ada)
    assert "no longer work" in body(client.get(CODES))
    new = shown_codes(client.post(CODES))
    assert len(new) == recovery_codes.CODES
    assert entries()[-1] == (Action.RECOVERY_CODES_MADE, ada.username, ada.username)
    for typed, status in [(old, 200), (new[0], 302)]:
        StaticDevice.objects.update(throttling_failure_count=0)
        assert enter_password(ada)[0].post(CODE, {"code": typed}).status_code == status


def test_password_again_is_asked_for_with_a_code_of_whoever_has_an_app(ada: User) -> None:
    device = app(ada)
    client = staff.not_recent(staff.signed_in(ada))
    confirm = client.get(CODES)["Location"]
    assert "or a recovery code" in body(client.get(confirm))
    now = code(device)
    for form, text in (
        ({"confirm-password": PASSWORD}, "This field is required"),
        # No code is used up.
        ({"confirm-password": "wrong", "confirm-code": now}, "The password is wrong"),
        ({"confirm-password": PASSWORD, "confirm-code": code(device, 9)}, "The code is wrong"),
    ):
        assert text in body(client.post(confirm, form))
        assert client.get(CODES)["Location"] == confirm
    assert AuditEntry.objects.latest("id").detail == "right password, wrong code"
    assert entries()[-2:] == [(Action.PASSWORD_REFUSED, "", ada.username)] * 2
    TOTPDevice.objects.update(throttling_failure_count=10)
    form = {"confirm-password": PASSWORD, "confirm-code": now}
    assert client.post(confirm, form).status_code == 429
    TOTPDevice.objects.update(throttling_failure_count=0)
    assert client.post(confirm, form)["Location"] == CODES
    assert client.get(CODES).status_code == 200
    staff.not_recent(client)
    assert "was used before" in body(client.post(confirm, form))  # somebody has watched


def removal_of(user: User) -> str:
    return reverse("admin:auth_user_remove_second_factor", args=[user.pk])


def test_operator_removes_another_users_second_factor(olga: User, ada: User) -> None:
    app(olga)
    app(ada)
    client = signed_in(olga)
    account = reverse("admin:auth_user_change", args=[ada.pk])
    assert client.post(removal_of(ada))["Location"] == account
    assert entries()[-1] == (Action.SECOND_FACTOR_REMOVED, ada.username, olga.username)
    own = reverse("admin:auth_user_change", args=[olga.pk])
    assert client.post(removal_of(olga))["Location"] == own
    assert TOTPDevice.objects.get().user == olga


def test_command_removes_the_second_factor_of_the_only_operator(olga: User) -> None:
    app(olga)
    call_command("remove_second_factor", olga.username, stdout=io.StringIO())
    [(action, member, person)] = entries()
    assert (action, member) == (Action.SECOND_FACTOR_REMOVED, olga.username)
    assert person  # the system's user
    assert enter_password(olga)[1] == SET_UP
