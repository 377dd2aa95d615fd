"""E-mails about a workspace: to its admins who want them, and to nobody else."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apikeys.models import ApiKey
from apikeys.usage.mails import notify_of_keys
from events.webhooks import monitoring, services
from events.webhooks.models import Endpoint
from tests.support import staff, webhooks
from tests.support.factories import Tenant
from tests.support.mails import arrived
from tests.support.staff import body
from tests.support.usage import refused
from workspaces import changes, mails
from workspaces.models import Mail

BASE = "https://api.acme.example"
SECURITY = reverse("admin:security")
ADA, BOB, OLGA = "admin@acme.example", "bob@acme.example", "olga@operators.example"


@pytest.fixture(autouse=True)
def bob(acme: Tenant, umbrella: Tenant, settings: Any) -> User:
    """Ada and Bob are Acme's admins; others must get nothing of it; there is a mail server."""
    settings.EMAIL_HOST, settings.BASE_URL = "mail.example", BASE
    staff.member(acme.workspace, "member@acme.example")
    gone = staff.member(acme.workspace, "gone@acme.example", "ADMIN")
    User.objects.filter(pk=gone.pk).update(is_active=False)
    staff.support()
    staff.operator()
    bob: User = staff.member(acme.workspace, BOB, "ADMIN")
    arrived()
    return bob


def to_both(subject: str) -> list[tuple[str, str]]:
    return [(ADA, subject), (BOB, subject)]


def test_admins_are_told_of_suspension_and_plan(acme: Tenant) -> None:
    changes.set_suspended(acme.workspace, True, by=OLGA, reason="Unpaid")
    assert arrived() == to_both("Workspace suspended: Acme")
    assert "Unpaid" in mail.outbox[0].body
    assert f"By: {OLGA}" in mail.outbox[0].body
    path = reverse("admin:workspaces_workspace_change", args=[acme.workspace.pk])
    assert f"{BASE}{path}" in mail.outbox[0].body
    changes.set_suspended(acme.workspace, False, by=OLGA, reason="Paid")
    assert arrived() == to_both("Workspace reinstated: Acme")
    changes.change_plan(acme.workspace, "FREE", by=OLGA, reason="Asked for it")
    assert arrived() == to_both("Plan changed: Acme")
    assert arrived() == []


def test_admins_are_told_of_a_webhook_that_is_switched_off_but_not_who_did_it(
    acme: Tenant, bob: User
) -> None:
    services.switch_off(webhooks.endpoint(acme), by=bob)
    assert arrived() == [(ADA, "Webhook switched off: Acme")]
    services.switch_off(webhooks.endpoint(acme), reason="it responded with 410 Gone")
    assert arrived() == to_both("Webhook switched off: Acme")
    assert "410 Gone" in mail.outbox[0].body
    assert "letmein" not in mail.outbox[0].body


def webhook_fails(acme: Tenant) -> str:
    webhooks.endpoint(acme)
    fails = Endpoint.objects.filter(workspace=acme.workspace)
    fails.update(failing_since=timezone.now() - timedelta(minutes=50))
    monitoring.notify_of_failing()
    fails.update(failing_since=timezone.now() - timedelta(minutes=70))
    return "A webhook fails: Acme"


def key_expires(acme: Tenant) -> str:
    keys = ApiKey.objects.filter(pk=acme.key.pk)
    keys.update(expires_at=timezone.now() + timedelta(days=15))
    notify_of_keys()
    keys.update(expires_at=timezone.now() + timedelta(days=13))
    return f"A key expires soon: {acme.key.name}"


def ended_key_is_used(acme: Tenant) -> str:
    facts: dict[str, Any] = {"status": 401, "cause": "invalid_key", "address": "192.0.2.7"}
    refused(3, key_id=acme.key.pk, workspace_id=acme.workspace.pk, **facts)
    notify_of_keys()  # it works
    acme.key.revoke(by=acme.admin)
    return f"A key that has ended is used: {acme.key.name}"


@pytest.mark.parametrize("happen", [webhook_fails, key_expires, ended_key_is_used])
def test_what_housekeeping_finds_is_told_once_within_30_days(acme: Tenant, happen: Any) -> None:
    subject = happen(acme)
    assert arrived() == []
    for _ in range(2):
        monitoring.notify_of_failing()
        notify_of_keys()
        mails.purge()
    assert arrived() == to_both(subject)
    assert f"{BASE}/admin/" in mail.outbox[0].body
    assert not any(secret in mail.outbox[0].body for secret in (acme.raw, "letmein"))
    notify_of_keys()
    monitoring.notify_of_failing()
    assert arrived() == []
    Mail.objects.update(created_at=timezone.now() - timedelta(days=31))
    mails.purge()
    notify_of_keys()
    monitoring.notify_of_failing()
    assert arrived() == to_both(subject)


def test_checkbox_ends_emails_about_workspaces(acme: Tenant) -> None:
    ada = staff.signed_in(acme.admin)
    assert 'name="no_mails">' in body(ada.get(SECURITY))
    for sent, expected in (({"no_mails": "on"}, [BOB]), ({}, [ADA, BOB])):
        ada.post(SECURITY, {"do": "mails", **sent})
        assert (" checked> No e-mails" in body(ada.get(SECURITY))) == bool(sent)
        services.switch_off(webhooks.endpoint(acme), reason="410")
        assert [to for to, _ in arrived()] == expected


def test_without_a_mail_server_nothing_waits(acme: Tenant, settings: Any) -> None:
    settings.EMAIL_HOST = ""
    mails.send("Hello", "registration/new_browser_email.txt", {}, ADA)
    changes.set_suspended(acme.workspace, True, by=OLGA, reason="Unpaid")
    assert not Mail.objects.exists()
    assert 'name="no_mails"' not in body(staff.signed_in(acme.admin).get(SECURITY))


@pytest.mark.django_db(transaction=True)
def test_housekeeping_sends_too_so_that_no_webhook_is_needed(acme: Tenant) -> None:
    mail.outbox.clear()
    mails.send("Hello", "registration/new_browser_email.txt", {}, ADA)
    call_command("housekeeping")
    assert [each.to for each in mail.outbox] == [[ADA]]


def test_oldest_email_that_waits_is_a_metric(db: None) -> None:
    mails.send("Hello", "registration/new_browser_email.txt", {}, ADA)
    Mail.objects.update(created_at=timezone.now() - timedelta(minutes=20))
    found = {each.name: each.samples[0].value for each in monitoring.read_metrics(connection)}
    assert 1200 <= found["documents_mails_overdue_seconds"] < 1260


def test_mailbox_of_make_run_shows_what_would_be_sent(acme: Tenant, settings: Any) -> None:
    settings.HTTPS_ONLY = False
    box = reverse("admin:mailbox")
    assert Client().get(box).status_code == 404
    settings.MAILBOX = True
    assert "None yet" in body(Client().get(box))
    changes.set_suspended(acme.workspace, True, by=OLGA, reason="Unpaid — “again”")
    assert arrived() == []
    html = body(Client().get(box))
    assert "Workspace suspended: Acme" in html
    assert "Unpaid — “again”" in html
    assert f'href="{BASE}/admin/workspaces/' in html
    settings.HTTPS_ONLY = True
    assert Client().get(box).status_code == 404
