"""Accounts in the admin: for operators, without Django's own words for rights."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django_otp.plugins.otp_totp.models import TOTPDevice

from audit.models import Action
from config.request.redaction import redact
from tests.support import factories, staff
from tests.support.cast import page_of
from tests.support.database import refused_at_once
from tests.support.factories import Tenant
from tests.support.staff import ACCOUNTS, OLGA, START, body, reset_link, told
from workspaces import changes
from workspaces.accounts.passwords import FirstPassword
from workspaces.accounts.recording import NOT_CONFIRMED
from workspaces.accounts.rights import is_support_staff
from workspaces.admin.staff import MakeOperator
from workspaces.models import ConfirmedAddress, Membership
from workspaces.permissions import is_operator

ADD = reverse("admin:auth_user_add")
RIGHTS = {"operator": is_operator, "support": is_support_staff}
NEW = {"email": "Eve@Support.example", "first_name": "Eve", "last_name": "Ek"}


def test_accounts_are_found_by_role_and_state(acme: Tenant, desk: Client) -> None:
    closed = staff.member(acme.workspace, "closed@acme.example")
    User.objects.filter(pk=closed.pk).update(is_active=False)
    bob = staff.member(acme.workspace, "bob@acme.example")
    olga, sam = staff.operator(), staff.support()
    for query, found in (
        ("role=operators", [olga]),
        ("role=support", [sam]),
        ("role=customers&state=active", [acme.admin, bob]),
        ("state=deactivated", [closed]),
        ("role=nobody", [acme.admin, bob, closed, olga, sam]),
    ):
        assert list(staff.shown(desk, f"?{query}", ACCOUNTS).result_list) == found, query
    html = body(desk.get(ACCOUNTS))
    for words in ("Filter by role", "Filter by state", ">Operators<", ">Deactivated<"):
        assert words in html


def test_new_account_sets_its_password_with_a_link_that_is_shown_once(desk: Client) -> None:
    link = reset_link(body(desk.post(ADD, NEW)))
    eve = User.objects.get(username="eve@support.example")
    assert (eve.email, eve.get_full_name()) == ("eve@support.example", "Eve Ek")
    assert not eve.has_usable_password()
    assert (is_support_staff(eve), is_operator(eve)) == (False, False)  # no second factor yet
    again = desk.post(ADD, NEW)
    assert "There is an account with this e-mail address already." in body(again)
    for response in (again, desk.get(page_of(eve)), desk.get(ACCOUNTS)):
        assert link.split("/")[-2] not in body(response)
    staff.set_password(link)
    eve.refresh_from_db()
    assert eve.check_password(staff.PASSWORD)
    assert told() == [
        (Action.ACCOUNT_CREATED, OLGA, eve.username, f"may sign in here; {NOT_CONFIRMED}"),
        (Action.PASSWORD_CHANGED, "", eve.username, ""),
    ]
    assert ConfirmedAddress.of(eve) is None  # it was not sent to the address
    assert "A link works once, within 7 days" in body(Client().get(link, follow=True))


def test_link_of_a_new_account_is_valid_for_seven_days_and_as_nothing_else(
    desk: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = reset_link(body(desk.post(ADD, NEW)))
    as_reset = link.replace("first-", "")
    assert "This link is not valid" in body(Client().get(as_reset, follow=True))
    assert redact(link) == f"{link.rsplit('/', 2)[0]}/…/"
    present = FirstPassword.token_generator._now()
    for days, valid in ((6.9, True), (7.1, False)):
        later = present + timedelta(days=days)
        monkeypatch.setattr(FirstPassword.token_generator, "_now", lambda now=later: now)
        html = body(Client().get(link, follow=True))
        assert ("This link is not valid" not in html) is valid


def right(desk: Client, user: User, name: str, **changed: str) -> Any:
    form = {"reason": "She joins the team", "typed": user.username, **changed}
    return desk.post(page_of(user, name.replace("-", "_")), form, follow=True)


@pytest.mark.parametrize("name", RIGHTS)
def test_right_to_every_workspace_needs_a_second_factor(
    acme: Tenant, desk: Client, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = page_of(acme.admin, f"make_{name}")
    assert url not in body(desk.get(page_of(acme.admin)))  # so that it is not offered
    late = staff.not_recent(staff.signed_in(staff.operator()))
    assert "has no second factor" in body(late.get(url, follow=True))  # before a password is asked
    assert "has no second factor" in body(right(desk, acme.admin, f"make-{name}"))
    monkeypatch.setattr(MakeOperator, "check", lambda page: None)  # before it lost the factor
    assert "has no second factor" in body(right(desk, acme.admin, f"make-{name}"))
    assert told() == []


@pytest.mark.parametrize(("name", "has"), RIGHTS.items())
def test_right_is_given_by_no_tick_but_with_a_reason_and_the_name_typed_and_ended(
    acme: Tenant, desk: Client, name: str, has: Any
) -> None:
    TOTPDevice.objects.create(user=acme.admin, name="app")
    html = body(desk.get(page_of(acme.admin)))
    assert "checkbox" not in html
    assert page_of(acme.admin, f"make_{name}") in html
    form = {"email": acme.admin.email, "is_operator": "on", "is_superuser": "on"}
    desk.post(page_of(acme.admin), {**form, "is_support": "on", "is_staff": "on"})
    for wrong in ({"typed": "ada"}, {"reason": ""}):
        right(desk, acme.admin, f"make-{name}", **wrong)
        assert not has(User.objects.get(pk=acme.admin.pk))
    right(desk, acme.admin, f"make-{name}")
    assert has(User.objects.get(pk=acme.admin.pk))
    right(desk, acme.admin, f"end-{name}")
    assert not has(User.objects.get(pk=acme.admin.pk))
    about = (OLGA, acme.admin.username, "She joins the team")
    assert told() == [(f"account.{name}_made", *about), (f"account.{name}_ended", *about)]
    assert Membership.objects.admins().filter(user=acme.admin).exists()


def test_account_is_deactivated_after_a_question(acme: Tenant, desk: Client, ada: Client) -> None:
    staff.member(acme.workspace, "bob@acme.example", "ADMIN")
    desk.get(page_of(acme.admin, "deactivate"))
    assert ada.get(START).status_code == 200
    desk.post(page_of(acme.admin, "deactivate"), {"deactivate": "yes"})
    assert ada.get(page_of(acme.admin)).status_code == 302
    assert acme.get("/me").status == 200
    desk.post(page_of(acme.admin, "activate"), {"activate": "yes"})
    acme.admin.refresh_from_db()
    assert acme.admin.is_active
    assert [detail for *_, detail in told()] == ["deactivated", "activated"]


def test_operator_cannot_deactivate_or_demote_themselves(desk: Client) -> None:
    olga = staff.operator()
    html = body(desk.post(page_of(olga, "deactivate"), {"deactivate": "yes"}, follow=True))
    assert "ask another operator" in html
    assert "the only operator" in body(right(desk, olga, "end-operator"))
    olga.refresh_from_db()
    assert is_operator(olga)


def test_two_operators_who_deactivate_each_other_leave_one(transactional_db: None) -> None:
    staff.operator()
    factories.user("otto@operators.example", is_staff=True)
    User.objects.update(is_superuser=True)
    refused = refused_at_once(changes.deactivate, User.objects.all())
    assert [User.objects.get(is_active=True)] == refused
