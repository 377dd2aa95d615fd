"""The page of one key: what it says, to whom, and rolling the key."""

from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from apikeys.models import ApiKey
from audit.models import Action, AuditEntry
from tests.support import factories, staff, usage
from tests.support.cast import form_of, page_of, raw_of
from tests.support.client import get
from tests.support.database import refused_at_once
from tests.support.factories import Tenant, at
from tests.support.staff import body
from workspaces.models import Membership

LIST = reverse("admin:apikeys_apikey_changelist")


def used(tenant: Tenant) -> None:
    """Usage of the tenant's key: three days, two addresses, one refused request."""
    for back, counts in enumerate([{"ok": 1200, "downloads": 30}, {"errors": 3}, {"limited": 6}]):
        where = {"address": f"203.0.113.{back % 2}", "user_agent": "acme-sync/1.0"}
        usage.used(tenant.key.pk, tenant.workspace.pk, back, **where, **counts)
    ApiKey.objects.filter(pk=tenant.key.pk).update(
        created_at=timezone.now() - timedelta(days=9),
        last_used_at=timezone.now(),
    )
    usage.refused(
        created_at=at("2026-03-01 09:30:00"),
        request_ids=[UUID("a" * 32)],
        requests=420,
        last_at=at("2026-03-01 09:30:09"),
        response_text="There is no such document.",
        reason="The true reason.",
        key_id=tenant.key.pk,
        workspace_id=tenant.workspace.pk,
    )


def text(response: Any) -> str:
    assert response.status_code == 200
    return body(response).split("<main")[1]


def test_key_page_says_all_that_is_known_of_the_key_and_what_can_be_done_with_it(
    acme: Tenant, ada: Client
) -> None:
    assert ada.post(page_of(acme.key), {"name": "Other"}).status_code == 405
    html = text(ada.get(page_of(acme.key)))
    for name in ("roll", "revoke", "delete"):
        assert page_of(acme.key, name) in html
    assert text(ada.get(page_of(acme.key, "roll"))).count("so that programs can change over") == 1
    ApiKey.objects.filter(pk=acme.key.pk).update(expires_at=Now())
    html = text(ada.get(page_of(acme.key)))
    assert page_of(acme.key, "delete") in html
    assert page_of(acme.key, "roll") not in html
    assert "Expired" in html
    acme.key.revoke(by=acme.admin)
    used(acme)
    html = text(ada.get(page_of(acme.key)))
    for expected in (
        *("Acme sync", f"{acme.key.prefix}", "Revoked", "Acme", f"by {acme.admin.username}"),
        *("203.0.113.0", "203.0.113.1", "acme-sync/1.0"),
        *("1,209", "30", "09:30:00", "420 × 404", "There is no such document."),
    ):
        assert expected in html, expected
    assert "The true reason." not in html
    assert acme.raw not in html
    assert acme.key.digest not in html


def test_support_staff_who_are_admins_too_have_only_the_keys_of_their_workspace(
    acme: Tenant, umbrella: Tenant
) -> None:
    sam = staff.support()
    Membership.objects.create(workspace=umbrella.workspace, user=sam, role="ADMIN")
    client = staff.signed_in(sam)
    for query in ({}, {"workspace_id__exact": str(acme.workspace.pk)}, {"q": acme.key.prefix}):
        assert acme.key.name not in text(client.get(LIST, query))
    assert umbrella.key.name in text(client.get(LIST))
    assert client.get(page_of(acme.key)).status_code == 404
    for key in (acme.key, umbrella.key):
        client.post(page_of(key, "revoke"))
    assert acme.get("/me").status == 200
    assert umbrella.get("/me").status == 401


# --- Rolling


def roll(client: Client, key: ApiKey, ends: str = "24", **fields: str) -> Any:
    form = form_of(body(client.get(page_of(key, "roll"))))
    data = {**form, "old_key_ends": ends, "expires": "never", **fields}
    return client.post(page_of(key, "roll"), data)


def left(key: ApiKey) -> timedelta:
    key.refresh_from_db()
    assert key.expires_at is not None
    return key.expires_at - timezone.now()


@pytest.mark.parametrize(("hours", "expires_in"), [(0, None), (1, None), (24, 300), (168, None)])
def test_key_roll_creates_a_key_and_the_old_one_ends_later(
    acme: Tenant, ada: Client, hours: int, expires_in: int | None
) -> None:
    if expires_in:  # days
        ApiKey.objects.filter(pk=acme.key.pk).update(expires_at=Now() + timedelta(expires_in))
    response = roll(ada, acme.key, str(hours))
    new = ApiKey.objects.exclude(pk=acme.key.pk).get()
    assert (new.workspace, new.name, new.expires_at) == (acme.workspace, "Acme sync", None)
    assert timedelta(hours=hours - 1) < left(acme.key) <= timedelta(hours=hours)
    ends = f"{acme.key.expires_at:%Y-%m-%d %H:%M:%S} UTC"
    assert (f"works until {ends}" if hours else "has ended") in strip_tags(body(response))
    assert acme.get("/me").status == (200 if hours else 401)
    assert get("/api/v1/me", f"Bearer {raw_of(response)}").status == 200
    entry = AuditEntry.objects.get(action=Action.KEY_ROLLED)
    assert (entry.key_id, entry.person) == (acme.key.pk, acme.admin.username)
    assert entry.detail == f"ends {ends[:16]} UTC; replaced by {new.prefix}… Acme sync"
    assert AuditEntry.objects.filter(action=Action.KEY_CREATED, key_id=new.pk).count() == 1
    assert (">Rolled</span>" in body(ada.get(page_of(acme.key)))) is (hours == 0)
    if hours:
        again = strip_tags(body(ada.get(page_of(acme.key, "roll"))))
        assert f"rolled already, and replaced by {new.prefix}… Acme sync" in again


def test_key_roll_never_makes_a_key_expire_later(acme: Tenant, ada: Client) -> None:
    ApiKey.objects.filter(pk=acme.key.pk).update(expires_at=Now() + timedelta(minutes=30))
    for ends in ("24", "never"):
        roll(ada, acme.key, ends)
        assert left(acme.key) <= timedelta(minutes=30)
    other, _ = factories.issue(acme.workspace, "Other", acme.admin)
    assert "works until you revoke it" in body(roll(ada, other, "never"))
    other.refresh_from_db()
    assert other.expires_at is None
    for ends in ("", "2", "-1", "x"):
        assert "Nothing was saved." in body(roll(ada, acme.key, ends))


def test_key_that_ended_cannot_be_rolled(acme: Tenant, ada: Client) -> None:
    form = form_of(body(ada.get(page_of(acme.key, "roll"))))
    acme.key.revoke(by=acme.admin)
    data = {**form, "old_key_ends": "0", "expires": "never"}
    for response in (
        ada.get(page_of(acme.key, "roll"), follow=True),
        ada.post(page_of(acme.key, "roll"), data, follow=True),
    ):
        assert "has ended already" in body(response)
    assert ApiKey.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_rolls_of_a_key_at_once_make_one_key(acme: Tenant) -> None:
    roll = partial(ApiKey.roll, by=acme.admin, ends_in=timedelta())
    assert len(refused_at_once(roll, [acme.key, ApiKey.objects.get()])) == 1
    assert ApiKey.objects.count() == 2
