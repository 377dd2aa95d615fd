"""Rolling and expiring keys in the admin."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from apikeys.models import ApiKey
from audit.models import Action, AuditEntry
from tests.apikeys.test_admin_key_page import used
from tests.apikeys.test_admin_keys import LIST, form_of, page, raw_of
from tests.support import factories
from tests.support.client import get
from tests.support.factories import Tenant
from tests.support.staff import asked, body


def roll(client: Client, key: ApiKey, ends: str = "24", **fields: str) -> Any:
    """Opens the form and sends it."""
    form = form_of(body(client.get(page(key, "roll"))))
    data = {**form, "old_key_ends": ends, **fields}
    return client.post(page(key, "roll"), data)


def left(key: ApiKey) -> timedelta:
    """How long the key still works."""
    key.refresh_from_db()
    assert key.expires_at is not None
    return key.expires_at - timezone.now()


@pytest.mark.parametrize("hours", [0, 1, 24, 168])
def test_key_roll_creates_a_key_and_the_old_one_ends_later(
    acme: Tenant, ada: Client, hours: int
) -> None:
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
    assert entry.detail == f"ends {ends[:16]} UTC; replaced by Acme sync ({new.prefix}…)"
    assert AuditEntry.objects.filter(action=Action.KEY_CREATED, key_id=new.pk).count() == 1


def test_key_pages_need_the_same_queries_however_many_keys_and_uses(
    acme: Tenant, ada: Client
) -> None:
    urls = (LIST, reverse("admin:index"), page(acme.key))
    roll(ada, acme.key)
    counts = [len(asked(ada, url)) for url in urls]
    for number in range(20):
        key, _ = factories.issue(acme.workspace, f"Number {number}", acme.admin)
        if number < 3:
            roll(ada, key)
    used(acme)
    assert [len(asked(ada, url)) for url in urls] == counts


def test_key_roll_never_makes_a_key_expire_later(acme: Tenant, ada: Client) -> None:
    ApiKey.objects.filter(pk=acme.key.pk).update(expires_at=Now() + timedelta(minutes=30))
    for ends in ("24", "never"):
        roll(ada, acme.key, ends)
        assert left(acme.key) <= timedelta(minutes=30)
    for ends in ("", "2", "-1", "x"):
        assert "Nothing was saved." in body(roll(ada, acme.key, ends))


def test_key_roll_can_let_the_old_key_go_on(acme: Tenant, ada: Client) -> None:
    assert "works until you revoke it" in body(roll(ada, acme.key, "never"))
    acme.key.refresh_from_db()
    assert acme.key.expires_at is None
    assert "does not end by itself;" in AuditEntry.objects.get(action=Action.KEY_ROLLED).detail


def test_key_roll_sent_again_creates_nothing_and_says_so(acme: Tenant, ada: Client) -> None:
    form = form_of(body(ada.get(page(acme.key, "roll"))))
    data = {**form, "old_key_ends": "168"}
    raw = raw_of(ada.post(page(acme.key, "roll"), data))
    again = ada.post(page(acme.key, "roll"), {**data, "old_key_ends": "0"}, follow=True)
    assert "Nothing was created" in body(again)
    assert raw not in body(again)
    assert ApiKey.objects.count() == 2
    assert left(acme.key) > timedelta(days=6)
    assert AuditEntry.objects.filter(action=Action.KEY_ROLLED).count() == 1


def test_key_that_ended_cannot_be_rolled(acme: Tenant, ada: Client) -> None:
    form = form_of(body(ada.get(page(acme.key, "roll"))))
    acme.key.revoke(by=acme.admin)
    data = {**form, "old_key_ends": "0"}
    for response in (
        ada.get(page(acme.key, "roll"), follow=True),
        ada.post(page(acme.key, "roll"), data, follow=True),
    ):
        assert "has ended already" in body(response)
    assert ApiKey.objects.count() == 1


def test_key_that_was_rolled_names_its_successor(acme: Tenant, ada: Client) -> None:
    assert "was rolled already" not in body(ada.get(page(acme.key, "roll")))
    roll(ada, acme.key)
    new = ApiKey.objects.exclude(pk=acme.key.pk).get()
    successor = f'“<a href="{page(new)}">Acme sync</a>” (<code>{new.prefix}…</code>)'
    assert f'<div class="quiet">Replaced by {successor}</div>' in body(ada.get(LIST))
    assert f"<dd>{successor}</dd>" in body(ada.get(page(acme.key)))
    again = body(ada.get(page(acme.key, "roll")))
    assert f"was rolled already, and replaced by {successor}" in again
    new.delete_by(by=acme.admin)
    for url in (LIST, page(acme.key), page(acme.key, "roll")):
        assert "eplaced by “" not in body(ada.get(url))
